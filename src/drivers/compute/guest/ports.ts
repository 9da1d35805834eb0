/** The TCP ports at which programs of a guest listen, read by one short command of the guest's own programs. */
import { BerthError } from '#src/platform/errors.ts'
import type { ListeningPort } from '#src/drivers/node/looks.ts'
import { vmLookLimits } from '#src/platform/limits/vm-looks.ts'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { proxyPort } from '#src/drivers/compute/ssh.ts'
import { execInGuest } from './exec.ts'

const timeoutMs = 10_000
/** A server may have many processes that listen at one port: of so many in all the first is looked for. */
const ownersMax = 4_096
const nameLength = 64
/** What is read of what a guest prints, which is in one go. */
const printedMax = 512 * 1024 // characters
const linesMax = vmLookLimits.portsMax + ownersMax
const sshPort = 22
const loopback: readonly string[] = ['127.0.0.1', '::1']

/** Prints the kernel's lines of sockets that listen, then which processes have them open. */
const script = `export LC_ALL=C
most=$1 owners=$2
found=$(grep -hE '^ *[0-9]+: [0-9A-F]+:[0-9A-F]{4} 0+:0000 0A ' /proc/net/tcp /proc/net/tcp6 2> /dev/null | head -n "$most")
[ -n "$found" ] || exit 0
printf '%s\\n' "$found"
set --
while read -r _ _ _ _ _ _ _ _ _ inode _; do set -- "$@" -o -lname "socket:\\[$inode\\]"; done <<END
$found
END
shift
find /proc/[0-9]*/fd -maxdepth 1 -type l '(' "$@" ')' -printf '%l %h\\n' 2> /dev/null | head -n "$owners" |
  while read -r link folder; do
    pid=\${folder#/proc/}
    pid=\${pid%/fd}
    name=
    read -r name < "/proc/$pid/comm"
    echo "owner $link $pid $name"
  done 2> /dev/null`

/**
 * Reads at which ports something listens, without those of Berth: its way in, and the proxy. By port.
 * @throws BerthError vm_unreachable when the guest does not answer; timeout.
 */
export async function readPorts(machine: Machine): Promise<ListeningPort[]> {
  const { stdout, exitCode, timedOut } = await execInGuest(machine, {
    argv: ['/bin/dash', '-c', script, 'ports', String(vmLookLimits.portsMax), String(ownersMax)],
    as: 'root', // whose processes they are is told to nobody else
    timeoutMs,
  })
  if (timedOut || exitCode > 1)
    throw new BerthError('vm_unreachable', 'The VM does not say what listens in it. Try again in a few seconds.')
  return portsIn(stdout)
}

/** What the programs of a guest printed. */
export function portsIn(text: string): ListeningPort[] {
  const lines = text.slice(0, printedMax).split('\n', linesMax)
  const owners = new Map<string, { pid: number; name: string }>()
  for (const line of lines) {
    const [, inode = '', pid = '', name = ''] = /^owner socket:\[(\d{1,20})\] (\d{1,10}) (.*)$/.exec(line) ?? []
    const known = owners.get(inode)
    if (inode !== '' && !(known && known.pid < Number(pid)))
      owners.set(inode, { pid: Number(pid), name: name.slice(0, nameLength) })
  }
  const ports = new Map<string, ListeningPort>() // several sockets may share one port
  for (const line of lines) {
    const [, hex = '', portHex = '', inode = ''] =
      /^ *\d+: ([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4}) 0+:0000 0A(?: +\S+){5} +(\d{1,20}) /.exec(line) ?? []
    const port = Number.parseInt(portHex, 16)
    const address = hex && addressOf(hex)
    if (!address || !port || port === sshPort || (port === proxyPort && loopback.includes(address))) continue
    const key = `${address} ${port}`
    if (ports.size < vmLookLimits.portsMax && !ports.has(key))
      ports.set(key, { port, address, process: owners.get(inode) ?? null })
  }
  return [...ports.values()].sort((one, other) => one.port - other.port || (one.address < other.address ? -1 : 1))
}

/** An address as the kernel prints it: words of four bytes, each with its last byte first. */
function addressOf(hex: string): string {
  const bytes = (hex.match(/.{8}/g) ?? []).flatMap((word) => [...Buffer.from(word, 'hex')].reverse())
  if (bytes.length === 4) return bytes.join('.')
  if (bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff)
    return bytes.slice(12).join('.')
  const groups = Array.from({ length: 8 }, (_, at) => (bytes[2 * at]! * 256 + bytes[2 * at + 1]!).toString(16)) // there are 16 bytes
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1) // in its short form
}
