/** Functions from cold and warm, how soon a new entry is served, and a gigabyte through a port of a VM. */
import { decodeId } from '#src/platform/ids.ts'
import { knownAcceleration } from '#src/drivers/compute/qemu/acceleration.ts'
import { until } from '../../support/until.ts'
import { atMost, type Benchmark, type Effort, type Findings, type Goal, type Table } from '../benchmark.ts'
import { residentMemoryMb } from '../processes.ts'
import { inRounds, median, ratioOf, rowOf, shown, shownRatio } from '../rounds.ts'
import { runWrk } from '../wrk.ts'
import {
  ask,
  firstBytes,
  largeBytes,
  makeFunction,
  openPort,
  ownStartMs,
  startProgram,
  uploadProgram,
  withMachines,
  type Machines,
} from './machines.ts'

const wanted = { coldMs: 1500, warmOfProxy: 1.2, visibleMs: 50, growthMb: 32 }
const port = 9000
const readyMs = 60_000
const sampleMs = 100
const timesOf = ({ quick }: Effort): { cold: number; visible: number } =>
  quick ? { cold: 1, visible: 3 } : { cold: 6, visible: 30 }

/** A host that is served. */
type Entry = { name: string; host: string }

/** Functions, and what leads to ports of VMs. */
export const functions: Benchmark = {
  name: 'functions',
  title: 'Functions, and ports of VMs',
  measure: (effort, say) =>
    withMachines(async (machines): Promise<Findings> => {
      const { host, world } = machines
      const binaryUrl = await uploadProgram(machines)
      await host.calm(0)
      const vm = await host.create()
      await startProgram(machines, vm.id, port)
      const proxy = { name: 'a proxy entry of a VM', ...(await openPort(machines, vm.id, port, 'measured')) }
      await until('the entry is served', async () => (await ask(machines, proxy.host)).status === 200, readyMs)
      const visible = await measureVisible(machines, vm.id, effort)
      say(`a new entry is served after ${shown(median(visible))} ms`)
      const own: number[] = []
      for (let turn = 0; turn < timesOf(effort).cold; turn++) own.push(await ownStartMs(machines, vm.id))
      say(`the program alone takes ${shown(median(own))} ms to start`)
      const { cold, made } = await measureCold(machines, binaryUrl, effort)
      say(`a function’s first answer from cold: ${shown(median(cold))} ms`)
      const warm = await measureWarm(machines, [{ name: 'a function', host: made }, proxy], effort)
      say(`warm, of a proxy entry: ${shownRatio(warm.ratio)}`)
      const memory = await measureGigabyte(machines, proxy.host, effort)
      say(`1 GB: ${shown(memory.megabytesPerSecond)} MB/s`)
      return {
        how: `web, edge and worker as processes, one machine kept warm, ${knownAcceleration(world.config.cacheDir) === 'kvm' ? 'KVM' : 'software emulation'}; functions and the plain VM run the same small server in Python. Cold: a function that never ran, from its first request at the ingress to the end of the answer; before each one the host is calm again, so that its VM comes from the pool. Warm: wrk with one connection, in rotated order, over the same ingress; the ratio is that of the times at p50. An entry is visible when a request for it is answered by its VM for the first time; the requests come one after the other, and the time begins with the transaction that made the entry, before its commit. Memory is the most that was resident while 1 GiB was read through the ingress; before it ${firstBytes / 1024 ** 2} MiB were read.`,
        tables: [timesTable(cold, own, visible), warm.table, memory.table],
        goals: [
          atMost('a function’s first answer from cold, p50', median(cold), wanted.coldMs),
          {
            what: 'a function that is warm, of a proxy entry, p50',
            wanted: `≤ ${shownRatio(wanted.warmOfProxy)}`,
            measured: shownRatio(warm.ratio),
            met: warm.ratio <= wanted.warmOfProxy,
          },
          atMost('from the commit of an entry until it is served, p50', median(visible), wanted.visibleMs),
          memory.goal,
        ],
      }
    }),
}

/** From the first request for a function to its answer. Unit: ms. */
async function measureCold(
  machines: Machines,
  binaryUrl: string,
  effort: Effort,
): Promise<{ cold: number[]; made: string }> {
  const cold: number[] = []
  let made = ''
  for (let turn = 0; turn <= timesOf(effort).cold; turn++) {
    await machines.host.calm(turn + 1) // those before, and the plain VM
    made = (await makeFunction(machines, `cold-${turn}`, binaryUrl)).host
    const ms = await firstAnswerMs(machines, made)
    if (turn > 0) cold.push(ms) // the first one reads everything from the disk
  }
  return { cold, made }
}

/** How long a function takes to its first answer, from when the ingress has heard of it. */
async function firstAnswerMs(machines: Machines, host: string): Promise<number> {
  const untilMs = performance.now() + readyMs
  while (performance.now() < untilMs) {
    const startedAt = performance.now()
    const { status } = await ask(machines, host)
    if (status === 200) return performance.now() - startedAt
    if (status !== 404) throw new Error(`a function that was cold answered ${status}`)
  }
  throw new Error('a new function is not served')
}

