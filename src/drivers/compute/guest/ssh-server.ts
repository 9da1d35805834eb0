/**
 * The SSH server of a guest's `user`: a dropbear of their own, beside the node's, which it has nothing in common with but the program.
 * It listens at the guest's loopback address only, takes keys only, and its host key is in memory, so that no copy of a disk has it.
 */
import type { Duplex } from 'node:stream'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { BerthError } from '#src/platform/errors.ts'
import { tunnelLimits } from '#src/platform/limits/tunnels.ts'
import { log } from '#src/platform/log.ts'
import { execInGuest } from './exec.ts'

/** Where it listens in the guest: 22 is the node's. */
const guestPort = 22_022
const tooManyKeys = 3

/** What each connection runs instead of what it asked for: the same, with the PATH of commands, which dropbear does not pass on. */
const session = [
  'export PATH="$BERTH_SSH_PATH"',
  'unset BERTH_SSH_PATH',
  '[ -n "$SSH_ORIGINAL_COMMAND" ] || exec /bin/bash -l',
  'exec /bin/bash -c "$SSH_ORIGINAL_COMMAND"',
].join('; ')

/**
 * Lets a key in, and starts the server unless one with these variables of the VM runs. Connections outlive the server that took
 * them. $1: the port, $2: the generation of the variables, $3: the key, $4: the most keys, $5: what connections run.
 */
const script = `set -eu
umask 077
cd "$HOME"
mkdir -p .ssh
touch .ssh/authorized_keys
if ! grep -qxF -- "$3 berth" .ssh/authorized_keys; then
  [ "$(wc -l < .ssh/authorized_keys)" -lt "$4" ] || exit ${tooManyKeys}
  [ -z "$(tail -c 1 .ssh/authorized_keys)" ] || echo >> .ssh/authorized_keys
  printf '%s berth\\n' "$3" >> .ssh/authorized_keys
fi
own=/dev/shm/berth-ssh
mkdir -p "$own"
[ -O "$own" ] && [ ! -L "$own" ]
exec 9> "$own/lock"
flock 9
[ -s "$own/key" ] || dropbearkey -t ed25519 -f "$own/key" > /dev/null 2>&1
pid=$(cat "$own/pid" 2> /dev/null || echo none)
runs=no
if [ "$(readlink "/proc/$pid/exe" 2> /dev/null || true)" = /usr/sbin/dropbear ]; then runs=yes; fi
if [ "$runs" = yes ] && [ "$(cat "$own/generation" 2> /dev/null || true)" != "$2" ]; then
  kill "$pid"
  while [ -e "/proc/$pid" ]; do sleep 0.05; done
  runs=no
fi
if [ "$runs" = no ]; then
  BERTH_SSH_PATH=$PATH /usr/sbin/dropbear -e -s -r "$own/key" -p "127.0.0.1:$1" -P "$own/pid" -c "$5" 9>&- > /dev/null 2>&1
  printf '%s' "$2" > "$own/generation"
fi
dropbearkey -y -f "$own/key" | grep '^ssh-ed25519 '
`

/** What is asked for. `publicKey` is its type and its key, without a comment. */
export type SshOrder = { envGeneration: number; publicKey: string }

/**
 * Starts the server unless it runs, and lets this key in. @returns its host key, as a line of known_hosts has it.
 * @throws BerthError invalid_request when the guest has no dropbear, or too many keys; vm_unreachable; timeout.
 */
export async function openSsh(machine: Machine, { envGeneration, publicKey }: SshOrder): Promise<string> {
  const { authorizedKeysMax, sshOpenSeconds } = tunnelLimits
  const words = [guestPort, envGeneration, publicKey, authorizedKeysMax, session].map(String)
  const { exitCode, stdout, stderr } = await execInGuest(machine, {
    argv: ['/bin/sh', '-c', script, 'ssh', ...words],
    timeoutMs: sshOpenSeconds * 1000,
  })
  const [hostKey] = /^ssh-ed25519 [A-Za-z0-9+/=]+/.exec(stdout) ?? []
  if (exitCode === 0 && hostKey !== undefined) return hostKey
  if (exitCode === tooManyKeys)
    throw new BerthError(
      'invalid_request',
      `~/.ssh/authorized_keys in this VM has ${authorizedKeysMax} lines, which is the limit. Remove some.`,
    )
  log.warn({ exitCode, stderr: stderr.slice(-1000) }, 'the SSH server of a guest could not be started')
  throw new BerthError(
    'vm_unreachable',
    'The SSH server of this VM could not be started; its memory or its disk may be full, or port 22022 be taken.',
  )
}

/** A connection to it. @throws BerthError upstream_error when it does not run; vm_unreachable. */
export async function connectSshServer(machine: Machine): Promise<Duplex> {
  try {
    return await machine.connectPort(guestPort)
  } catch (error) {
    if (!(error instanceof BerthError) || error.code !== 'upstream_error') throw error
    throw new BerthError('upstream_error', 'The SSH server of this VM does not run. Start it: openVmSsh.')
  }
}
