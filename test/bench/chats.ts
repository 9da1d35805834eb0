/** The inference gateway beside Portkey's and beside a bare pass-through, on one local upstream. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeApiKey } from '#src/resources/identity/api-keys.ts'
import { grantCredits } from '#src/resources/llm/billing.ts'
import { idsOf } from '../support/makers.ts'
import type { Command } from '../support/command.ts'
import { freePort } from '../support/ports.ts'
import type { Benchmark, Effort, Findings, Goal, Table } from './benchmark.ts'
import { chatBody, chatUrl, readStreams, type Gateway, type Streams } from './chat-readers.ts'
import { cpuMsOf, residentMemoryMb } from './processes.ts'
import { inRounds, median, ratioOf, shown, shownRatio } from './rounds.ts'
import { inWorld, startProcess, type World } from './world.ts'
import { runWrk, type Load } from './wrk.ts'

const connections = 32
const wanted = {
  ofPortkey: 7,
  ofPassThrough: 0.7,
  ofSmallest: 0.75,
  addedFirstOfPortkey: 0.1,
  chunksOfPortkey: 3,
  memoryGrowth: 1.1,
}
const grantedUsd = 10_000

/** How the streams of a table are read. `quiet` is for the time to the first token, `flood` for chunks a second. */
const ways = {
  quiet: { title: 'One stream at a time, 5 chunks at once', total: 150, atOnce: 1, chunks: 5, waitMs: 0 },
  paced: {
    title: '20 streams at once, 20 chunks each, 5 ms between them',
    total: 100,
    atOnce: 20,
    chunks: 20,
    waitMs: 5,
  },
  flood: {
    title: '8 streams at once, 100 chunks each as fast as they go',
    total: 60,
    atOnce: 8,
    chunks: 100,
    waitMs: 0,
  },
} as const
const manyStreams = 10_000

/** Answers and streams of chats. */
export const chats: Benchmark = {
  name: 'chats',
  title: 'Inference gateway',
  measure: (effort, say) =>
    inModelsWorld(async (world, upstreamPort): Promise<Findings> => {
      const { gateways, besides } = await startGateways(world, upstreamPort)
      const tables: Table[] = []
      const goals: Goal[] = []
      await measureAnswers([...gateways, ...besides], effort, tables, goals, say)
      await measureStreams(gateways, effort, tables, goals, say)
      await measureMemory(gateways[0] as Gateway, effort, tables, goals, say) // ours is the first of them
      return {
        how: `One upstream in Node that speaks OpenAI's format, one process for each gateway; ${connections} connections of wrk for answers, our own reader for streams; the goals are for one web process of ours, as the others have one, and beside it stand two on one port (BERTH_WEB_PROCESSES), which write into one organization's ledger in turns, and the smallest gateway that hashes a key, reads and writes JSON both ways and commits a row for each request before it answers, and does nothing else (chat-smallest.ts); ${effort.rounds} rounds in rotated order. Ours checks the key, its scope, its rate limit, the plan, the credits and the budgets of every request, reads and writes every message by its shape, and writes each request into the ledger before its last byte. The others check nothing. Portkey 1.15.2 answers 500 to streams on this Node until a preload gives it an answer whose headers can be changed (portkey-streams.mjs).`,
        tables,
        goals,
      }
    }),
}

/** A world whose models answer as the upstream of this benchmark does, which is to listen on this port. */
export async function inModelsWorld<Result>(
  work: (world: World, upstreamPort: number) => Promise<Result>,
): Promise<Result> {
  const upstreamPort = await freePort()
  return inWorld({}, async (world) => {
    const names = ['mock-20-5', ...Object.values(ways).map(({ chunks, waitMs }) => `mock-${chunks}-${waitMs}`)]
    const models = [...new Set(names)].map(
      (name) =>
        `  mock/${name}: { display_name: ${name}, created_at: 2026-01-01, context_window: 100000, max_output_tokens: 4096, pricing: { input: "1", output: "2" }, upstreams: [mock] }`,
    )
    writeFileSync(
      join(world.dataDir, 'models.yaml'),
      `upstreams:\n  mock: { kind: openai-compatible, base_url: "http://127.0.0.1:${upstreamPort}/v1" }\nmodels:\n${models.join('\n')}\n`,
    )
    return work(world, upstreamPort)
  })
}

