/** The ingress beside nginx and caddy: requests a second, what it adds to one request, and TLS. */
import type { Benchmark, Effort, Findings, Goal, Table } from '../benchmark.ts'
import { cpuMsOf } from '../processes.ts'
import { inRounds, median, ratioOf, shown, shownRatio } from '../rounds.ts'
import { runWrk, type Load } from '../wrk.ts'
import { runH2load } from './h2load.ts'
import { benchHost, benchPath, startServers, type Server } from './peers.ts'

const [manyConnections, secureConnections] = [64, 32]
const wanted = { ofNginx: 0.5, ofCaddy: 1.7, addedOfCaddy: 0.4 }
const secondsOf = ({ quick }: Effort): number => (quick ? 1 : 2)
const secureRoundsOf = ({ quick }: Effort): number => (quick ? 1 : 3)

/** One turn of a server. Unit of processor time: µs for each request. */
type Turn = Load & { cpuUs: number }

/** Rates and what is added. */
export const ingress: Benchmark = {
  name: 'ingress',
  title: 'Ingress',
  async measure(effort, say): Promise<Findings> {
    const servers = await startServers()
    try {
      const many = await measureLoad(servers.all, manyConnections, effort, say)
      const single = await measureLoad(servers.all, 1, effort, say)
      const secure = await measureSecure(servers.all.slice(0, 3), effort, say) // the upstream has no TLS
      return {
        how: `One nginx that answers 1 KB without thinking, behind all three; connections are kept on both sides, nobody writes a log. Ours is the ingress of the edge process with its options of Node and its limits, alone in a process; nginx has one worker, caddy as many threads as there are cores. wrk has one thread, h2load too. ${effort.rounds} rounds of ${secondsOf(effort)} s in rotated order, ${secureRoundsOf(effort)} for TLS. The load generator and the upstream have the same cores as what is measured; processor time is the server’s own, kernel included, and does not depend on the neighbours as much as the rate does.`,
        tables: [manyTable(servers.all, many), singleTable(servers.all, single), ...secure],
        goals: goalsOf(many, single),
      }
    } finally {
      await servers.stop()
    }
  },
}

async function measureLoad(
  servers: readonly Server[],
  connections: number,
  effort: Effort,
  say: (line: string) => void,
): Promise<Turn[][]> {
  const load = (server: Server): Promise<Load> =>
    runWrk(`http://127.0.0.1:${server.port}${benchPath}`, {
      seconds: secondsOf(effort),
      connections,
      headers: { Host: benchHost },
    })
  for (const server of servers) await load(server) // compiled code, and connections
  const turns = await inRounds(effort.rounds, servers, async (server): Promise<Turn> => {
    const pids = server.pids()
    const before = cpuMsOf(...pids)
    const seen = await load(server)
    const requests = seen.requestsPerSecond * secondsOf(effort)
    return { ...seen, cpuUs: ((cpuMsOf(...pids) - before) * 1000) / requests }
  })
  servers.forEach(({ name }, at) =>
    say(
      `${connections} connections, ${name}: ${shown(median(rates(turns[at])))} requests a second, p50 ${shown(median(p50s(turns[at])))} ms`,
    ),
  )
  return turns
}

const rates = (turns: readonly Turn[] = []): number[] => turns.map(({ requestsPerSecond }) => requestsPerSecond)
const p50s = (turns: readonly Turn[] = []): number[] => turns.map(({ p50Ms }) => p50Ms)
const failures = (turns: readonly Turn[] = []): string => String(turns.reduce((sum, { failed }) => sum + failed, 0))

function manyTable(servers: readonly Server[], turns: readonly Turn[][]): Table {
  return {
    title: `HTTP/1.1, ${manyConnections} connections`,
    columns: ['server', 'requests/s', 'ratio to nginx', 'p50 ms', 'p99 ms', 'its CPU µs/request', 'failed'],
    rows: servers.map(({ name }, at) => [
      name,
      shown(median(rates(turns[at]))),
      shownRatio(ratioOf(rates(turns[at]), rates(turns[1]))),
      shown(median(p50s(turns[at]))),
      shown(median((turns[at] ?? []).map(({ p99Ms }) => p99Ms))),
      shown(median((turns[at] ?? []).map(({ cpuUs }) => cpuUs))),
      failures(turns[at]),
    ]),
  }
}

