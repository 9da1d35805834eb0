/** Names that a guest knows beside those of DNS: lines in its /etc/hosts, which lead to its own loopback address. */
import { execInGuest } from './exec.ts'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { unreachable } from '#src/drivers/compute/ssh.ts'

const timeoutMs = 20_000

/**
 * Replaces the lines of the last time, and leaves the guest's own. A machine from the pool gets its name over the serial
 * line, which writes the whole file: that is waited for, for some seconds at most. Both addresses of loopback are there,
 * because the guest may have given the port to another program at one of them.
 */
const script = `set -e
hosts=$(readlink -f /etc/hosts)
for wait in $(seq 50); do
  grep -qsxF "$1" /run/berth/hostname && break
  sleep 0.1
done
grep -v ' # Berth: databases of the project$' "$hosts" > "$hosts.next" || true
while read -r name; do
  printf '127.0.0.1 %s # Berth: databases of the project\\n::1 %s # Berth: databases of the project\\n' "$name" "$name"
done >> "$hosts.next"
chmod 644 "$hosts.next"
mv "$hosts.next" "$hosts"`

/**
 * Makes these the names that lead to the guest itself. They must be names of hosts.
 * @param hostname that the guest has, or gets at this moment.
 * @throws BerthError vm_unreachable, also when the guest does not do it.
 */
export async function nameLoopback(machine: Machine, hostname: string, names: readonly string[]): Promise<void> {
  const { exitCode } = await execInGuest(machine, {
    argv: ['/bin/dash', '-c', script, 'dash', hostname],
    as: 'root',
    stdin: names.map((name) => `${name}\n`).join(''),
    timeoutMs,
  })
  if (exitCode !== 0) throw unreachable()
}
