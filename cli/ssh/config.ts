/** What an SSH client is told of a VM: the way there, who to log in as, and which host key it has. */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stateFolderOf, type Env } from '../contexts.ts'
import { Failure } from '../errors.ts'
import { makeFolderOf } from '../json-files.ts'
import { keyFileOf } from './keys.ts'

const user = 'user'
const hostKeyForm = /^ssh-ed25519 [A-Za-z0-9+/=]+$/

/** The id of a VM, which becomes a file's name and a host's. @throws Failure for what a Berth does not answer. */
function checkedId(vmId: string): string {
  if (/^vm_[0-9a-z]+$/.test(vmId)) return vmId
  throw new Failure('The server answered an id that no VM has. Is it a Berth?')
}

/** The file with the host key of a VM, of this id: it is written anew whenever somebody connects. */
function knownHostsOf(env: Env, vmId: string): string {
  return join(stateFolderOf(env), 'ssh', 'known_hosts', checkedId(vmId))
}

/** Notes the host key of a VM, which Berth itself has told, for the client that connects. @throws Failure for what is none. */
export function noteHostKey(env: Env, vmId: string, hostKey: string): void {
  if (!hostKeyForm.test(hostKey)) throw new Failure('The server answered what is no host key. Is it a Berth?')
  const file = knownHostsOf(env, vmId)
  makeFolderOf(file)
  const next = `${file}.${process.pid}`
  writeFileSync(next, `${vmId} ${hostKey}\n`, { mode: 0o600 })
  renameSync(next, file)
}

/**
 * Whether `ssh <name>` may mean a VM that was not named by it: others of the organization choose names too, and `github.com` would
 * lead all who have the blocks into their VM.
 */
export function isHostName(name: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9_-]*$/.test(name) && name.toLowerCase() !== 'localhost'
}

/**
 * The block of ~/.ssh/config. Its command is the program that runs now, so that clients without a PATH find it. @param name by which
 * `ssh` knows the VM too; undefined for its id alone.
 */
export function hostBlock(
  env: Env,
  { id, name }: { id: string; name: string | undefined },
  { context, organization }: { context: string | undefined; organization: string | undefined },
): string {
  const words = [process.execPath, process.argv[1] ?? 'berth', 'vm', 'ssh', '--proxy', checkedId(id)]
  if (context !== undefined) words.push('--context', context)
  if (organization !== undefined) words.push('--org', organization)
  return [
    `Host ${name === undefined || name === id ? id : `${name} ${id}`}`,
    `  HostName ${id}`,
    `  User ${user}`,
    `  ProxyCommand ${words.map(quoted).join(' ').replaceAll('%', '%%')}`,
    `  IdentityFile ${pathOf(keyFileOf(env))}`,
    '  IdentitiesOnly yes',
    `  HostKeyAlias ${id}`,
    `  UserKnownHostsFile ${pathOf(knownHostsOf(env, id))}`,
    '  StrictHostKeyChecking yes',
    '  UpdateHostKeys no',
    '',
  ].join('\n')
}

/** A word for the shell that ssh starts the command with. */
function quoted(word: string): string {
  return /^[A-Za-z0-9_./:@=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

function pathOf(path: string): string {
  return `"${path.replaceAll('%', '%%')}"`
}