/** Ours, the direct way, the pass-through, Portkey: in this order; and two processes of ours on one port, and the smallest gateway. */
async function startGateways(
  world: World,
  upstreamPort: number,
): Promise<{ gateways: readonly Gateway[]; besides: readonly Gateway[] }> {
  const upstream = await world.start(['test/bench/chat-upstream.ts', String(upstreamPort)], /the upstream listens/)
  const upstreamUrl = `http://127.0.0.1:${upstreamPort}`
  const { organizationId, userId } = idsOf(await world.token())
  await grantCredits(world.database.db, { organizationId, usd: grantedUsd, note: 'bench' })
  const { key } = await makeApiKey(world.database.db, {
    organizationId,
    createdBy: userId,
    name: 'bench',
    prefix: world.config.apiKeyPrefix,
  })
  const modelsFile = { BERTH_MODELS_FILE: join(world.dataDir, 'models.yaml') }
  const web = await startProcess(world, 'web', modelsFile)
  const pairPort = String(await freePort())
  const asOneOfTwo = { ...modelsFile, PORT: pairPort, BERTH_WEB_PROCESSES: '2' }
  const twins = [await startProcess(world, 'web', asOneOfTwo), await startProcess(world, 'web', asOneOfTwo)]
  const passPort = await freePort()
  const pass = await world.start(
    ['test/bench/chat-pass-through.ts', String(passPort), upstreamUrl],
    /the pass-through listens/,
  )
  const portkeyPort = await freePort()
  const portkey = await world.start(
    [
      '--import',
      './test/bench/peers/portkey-streams.mjs',
      'node_modules/@portkey-ai/gateway/build/start-server.js',
      `--port=${portkeyPort}`,
      '--headless',
    ],
    /gateway|running|ready/i,
  )
  const smallestPort = await freePort()
  const smallest = await world.start(
    ['test/bench/chat-smallest.ts', String(smallestPort), upstreamUrl, world.databaseUrl],
    /the smallest gateway listens/,
  )
  const same = (name: string): string => name
  const ours = { headers: { authorization: `Bearer ${key}` }, model: (name: string) => `mock/${name}` }
  return {
    gateways: [
      { name: 'Berth', url: `${world.url}/llm`, ...ours, pids: pidsOf(web) },
      { name: 'the upstream itself', url: upstreamUrl, headers: {}, model: same, pids: pidsOf(upstream) },
      {
        name: 'bare undici pass-through',
        url: `http://127.0.0.1:${passPort}`,
        headers: {},
        model: same,
        pids: pidsOf(pass),
      },
      {
        name: 'Portkey',
        url: `http://127.0.0.1:${portkeyPort}`,
        headers: {
          authorization: 'Bearer none',
          'x-portkey-provider': 'openai',
          'x-portkey-custom-host': `${upstreamUrl}/v1`,
        },
        model: same,
        pids: pidsOf(portkey),
      },
    ],
    besides: [
      { name: 'Berth, two web processes', url: `http://127.0.0.1:${pairPort}/llm`, ...ours, pids: pidsOf(...twins) },
      {
        name: 'the smallest with a ledger',
        url: `http://127.0.0.1:${smallestPort}`,
        headers: { authorization: 'Bearer secret' },
        model: same,
        pids: pidsOf(smallest),
      },
    ],
  }
}

function pidsOf(...commands: readonly Command[]): readonly number[] {
  return commands.map(({ child }) => child.pid ?? 0)
}

type Say = (line: string) => void

async function measureAnswers(
  gateways: readonly Gateway[],
  effort: Effort,
  tables: Table[],
  goals: Goal[],
  say: Say,
): Promise<void> {
  for (const gateway of gateways) await checkAnswer(gateway)
  const load = async (gateway: Gateway, seconds: number): Promise<Load & { cpuUs: number }> => {
    const cpuMsBefore = cpuMsOf(...gateway.pids)
    const seen = await runWrk(chatUrl(gateway), {
      seconds,
      connections,
      headers: { ...gateway.headers, 'content-type': 'application/json' },
      bodies: [chatBody(gateway, 'mock-20-5', false)],
    })
    return { ...seen, cpuUs: ((cpuMsOf(...gateway.pids) - cpuMsBefore) * 1000) / (seen.requestsPerSecond * seconds) }
  }
  for (const gateway of gateways) await load(gateway, Math.max(2, effort.secondsPerRound))
  const loads = await inRounds(effort.rounds, gateways, (gateway) => load(gateway, effort.secondsPerRound))
  const rates = loads.map((rounds) => rounds.map((one) => one.requestsPerSecond))
  const [ours = [], , pass = [], portkey = [], , smallest = []] = rates
  tables.push({
    title: 'Answers without streaming',
    columns: ['gateway', 'requests/s', 'ratio to the pass-through', 'p50 ms', 'p99 ms', 'its CPU µs/request', 'failed'],
    rows: gateways.map(({ name }, at) => {
      const mine = loads[at] ?? []
      return [
        name,
        shown(median(rates[at] ?? [])),
        shownRatio(ratioOf(rates[at] ?? [], pass)),
        shown(median(mine.map((one) => one.p50Ms))),
        shown(median(mine.map((one) => one.p99Ms))),
        shown(median(mine.map((one) => one.cpuUs))),
        String(mine.reduce((sum, one) => sum + one.failed, 0)),
      ]
    }),
  })
  addGoal(goals, say, 'requests/s without streaming, of Portkey’s', '≥', wanted.ofPortkey, ratioOf(ours, portkey))
  addGoal(
    goals,
    say,
    'requests/s without streaming, of a bare undici pass-through',
    '≥',
    wanted.ofPassThrough,
    ratioOf(ours, pass),
  )
  addGoal(
    goals,
    say,
    'requests/s without streaming, of the smallest gateway with a ledger',
    '≥',
    wanted.ofSmallest,
    ratioOf(ours, smallest),
  )
}

