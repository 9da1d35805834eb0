/** A build's log: from a line that its writer appends to a thousand readers, beside a bare LISTEN that receives the same. */
import { get, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { issueToken } from '#src/identity/issuer.ts'
import { encodeId } from '#src/platform/ids.ts'
import { loadSealer } from '#src/platform/secrets.ts'
import { appendBuildLog, createNumbering } from '#src/resources/infra/builds/logs.ts'
import type { BuildClaim } from '#src/resources/infra/builds/runs.ts'
import { until } from '../support/until.ts'
import type { Benchmark, Findings } from './benchmark.ts'
import { median, quantile, ratioOf, shown, shownRatio } from './rounds.ts'
import { makeRunningBuild } from './builds/running-build.ts'
import { inWorld, startProcess, type World } from './world.ts'

const linesPerRound = 30
const betweenLinesMs = 100
const readerCounts = [1, 100, 1000]
const readersPerCaller = 100 // all that one may hold
const wantedRatio = 10

/** A running build: its lines, and when each was handed to the writer. */
type Log = {
  id: string
  claim: BuildClaim
  sentAt: Map<string, number>
  last: string
  next: ReturnType<typeof createNumbering>
}

/** Line to reader. */
export const buildLogs: Benchmark = {
  name: 'build-logs',
  title: 'Build logs',
  measure: (effort, say) =>
    inWorld({}, async (world): Promise<Findings> => {
      const token = await world.token()
      const build = await makeRunningBuild(world.database.db, token)
      const log: Log = { ...build, sentAt: new Map(), last: '0', next: createNumbering() }
      await startProcess(world, 'web')
      const rows: string[][] = []
      const goals: Findings['goals'][number][] = []
      for (const count of readerCounts) {
        const { ours, floor } = await measureReaders(world, log, count, effort.rounds)
        const ratio = ratioOf(
          ours.map((round) => quantile(round, 0.99)),
          floor.map((round) => quantile(round, 0.99)),
        )
        rows.push([
          String(count),
          shown(median(floor.flat())),
          shown(quantile(floor.flat(), 0.99)),
          shown(median(ours.flat())),
          shown(quantile(ours.flat(), 0.99)),
          shownRatio(ratio),
          `${ours.flat().length} of ${effort.rounds * linesPerRound * count}`,
        ])
        if (count === 1000)
          goals.push({
            what: 'p99 of 1000 readers, of the floor’s',
            wanted: `≤ ${shownRatio(wantedRatio)}`,
            measured: shownRatio(ratio),
            met: ratio <= wantedRatio,
          })
        say(`${count} readers: ${shownRatio(ratio)}`)
      }
      return {
        how: `The worker's own function appends a line and sends its notice. Ours: readers of GET /api/v1/build/jobs/{id}/logs/stream; the floor: one connection that only LISTENs, hearing the very same notices. ${linesPerRound} lines a round, one every ${betweenLinesMs} ms, ${effort.rounds} rounds. Readers, floor and writer share one process, so its own work for the readers is in both.`,
        tables: [
          {
            title: 'From line to reader',
            columns: [
              'readers',
              'floor p50 ms',
              'floor p99 ms',
              'ours p50 ms',
              'ours p99 ms',
              'ratio of p99',
              'delivered',
            ],
            rows,
          },
        ],
        goals,
      }
    }),
}

async function measureReaders(
  world: World,
  log: Log,
  count: number,
  rounds: number,
): Promise<{ ours: number[][]; floor: number[][] }> {
  const ours: number[][] = []
  const floor: number[][] = []
  const listener = new pg.Client({ connectionString: world.databaseUrl })
  await listener.connect()
  await listener.query('listen berth')
  listener.on('notification', () => floor.at(-1)?.push(performance.now() - (log.sentAt.get(log.last) ?? NaN)))
  const responses: IncomingMessage[] = []
  const callers: string[] = []
  for (let reader = 0; reader < count; reader++) {
    if (reader % readersPerCaller === 0) callers.push(await tokenOf(world, `reader-${reader}`))
    responses.push(await openReader(world.url, callers.at(-1) ?? '', log, (ms) => ours.at(-1)?.push(ms)))
  }
  for (let round = 0; round <= rounds; round++) {
    // the first only compiles everything
    ours.push([])
    floor.push([])
    await writeLines(world, log)
    await until(
      `${count} readers have ${linesPerRound} lines`,
      () => (ours.at(-1)?.length ?? 0) >= linesPerRound * count,
    )
  }
  for (const response of responses) response.destroy()
  await listener.end()
  return { ours: ours.slice(1), floor: floor.slice(1) }
}

async function tokenOf({ database: { db }, config, dataDir }: World, user: string): Promise<string> {
  return (
    await issueToken(
      { db, sealer: loadSealer(config.secretKey, dataDir), config },
      { user, organization: 'acme', role: 'viewer', ttlSeconds: 3600, newNames: { make: true } },
    )
  ).token
}

/** Follows the log from here on. */
async function openReader(url: string, token: string, log: Log, heard: (ms: number) => void): Promise<IncomingMessage> {
  const request = get(`${url}/api/v1/build/jobs/${encodeId('build', log.id)}/logs/stream?from=${log.last}`, {
    headers: { authorization: `Bearer ${token}` },
  })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  if (response.statusCode !== 200) throw new Error(`the stream answered ${response.statusCode}`)
  response.setEncoding('utf8').on('error', () => undefined) // ended by us
  response.on('data', (text: string) => {
    const now = performance.now()
    for (let at = text.indexOf('id: '); at >= 0; at = text.indexOf('\nid: ', at + 1))
      heard(now - (log.sentAt.get(text.slice(text.indexOf(' ', at) + 1, text.indexOf('\n', at + 1))) ?? NaN))
  })
  return response
}

async function writeLines({ database: { db } }: World, log: Log): Promise<void> {
  for (let sent = 0; sent < linesPerRound; sent++) {
    const position = log.next()
    log.last = `${position.ms}-${position.seq}`
    log.sentAt.set(log.last, performance.now())
    await appendBuildLog(db, log.claim, [{ ...position, output: `line ${sent}\n` }])
    await pause(betweenLinesMs)
  }
}
