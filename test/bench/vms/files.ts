/** One gigabyte into a VM and out of it as a stream: how fast it passes, and how much memory web and worker take meanwhile. */
import { Readable } from 'node:stream'
import { knownAcceleration } from '#src/drivers/compute/qemu/acceleration.ts'
import { startSha256 } from '#src/platform/secrets.ts'
import type { Benchmark, Effort, Findings, Goal } from '../benchmark.ts'
import { residentMemoryMb } from '../processes.ts'
import { median, shown } from '../rounds.ts'
import { startHost, withVms } from '../vm-host.ts'
import { inWorld, type World } from '../world.ts'

const bytesPerMb = 1e6
const pieceBytes = 1e6
const lookMs = 100
/** How much memory a process may take beyond what it had, however large the file is; MB. */
const moreMemoryMb = 150
const path = '/home/user/large.bin'

const sizesOf = ({ quick }: Effort): { megabytes: number; rounds: number } =>
  quick ? { megabytes: 50, rounds: 1 } : { megabytes: 1000, rounds: 1 }

/** What one transfer took; memory is the most that the process had beyond what it had before. */
type Transfer = { megabytesPerSecond: number; webMb: number; workerMb: number }

/** Both directions. */
export const vmFiles: Benchmark = {
  name: 'vm-files',
  title: 'Files of VMs as streams',
  measure: (effort, say) =>
    inWorld({}, (world) =>
      withVms(world, async (webPid): Promise<Findings> => {
        const { megabytes, rounds } = sizesOf(effort)
        const host = await startHost(world, 0)
        const { id } = await host.create()
        const token = await world.token()
        const watched = [webPid, host.workerPid] as const
        const puts: Transfer[] = []
        const gets: Transfer[] = []
        for (let round = 0; round < rounds; round++) {
          const sent = startSha256()
          puts.push(await watch(watched, megabytes, () => put(world, id, token, megabytes, sent)))
          say(`${megabytes} MB in: ${shown(puts.at(-1)?.megabytesPerSecond ?? 0)} MB/s`)
          const got = startSha256()
          gets.push(await watch(watched, megabytes, () => get(world, id, token, got)))
          say(`${megabytes} MB out: ${shown(gets.at(-1)?.megabytesPerSecond ?? 0)} MB/s`)
          if (sent.hex() !== got.hex()) throw new Error('the file came out otherwise than it went in')
        }
        await host.remove(id)
        await host.stop()
        return {
          how: `${megabytes} MB from one client through the web process, the worker and SSH into a file of a VM (${knownAcceleration(world.config.cacheDir) === 'kvm' ? 'KVM' : 'software emulation'}), which is on its disk when the answer comes; and out again, compared by digest. Memory is what the process had most, in looks ${lookMs} ms apart, beyond what it had before.`,
          tables: [
            {
              title: 'How fast, and how much memory',
              columns: ['direction', 'MB/s, median', 'web, most MB more', 'worker, most MB more'],
              rows: [rowOf('into the VM', puts), rowOf('out of the VM', gets)],
            },
          ],
          goals: [
            goalOf(
              'web',
              [...puts, ...gets].map(({ webMb }) => webMb),
            ),
            goalOf(
              'worker',
              [...puts, ...gets].map(({ workerMb }) => workerMb),
            ),
          ],
        }
      }),
    ),
}

async function put(
  world: World,
  vmId: string,
  token: string,
  megabytes: number,
  sent: ReturnType<typeof startSha256>,
): Promise<void> {
  async function* pieces(): AsyncGenerator<Buffer> {
    for (let at = 0; at < megabytes; at++) {
      const piece = Buffer.alloc(pieceBytes, `${at} is the number of this piece. `)
      sent.update(piece)
      yield piece
    }
  }
  const answer = await fetch(urlOf(world, vmId), {
    method: 'PUT',
    headers: {
      authorization: `Bearer ${token}`,
      'content-range': `bytes 0-${megabytes * pieceBytes - 1}/${megabytes * pieceBytes}`,
    },
    body: Readable.toWeb(Readable.from(pieces())),
    duplex: 'half',
  } as RequestInit) // undici knows duplex, the type does not
  if (answer.status !== 200) throw new Error(`the file was not taken: ${answer.status} ${await answer.text()}`)
}

async function get(world: World, vmId: string, token: string, got: ReturnType<typeof startSha256>): Promise<void> {
  const answer = await fetch(urlOf(world, vmId), { headers: { authorization: `Bearer ${token}` } })
  if (answer.status !== 200 || !answer.body) throw new Error(`the file was not given: ${answer.status}`)
  for await (const piece of answer.body) got.update(Buffer.from(piece))
}

function urlOf(world: World, vmId: string): string {
  return `${world.url}/api/v1/vms/${vmId}/files?path=${encodeURIComponent(path)}`
}

async function watch(
  pids: readonly [number, number],
  megabytes: number,
  transfer: () => Promise<void>,
): Promise<Transfer> {
  const memory = (): number[] => pids.map(residentMemoryMb)
  const before = memory()
  const most = [...before]
  const timer = setInterval(() => memory().forEach((now, at) => (most[at] = Math.max(most[at] ?? 0, now))), lookMs)
  const startedAt = performance.now()
  try {
    await transfer()
  } finally {
    clearInterval(timer)
  }
  const seconds = (performance.now() - startedAt) / 1000
  const [webMb = 0, workerMb = 0] = most.map((one, at) => one - (before[at] ?? 0))
  return { megabytesPerSecond: (megabytes * pieceBytes) / bytesPerMb / seconds, webMb, workerMb }
}

function rowOf(direction: string, transfers: readonly Transfer[]): string[] {
  return [
    direction,
    shown(median(transfers.map((one) => one.megabytesPerSecond))),
    shown(Math.max(...transfers.map((one) => one.webMb))),
    shown(Math.max(...transfers.map((one) => one.workerMb))),
  ]
}

function goalOf(who: string, megabytes: readonly number[]): Goal {
  const most = Math.max(...megabytes)
  return {
    what: `memory of the ${who} beyond what it had`,
    wanted: `≤ ${moreMemoryMb} MB`,
    measured: `${shown(most)} MB`,
    met: most <= moreMemoryMb,
  }
}
