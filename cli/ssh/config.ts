/** What an SSH client is told of a VM: the way there, who to log in as, and which host key it has. */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stateFolderOf, type Env } from '../contexts.ts'
import { makeFolderOf } from '../json-files.ts'
import { keyFileOf } from './keys.ts'

const user = 'user'

/** The file with the host key of a VM, of this id: it is written anew whenever somebody connects. */
function knownHostsOf(env: Env, vmId: string): string {
  return join(stateFolderOf(env), 'ssh', 'known_hosts', vmId)
}

/** Notes the host key of a VM, which Berth itself has told, for the client that connects. */
export function noteHostKey(env: Env, vmId: string, hostKey: string): void {
  const file = knownHostsOf(env, vmId)
  makeFolderOf(file)
  const next = `${file}.${process.pid}`
  writeFileSync(next, `${vmId} ${hostKey}\n`, { mode: 0o600 })
  renameSync(next, file)
}

/** The block of ~/.ssh/config. Its command is the program that runs now, so that clients without a PATH find it. */
export function hostBlock(
  env: Env,
  { id, name }: { id: string; name: string },
  { context, organization }: { context: string | undefined; organization: string | undefined },
): string {
  const words = [process.execPath, process.argv[1] ?? 'berth', 'vm', 'ssh', '--proxy', id]
  if (context !== undefined) words.push('--context', context)
  if (organization !== undefined) words.push('--org', organization)
  const names = /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name) && name !== id ? `${name} ${id}` : id
  return [
    `Host ${names}`,
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