/** What a server adds to the upstream's own time, round by round. Unit: ms. */
function added(turns: readonly Turn[][], at: number): number[] {
  const direct = p50s(turns[3])
  return p50s(turns[at]).map((p50, round) => p50 - (direct[round] ?? NaN))
}

function singleTable(servers: readonly Server[], turns: readonly Turn[][]): Table {
  return {
    title: 'HTTP/1.1, one connection',
    columns: ['server', 'p50 µs', 'added µs', 'p99 µs', 'its CPU µs/request', 'failed'],
    rows: servers.map(({ name }, at) => [
      name,
      shown(median(p50s(turns[at])) * 1000),
      at === 3 ? '–' : shown(median(added(turns, at)) * 1000),
      shown(median((turns[at] ?? []).map(({ p99Ms }) => p99Ms)) * 1000),
      shown(median((turns[at] ?? []).map(({ cpuUs }) => cpuUs))),
      failures(turns[at]),
    ]),
  }
}

/** HTTP/1.1 and HTTP/2 over TLS, where h2load is there; for information. */
async function measureSecure(
  servers: readonly Server[],
  effort: Effort,
  say: (line: string) => void,
): Promise<Table[]> {
  const rows: string[][] = servers.map(({ name }) => [name])
  let isMissing = false
  for (const protocol of ['h1', 'h2'] as const) {
    const turns = await inRounds(secureRoundsOf(effort) + 1, servers, async ({ securePort }) => {
      const options = { protocol, seconds: secondsOf(effort), connections: secureConnections }
      const seen = isMissing ? null : await runH2load(securePort ?? 0, options)
      isMissing ||= seen === null
      return seen
    })
    const rate = (at: number): number[] => (turns[at] ?? []).slice(1).map((seen) => seen?.requestsPerSecond ?? NaN) // the first round warms up
    rows.forEach((row, at) =>
      row.push(
        shown(median(rate(at))),
        shownRatio(ratioOf(rate(at), rate(1))),
        String((turns[at] ?? []).reduce((sum, seen) => sum + (seen?.failed ?? 0), 0)),
      ),
    )
  }
  if (isMissing) {
    say('h2load is missing, so TLS is not measured. Install the Debian package: apt-get install nghttp2-client')
    return []
  }
  const of = (version: string): string[] => [`${version} requests/s`, 'ratio to nginx', 'failed']
  return [
    {
      title: `TLS, ${secureConnections} connections; over HTTP/2 with 4 streams each`,
      columns: ['server', ...of('HTTP/1.1'), ...of('HTTP/2')],
      rows,
    },
  ]
}

function goalsOf(many: readonly Turn[][], single: readonly Turn[][]): Goal[] {
  const [ofNginx, ofCaddy] = [ratioOf(rates(many[0]), rates(many[1])), ratioOf(rates(many[0]), rates(many[2]))]
  const ofAdded = median(added(single, 0)) / median(added(single, 2))
  const atLeast = (what: string, most: number, measured: number): Goal => ({
    what,
    wanted: `≥ ${shownRatio(most)}`,
    measured: shownRatio(measured),
    met: measured >= most,
  })
  return [
    atLeast('requests a second, of nginx with one worker', wanted.ofNginx, ofNginx),
    atLeast('requests a second, of caddy', wanted.ofCaddy, ofCaddy),
    {
      what: 'added to p50 at one connection, of what caddy adds',
      wanted: `≤ ${shownRatio(wanted.addedOfCaddy)}`,
      measured: shownRatio(ofAdded),
      met: ofAdded <= wanted.addedOfCaddy,
    },
  ]
}