/** From the transaction that makes an entry until its VM answers. Unit: ms. */
async function measureVisible(machines: Machines, vmId: string, effort: Effort): Promise<number[]> {
  const visible: number[] = []
  const { domain } = machines.world.config
  for (let turn = 0; turn < timesOf(effort).visible; turn++) {
    const host = `seen-${turn}.${domain}`
    const served = waitFor(machines, host)
    const { id } = await openPort(machines, vmId, port, `seen-${turn}`)
    const servedMs = await served
    const { rows } = await machines.world.database.pool.query<{ ms: string }>(
      'select extract(epoch from created_at) * 1000 as ms from proxies where id = $1',
      [decodeId('proxy', id)],
    )
    visible.push(servedMs - Number(rows[0]?.ms))
  }
  return visible
}

/** Asks until a host is served. @returns when, in ms of Unix time */
async function waitFor(machines: Machines, host: string): Promise<number> {
  const untilMs = performance.now() + readyMs
  while (performance.now() < untilMs) {
    const { status } = await ask(machines, host)
    if (status === 200) return performance.timeOrigin + performance.now()
  }
  throw new Error('a new entry is not served')
}

async function measureWarm(
  { world }: Machines,
  entries: readonly Entry[],
  effort: Effort,
): Promise<{ table: Table; ratio: number }> {
  const load = ({ host }: Entry): ReturnType<typeof runWrk> =>
    runWrk(`http://127.0.0.1:${world.config.httpPort}/`, {
      seconds: effort.quick ? 1 : 2,
      connections: 1,
      headers: { Host: host },
    })
  for (const entry of entries) await load(entry)
  const turns = await inRounds(effort.rounds, entries, load)
  const p50s = (at: number): number[] => (turns[at] ?? []).map(({ p50Ms }) => p50Ms)
  return {
    ratio: ratioOf(p50s(0), p50s(1)),
    table: {
      title: 'Warm, one connection',
      columns: ['what', 'p50 ms', 'p99 ms', 'ratio to the entry', 'failed'],
      rows: entries.map(({ name }, at) => [
        name,
        shown(median(p50s(at))),
        shown(median((turns[at] ?? []).map(({ p99Ms }) => p99Ms))),
        shownRatio(ratioOf(p50s(at), p50s(1))),
        String((turns[at] ?? []).reduce((sum, { failed }) => sum + failed, 0)),
      ]),
    },
  }
}

/** Reads a gigabyte through the ingress, and looks at the memory of the processes on its way. */
async function measureGigabyte(
  machines: Machines,
  host: string,
  { quick }: Effort,
): Promise<{ table: Table; goal: Goal; megabytesPerSecond: number }> {
  const processes = [
    { name: 'edge', pid: machines.edgePid },
    { name: 'worker', pid: machines.host.workerPid },
  ]
  const peaks = async (path: string, sizeBytes: number): Promise<{ peaks: number[]; seconds: number }> => {
    const highest = processes.map(({ pid }) => residentMemoryMb(pid))
    const looking = setInterval(() => {
      processes.forEach(({ pid }, at) => (highest[at] = Math.max(highest[at] ?? 0, residentMemoryMb(pid))))
    }, sampleMs)
    const startedAt = performance.now()
    try {
      const answer = await ask(machines, host, path)
      if (answer.sizeBytes !== sizeBytes) throw new Error(`${path} answered ${answer.sizeBytes} bytes`)
    } finally {
      clearInterval(looking)
    }
    return { peaks: highest, seconds: (performance.now() - startedAt) / 1000 }
  }
  const first = await peaks('/first', firstBytes)
  const all = quick ? await peaks('/first', firstBytes) : await peaks('/large', largeBytes)
  const growth = processes.map((_, at) => (all.peaks[at] ?? NaN) - (first.peaks[at] ?? NaN))
  const most = Math.max(...growth)
  const megabytesPerSecond = (quick ? firstBytes : largeBytes) / 1e6 / all.seconds
  return {
    megabytesPerSecond,
    table: {
      title: `1 GB through a VM’s port, at ${shown(megabytesPerSecond)} MB/s`,
      columns: ['process', 'memory during the first 128 MiB, MB', 'during 1 GiB, MB', 'growth MB'],
      rows: processes.map(({ name }, at) => [
        name,
        shown(first.peaks[at] ?? NaN),
        shown(all.peaks[at] ?? NaN),
        shown(growth[at] ?? NaN),
      ]),
    },
    goal: {
      what: 'growth of memory by 1 GB through a VM’s port',
      wanted: `≤ ${wanted.growthMb} MB`,
      measured: `${shown(most)} MB`,
      met: most <= wanted.growthMb,
    },
  }
}

function timesTable(cold: readonly number[], own: readonly number[], visible: readonly number[]): Table {
  return {
    title: 'How long it takes',
    columns: ['what', 'times', 'p50 ms', 'p99 ms'],
    rows: [
      rowOf('a function’s first answer from cold', cold),
      rowOf('of that, what the program alone takes in a VM that runs', own),
      rowOf('from an entry’s transaction until it is served', visible),
    ],
  }
}