async function measureStreams(
  gateways: readonly Gateway[],
  effort: Effort,
  tables: Table[],
  goals: Goal[],
  say: Say,
): Promise<void> {
  const seen: Partial<Record<keyof typeof ways, Streams[][]>> = {}
  for (const [name, way] of Object.entries(ways) as [keyof typeof ways, (typeof ways)[keyof typeof ways]][]) {
    // Object.entries forgets the names
    const total = effort.quick ? Math.ceil(way.total / 5) : way.total
    for (const gateway of gateways) await readStreams(gateway, { ...way, total: Math.ceil(total / 3) })
    const measured = (seen[name] = await inRounds(effort.rounds, gateways, (gateway) =>
      readStreams(gateway, { ...way, total }),
    ))
    const middle = (at: number, of: (one: Streams) => number): string => shown(median((measured[at] ?? []).map(of)))
    tables.push({
      title: way.title,
      columns: [
        'gateway',
        'first token p50 ms',
        'p99 ms',
        'relay p50 ms',
        'p99 ms',
        'chunks/s',
        'streams/s',
        'incomplete',
      ],
      rows: gateways.map((gateway, at) => [
        gateway.name,
        middle(at, (one) => one.firstMs),
        middle(at, (one) => one.first99Ms),
        middle(at, (one) => one.relayMs),
        middle(at, (one) => one.relay99Ms),
        middle(at, (one) => one.chunksPerSecond),
        middle(at, (one) => one.streamsPerSecond),
        String((measured[at] ?? []).reduce((sum, one) => sum + one.lost, 0)),
      ]),
    })
    say(`${way.title}: done`)
  }
  const added = (at: number): number[] =>
    (seen.quiet?.[at] ?? []).map((one, round) => one.firstMs - (seen.quiet?.[1]?.[round]?.firstMs ?? NaN))
  addGoal(
    goals,
    say,
    'added time to the first token p50, of Portkey’s',
    '≤',
    wanted.addedFirstOfPortkey,
    ratioOf(added(0), added(3)),
  )
  const chunks = (at: number): number[] => (seen.flood?.[at] ?? []).map((one) => one.chunksPerSecond)
  addGoal(goals, say, 'relayed chunks/s, of Portkey’s', '≥', wanted.chunksOfPortkey, ratioOf(chunks(0), chunks(3)))
}

/** Memory that our process has in place after a tenth of the streams and after all of them. */
async function measureMemory(ours: Gateway, effort: Effort, tables: Table[], goals: Goal[], say: Say): Promise<void> {
  const total = effort.quick ? manyStreams / 20 : manyStreams
  const marks: [streams: number, mb: number][] = []
  for (let read = 0; read < total; read += total / 10) {
    await readStreams(ours, { total: total / 10, atOnce: 50, chunks: 20, waitMs: 5 })
    marks.push([read + total / 10, residentMemoryMb(ours.pids[0] ?? 0)])
  }
  tables.push({
    title: 'Memory over streams',
    columns: ['streams so far', 'resident MB'],
    rows: marks.map(([streams, mb]) => [shown(streams), shown(mb)]),
  })
  // The first half lets the heap find its size; a leak would go on growing in the second.
  addGoal(
    goals,
    say,
    `resident memory after ${shown(total)} streams, of that after half of them`,
    '≤',
    wanted.memoryGrowth,
    (marks.at(-1)?.[1] ?? NaN) / (marks[marks.length / 2 - 1]?.[1] ?? NaN),
  )
}

function addGoal(goals: Goal[], say: Say, what: string, than: '≥' | '≤', limit: number, ratio: number): void {
  goals.push({
    what,
    wanted: `${than} ${shownRatio(limit)}`,
    measured: shownRatio(ratio),
    met: than === '≥' ? ratio >= limit : ratio <= limit,
  })
  say(`${what}: ${shownRatio(ratio)}`)
}

/** Fails unless the gateway answers what the upstream says. */
export async function checkAnswer(gateway: Gateway): Promise<void> {
  const answer = await fetch(chatUrl(gateway), {
    method: 'POST',
    headers: { ...gateway.headers, 'content-type': 'application/json' },
    body: chatBody(gateway, 'mock-20-5', false),
  })
  const text = await answer.text()
  if (answer.status !== 200 || !text.includes('hello hello'))
    throw new Error(`${gateway.name} does not answer as it should: ${answer.status} ${text.slice(0, 200)}`)
}
