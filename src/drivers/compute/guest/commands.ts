/**
 * A caller's command as the guest runs it: with its own variables and as its user, by programs of the guest, so that
 * machines of earlier templates can do it too.
 */
import type { ExecRequest } from '#src/drivers/node.ts'
import type { GuestCommand } from './exec.ts'

/**
 * What root's shell begins with. Variables came under names of ours: sudo and the loader keep some names from root (PATH,
 * TMPDIR, LD_…), and sudo's command line, which everybody in the machine sees, stays as long as the command. Without any,
 * `env` would take a program such as `--version` for an option of its own.
 */
const asRoot = `berth_set=()
for berth_name in "\${!BERTH_SET_@}"; do berth_set+=("\${!berth_name}"); unset "$berth_name"; done
cd -- "$1" || exit 126
shift
(( \${#berth_set[@]} == 0 )) || exec /usr/bin/env "\${berth_set[@]}" "$@"
exec -- "$@"`

/**
 * The command for the guest. Root comes by `sudo` from `user`, so its commands stay in the same cgroup, with the same limits
 * of memory and processes.
 */
export function guestCommandOf({
  command,
  args,
  env,
  user,
  workingDir,
  timeoutMs,
  stdin,
}: Omit<ExecRequest, 'vmId' | 'envGeneration'>): GuestCommand {
  const argv = named(args ? [command, ...args] : ['/bin/bash', '-lc', command])
  const variables = Object.entries(env ?? {}).map(([key, value]) => `${key}=${value}`)
  const rest = { timeoutMs, stdin }
  if (user === 'root') {
    const carried = variables.map((one, at) => `BERTH_SET_${at}=${one}`)
    const shell = ['/usr/bin/sudo', '-n', '-E', '-H', '--', '/bin/bash', '-c', asRoot, 'bash']
    return {
      argv: ['/usr/bin/env', ...carried, ...shell, workingDir || '/home/user', ...argv],
      workingDir: '/',
      ...rest,
    }
  }
  return { argv: variables.length > 0 ? ['/usr/bin/env', ...variables, ...argv] : argv, workingDir, ...rest }
}

/** `env` takes a program with an equals sign in its name for a variable. */
function named(argv: readonly string[]): readonly string[] {
  return argv[0]?.includes('=') ? ['/bin/dash', '-c', 'exec "$0" "$@"', ...argv] : argv
}
