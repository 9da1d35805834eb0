/** What a guest uses: its processors, memory, disk and network. A reading is one short command of the guest's own programs. */
import { BerthError } from '#src/platform/errors.ts'
import type { ProcessorTicks, VmUsage } from '#src/drivers/node/looks.ts'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { execInGuest } from './exec.ts'

const timeoutMs = 5_000
/** What a guest may print is read in one go: a longer text is none of its programs’. */
const printedMax = 64 * 1024 // characters
/** Between the two looks at its processors of a reading that follows no other. */
const pauseSeconds = 0.5

const script = `export LC_ALL=C
read -r ticks < /proc/stat
echo "$ticks"
if [ "$1" != 0 ]; then
  sleep "$1"
  read -r ticks < /proc/stat
  echo "$ticks"
fi
cat /proc/loadavg /proc/meminfo /proc/net/dev
exec stat -f -c 'disk %S %b %f' /`

/**
 * Reads what a guest uses.
 * @param since the ticks of the reading before: the processors' share is of the time since then. Null: of half a second.
 * @throws BerthError vm_unreachable when the guest does not answer, or with something else than that; timeout.
 */
export async function readUsage(machine: Machine, since: ProcessorTicks | null): Promise<VmUsage> {
  const { stdout, exitCode } = await execInGuest(machine, {
    argv: ['/bin/dash', '-c', script, 'usage', since ? '0' : String(pauseSeconds)],
    as: 'root', // a fork bomb of its user does not keep it from being seen
    timeoutMs,
  })
  const usage = exitCode === 0 ? usageIn(stdout, since) : undefined
  if (!usage)
    throw new BerthError('vm_unreachable', 'The VM does not say what it uses. Its system may be damaged; restart it.')
  return usage
}

/** What the programs of a guest printed; undefined when something is missing. */
export function usageIn(text: string, since: ProcessorTicks | null): VmUsage | undefined {
  if (text.length > printedMax) return undefined
  const lines = text.split('\n')
  const samples = lines.filter((line) => line.startsWith('cpu ')).map(ticksIn)
  const ticks = samples.at(-1)
  const load = Number(/^([\d.]{1,12}) [\d.]+ [\d.]+ \d+\/\d+ /m.exec(text)?.[1])
  const total = numberIn(/^MemTotal: +(\d{1,15}) kB$/m.exec(text))
  const available = numberIn(/^MemAvailable: +(\d{1,15}) kB$/m.exec(text))
  const disk = /^disk (\d+) (\d+) (\d+)$/m.exec(text)?.slice(1).map(Number)
  if (!ticks || total === undefined || available === undefined || !disk || !Number.isFinite(load)) return undefined
  const [blockBytes = 0, blocks = 0, freeBlocks = 0] = disk
  const first = since && since.all <= ticks.all ? since : samples.length > 1 ? samples[0] : undefined
  const network = lines.map(networkBytes)
  return {
    processorPercent: percentBetween(first ?? { busy: 0, all: 0 }, ticks),
    load,
    memoryUsedBytes: whole((total - available) * 1024),
    memoryTotalBytes: whole(total * 1024),
    diskUsedBytes: whole((blocks - freeBlocks) * blockBytes),
    diskTotalBytes: whole(blocks * blockBytes),
    receivedBytes: whole(network.reduce((sum, { received }) => sum + received, 0)),
    sentBytes: whole(network.reduce((sum, { sent }) => sum + sent, 0)),
    ticks,
  }
}

/** The line of all processors in /proc/stat: user, nice, system, idle, waiting, two of interrupts, and what the host took. */
function ticksIn(line: string): ProcessorTicks {
  const [user = 0, nice = 0, system = 0, idle = 0, waiting = 0, hard = 0, soft = 0, stolen = 0] = line
    .trim()
    .split(/\s+/)
    .slice(1)
    .map((word) => whole(Number(word)))
  const busy = user + nice + system + hard + soft
  return { busy, all: busy + idle + waiting + stolen }
}

function percentBetween(first: ProcessorTicks, last: ProcessorTicks): number {
  const all = last.all - first.all
  if (all <= 0) return 0
  return Math.round(Math.min(100, Math.max(0, (100 * (last.busy - first.busy)) / all)) * 10) / 10
}

function numberIn(found: RegExpExecArray | null): number | undefined {
  return found ? Number(found[1]) : undefined
}

/** A line of /proc/net/dev: an interface, eight numbers of what it received, eight of what it sent. That to itself does not count. */
function networkBytes(line: string): { received: number; sent: number } {
  const [, name, numbers = ''] = /^\s*([\w.-]{1,15}):((?:\s+\d{1,20}){16})\s*$/.exec(line) ?? []
  if (name === undefined || name === 'lo') return { received: 0, sent: 0 }
  const values = numbers.trim().split(/\s+/).map(Number)
  return { received: whole(values[0]), sent: whole(values[8]) }
}

/** A number that a guest says, as one that can be counted with. */
function whole(given: number | undefined): number {
  return given !== undefined && Number.isSafeInteger(Math.round(given)) && given > 0 ? Math.round(given) : 0
}
