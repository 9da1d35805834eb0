/** Builds that print much: what one does to another tenant's log, and to the memory of the processes that carry it. */
import { setTimeout as pause } from 'node:timers/promises'
import { until } from '../support/until.ts'
import type { Effort, Findings } from './benchmark.ts'
import { cancel, follow, startTickedBuild, submit, tokenOf, type Ticker } from './build-client.ts'
import { residentMemoryMb } from './processes.ts'
import { inRounds, median, quantile, ratioOf, shown, shownRatio } from './rounds.ts'
import type { VmHost } from './vm-host.ts'
import type { World } from './world.ts'

type Part = Pick<Findings, 'tables' | 'goals'>
type Say = (line: string) => void

const ticksPerRound = 30
const startLimitMs = 120_000
const logLimitMs = 600_000
const lineMs = 150
/** What the flood itself may add to what its VM takes from the processor. */
const wantedRatio = 1.5
const logMb = 50
const sampleMs = 250
const lineBytes = 16
/** More than the garbage that Node leaves lying for a while, and less than the log. */
const growthMbMax = 40

/** What the other tenant's build does; the first is none at all. Both keep one processor of their VM busy in the same way. */
const neighbours = [
  { name: 'nobody else', command: null },
  { name: 'a build that computes', command: 'echo begun; seq -f %015.0f 1 1000000000 > /dev/null' },
  { name: 'a build that floods its log', command: 'echo begun; seq -f %015.0f 1 1000000000' },
] as const

/**
 * A line of a quiet build, from the host through its VM to a reader of its log, beside each neighbour in turns; the
 * flooding one has a reader too.
 */
export async function measureNeighbours(
  world: World,
  ticker: Ticker,
  { quick, rounds }: Effort,
  say: Say,
): Promise<Part> {
  const quiet = await startTickedBuild(world, await tokenOf(world, 'quiet'), ticker)
  const busy = await tokenOf(world, 'busy')
  const floods: number[] = []
  const measured = await inRounds(quick ? 1 : rounds, neighbours, async ({ name, command }) => {
    if (!command) return quiet.tick(ticksPerRound)
    const neighbour = await startNeighbour(world, busy, command)
    const [startedAt, before] = [performance.now(), neighbour.characters()]
    const took = await quiet.tick(ticksPerRound)
    const rate = (neighbour.characters() - before) / 1024 / 1024 / ((performance.now() - startedAt) / 1000)
    await neighbour.end()
    if (name === neighbours[2].name) floods.push(rate)
    say(`beside ${name}: ${shown(median(took))} ms; its log grew by ${shown(rate)} MB/s`)
    return took
  })
  await quiet.end()
  const [alone = [], computing = [], flooding = []] = measured
  const p50 = (all: number[][]): number[] => all.map((round) => median(round))
  const ratio = ratioOf(p50(flooding), p50(computing))
  const rows = [alone, computing, flooding].map((all, index) => [
    neighbours[index]!.name,
    String(all.flat().length),
    shown(median(all.flat())),
    shown(quantile(all.flat(), 0.99)),
    shownRatio(ratioOf(p50(all), p50(alone))),
    shownRatio(ratioOf(p50(all), p50(computing))),
  ])
  return {
    tables: [
      {
        title: `A quiet build’s line to its reader, beside another tenant’s build (which floods with ${shown(median(floods))} MB/s)`,
        columns: ['beside', 'lines', 'p50 ms', 'p99 ms', 'ratio of p50 to alone', 'to beside one that computes'],
        rows,
      },
    ],
    goals: [
      {
        what: 'a line beside another tenant’s flooding log, p50, of one beside a build that only computes',
        wanted: `≤ ${shownRatio(wantedRatio)}`,
        measured: shownRatio(ratio),
        met: ratio <= wantedRatio,
      },
      {
        what: 'a line beside another tenant’s flooding log, p50',
        wanted: `≤ ${lineMs} ms`,
        measured: `${shown(median(flooding.flat()))} ms`,
        met: median(flooding.flat()) <= lineMs,
      },
    ],
  }
}

async function startNeighbour(
  world: World,
  token: string,
  command: string,
): Promise<{ characters: () => number; end: () => Promise<void> }> {
  const id = await submit(world, token, { commands: [command], cache: false })
  let log = ''
  let characters = 0
  const reading = (async () => {
    for await (const { output } of follow(world, token, id)) {
      characters += output.length
      log = (log + output).slice(0, 200)
    }
  })()
  await until('the neighbour works', () => log.includes('begun\n'), startLimitMs)
  return {
    characters: () => characters,
    async end() {
      await cancel(world, token, id)
      await reading
    },
  }
}

/** The memory of web process and worker while one build prints 50 MB and a reader follows it. */
export async function measureMemory(
  world: World,
  host: VmHost,
  webPid: number,
  { quick }: Effort,
  say: Say,
): Promise<Part> {
  const megabytes = quick ? 5 : logMb
  const token = await tokenOf(world, 'long')
  await host.calm(0)
  const pids = [webPid, host.workerPid] as const
  const before = pids.map(residentMemoryMb)
  const highest: number[][] = []
  let characters = 0
  let over = false
  const id = await submit(world, token, {
    commands: [`seq -f %015.0f 1 ${(megabytes * 1024 * 1024) / lineBytes}`],
    cache: false,
    output: { type: 'artifact', name: 'out', path: '.' },
  })
  const reading = (async () => {
    for await (const { output } of follow(world, token, id)) characters += output.length
    over = true
  })()
  const sampling = (async () => {
    const deadline = performance.now() + logLimitMs
    while (!over) {
      if (performance.now() > deadline) throw new Error('the long log did not end')
      const tenth = Math.min(9, Math.floor((characters / (megabytes * 1024 * 1024)) * 10))
      highest[tenth] = pids.map((pid, which) => Math.max(highest[tenth]?.[which] ?? 0, residentMemoryMb(pid)))
      await pause(sampleMs)
    }
  })()
  await Promise.all([reading, sampling])
  const seen = characters / 1024 / 1024
  const rows = [
    ['before', ...before.map(shown)],
    ...highest.map((tenth, at) => [
      `${(at * megabytes) / 10} to ${((at + 1) * megabytes) / 10} MB`,
      ...(tenth ?? []).map(shown),
    ]),
  ]
  const goals = ['web process', 'worker'].map((name, which) => {
    const [early, late] = [half(highest, which, 1, 5), half(highest, which, 5, 10)]
    say(`${name}: ${shown(early)} MB, then ${shown(late)} MB`)
    return {
      what: `memory of the ${name}, the second half of a ${megabytes} MB log above the first`,
      wanted: `≤ ${growthMbMax} MB`,
      measured: `${(late - early).toFixed(1)} MB (${shownRatio(late / early)})`,
      met: late - early <= growthMbMax && seen >= megabytes,
    }
  })
  return {
    tables: [
      {
        title: `Resident memory while a build prints ${megabytes} MB (${shown(seen)} MB came to its reader)`,
        columns: ['of the log', 'web process MB', 'worker MB'],
        rows,
      },
    ],
    goals,
  }
}

/** The most that one process had in some tenths of the log. */
function half(highest: readonly number[][], which: number, from: number, to: number): number {
  return Math.max(...highest.slice(from, to).map((tenth) => tenth?.[which] ?? 0))
}
