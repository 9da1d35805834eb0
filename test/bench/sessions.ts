/** A session's log: from the POST of an event to its arrival on a stream, and to a thousand streams, beside a bare LISTEN. */
import { get, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { Pool } from 'undici'
import { issueToken } from '#src/identity/issuer.ts'
import { encodeId } from '#src/platform/ids.ts'
import { sql, transaction } from '#src/platform/postgres.ts'
import { loadSealer } from '#src/platform/secrets.ts'
import { appendEvents, appendToWorking } from '#src/resources/agents/sessions/log.ts'
import { until } from '../support/until.ts'
import { freePort } from '../support/ports.ts'
import { makeSessionRow } from '../support/sessions.ts'
import type { Benchmark, Findings } from './benchmark.ts'
import { median, quantile, ratioOf, shown, shownRatio } from './rounds.ts'
import { inWorld, startProcess, type World } from './world.ts'

const postsPerRound = 100
const betweenPostsMs = 15
const eventsPerRound = 30
const betweenEventsMs = 100
const readers = 1000
const readersPerPerson = 100
const reconnectsPerRound = 100
const wantedRatio = 3
const wantedMs = 25

/** From POST to stream, and from append to a thousand streams. */
export const sessions: Benchmark = {
  name: 'sessions',
  title: 'Session events',
  measure: (effort, say) =>
    inWorld({}, async (world): Promise<Findings> => {
      const token = await world.token()
      await startProcess(world, 'web')
      const posted = await measurePosts(world, token, effort.rounds)
      const over = (floor: number[][]): number =>
        ratioOf(
          posted.ours.map((round) => median(round)),
          floor.map((round) => median(round)),
        )
      const ratio = over(posted.bare)
      say(
        `POST to stream: ${shownRatio(ratio)} of a bare notice; ${shownRatio(over(posted.row))} of one row; ${shownRatio(over(posted.smallest))} of the smallest service; ${shownRatio(over(posted.append))} of the same event appended and heard`,
      )
      const { rounds, lost, repeated } = await measureReaders(world, effort.rounds)
      const p99 = median(rounds.map((round) => quantile(round, 0.99)))
      say(`${readers} streams: p99 ${shown(p99)} ms`)
      const line = (name: string, all: number[][]): string[] => [
        name,
        shown(median(all.flat())),
        shown(quantile(all.flat(), 0.99)),
      ]
      return {
        how: `POST: one user.message after another to a session that runs, ${postsPerRound} a round, ${effort.rounds} rounds; until a stream has it. The floor: a notice alone, until a connection that only LISTENs hears it, which nothing durable can reach; beside it, one plain row with a notice, the same event appended straight to Postgres by the service's own function, and the smallest service that takes a POST, writes one row and hands its notice to a stream, without asking or checking anything (stream-smallest.ts). Streams: the service's own function appends an event to each of ${readers / readersPerPerson} sessions every ${betweenEventsMs} ms, one after the other; ${readersPerPerson} streams follow each, ${readers} in one web process, and a tenth of them reconnect by their last position in each round. Readers and writer share one process, so the reader's work for ${readers} streams is in the numbers.`,
        tables: [
          {
            title: 'From POST to a stream',
            columns: ['', 'p50 ms', 'p99 ms'],
            rows: [
              line('a notice alone, heard by LISTEN', posted.bare),
              line('one row and a notice, heard', posted.row),
              line('the event appended, heard', posted.append),
              line('POST to stream, the smallest service', posted.smallest),
              line('POST to stream', posted.ours),
            ],
          },
          {
            title: `${readers} streams, 10 events a second on each`,
            columns: ['', 'p50 ms', 'p99 ms', 'lost', 'repeated'],
            rows: [[...line('append to stream', rounds), String(lost), String(repeated)]],
          },
        ],
        goals: [
          {
            what: 'POST to stream, p50, of the LISTEN/NOTIFY floor’s',
            wanted: `≤ ${shownRatio(wantedRatio)}`,
            measured: `${shownRatio(ratio)} (${shownRatio(over(posted.row))} of one durable row and its notice, ${shownRatio(over(posted.smallest))} of the smallest service, ${shownRatio(over(posted.append))} of the same event appended)`,
            met: ratio <= wantedRatio,
          },
          {
            what: `p99 of ${readers} streams at 10 events a second`,
            wanted: `≤ ${wantedMs} ms`,
            measured: `${shown(p99)} ms`,
            met: p99 <= wantedMs,
          },
          {
            what: 'events lost or repeated over reconnects',
            wanted: '0',
            measured: String(lost + repeated),
            met: lost + repeated === 0,
          },
        ],
      }
    }),
}

type Stream = { response: IncomingMessage; close: () => void }

/** Follows a session's events; `heard` is told each position and its text. */
async function openStream(
  url: string,
  token: string,
  session: string,
  after: number | null,
  heard: (position: number, text: string) => void,
): Promise<Stream> {
  const headers = { authorization: `Bearer ${token}`, ...(after === null ? {} : { 'last-event-id': String(after) }) }
  const request = get(`${url}/agents/v1/sessions/${encodeId('session', session)}/events/stream`, {
    headers,
    agent: false,
  })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  if (response.statusCode !== 200) throw new Error(`the stream answered ${response.statusCode}`)
  let rest = ''
  response.setEncoding('utf8').on('error', () => undefined) // ended by us
  response.on('data', (text: string) => {
    rest += text
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
      const frame = rest.slice(0, end)
      rest = rest.slice(end + 2)
      const position = /^id: (\d+)$/m.exec(frame)?.[1]
      if (position) heard(Number(position), frame)
    }
  })
  return { response, close: () => request.destroy() }
}

type Posted = { ours: number[][]; bare: number[][]; row: number[][]; append: number[][]; smallest: number[][] }

async function measurePosts(world: World, token: string, rounds: number): Promise<Posted> {
  const { db } = world.database
  const session = await runningSession(world, token)
  const measured: Posted = { ours: [], bare: [], row: [], append: [], smallest: [] }
  const port = await freePort()
  const smallestUrl = `http://127.0.0.1:${port}`
  const service = await world.start(
    ['test/bench/stream-smallest.ts', String(port), world.databaseUrl],
    /the smallest service listens/,
  )
  const listener = new pg.Client({ connectionString: world.databaseUrl })
  const notifier = new pg.Client({ connectionString: world.databaseUrl })
  await Promise.all([listener.connect(), notifier.connect()])
  await listener.query('listen bench_floor; listen berth')
  await notifier.query('create table bench_floor (id int primary key, body jsonb)')
  let sentMs = 0
  let hear: (ms: number) => void = () => undefined
  let listens = true // a POST is heard here too, before its stream
  listener.on('notification', () => listens && hear(performance.now() - sentMs))
  const stream = await openStream(
    world.url,
    token,
    session,
    null,
    (_, text) => !listens && text.includes('"user.message"') && hear(performance.now() - sentMs),
  )
  const following = get(smallestUrl, { agent: false })
  const [smallestStream] = (await once(following, 'response')) as [IncomingMessage]
  smallestStream.on('error', () => undefined) // ended by us
  smallestStream.on('data', () => !listens && hear(performance.now() - sentMs))
  const http = new Pool(world.url, { connections: 1, pipelining: 1 })
  const smallest = new Pool(smallestUrl, { connections: 1, pipelining: 1 })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const content = [{ type: 'text', text: 'x'.repeat(200) }]
  const message = [{ type: 'user.message' as const, data: { content } }]
  const body = JSON.stringify({ events: [{ type: 'user.message', content }] })
  const time = async (into: number[] | undefined, send: () => Promise<unknown>): Promise<void> => {
    const heard = new Promise<number>((resolve) => (hear = resolve))
    sentMs = performance.now()
    const sending = send()
    into?.push(await heard)
    await sending
    await pause(betweenPostsMs / 3)
  }
  let row = 0
  for (let round = 0; round <= rounds; round++) {
    // the first only compiles everything
    for (const all of Object.values(measured)) all.push([])
    for (let sent = 0; sent < postsPerRound; sent++) {
      listens = true
      await time(measured.bare.at(-1), () => notifier.query("select pg_notify('bench_floor', 'x')"))
      await time(measured.row.at(-1), () =>
        notifier.query({
          name: 'floor',
          text: "with written as (insert into bench_floor values ($1, $2)) select pg_notify('bench_floor', 'x')",
          values: [row++, body],
        }),
      )
      await time(measured.append.at(-1), () => appendToWorking(db, session, message, sql<boolean>`true`))
      listens = false
      await time(measured.smallest.at(-1), async () => {
        const answer = await smallest.request({ method: 'POST', path: '/', headers, body })
        await answer.body.dump()
      })
      await time(measured.ours.at(-1), async () => {
        const answer = await http.request({
          method: 'POST',
          path: `/agents/v1/sessions/${encodeId('session', session)}/events`,
          headers,
          body,
        })
        if (answer.statusCode !== 200)
          throw new Error(`the POST answered ${answer.statusCode}: ${await answer.body.text()}`)
        await answer.body.dump()
      })
    }
  }
  stream.close()
  following.destroy()
  await Promise.all([
    http.close(),
    smallest.close(),
    world.end(service),
    listener.end(),
    notifier.end(),
    sql`delete from sessions where id = ${session}`.execute(db),
  ])
  for (const all of Object.values(measured)) all.shift()
  return measured
}

/** Ten people, each with a session and a hundred streams of it: all that one may hold. */
async function measureReaders(
  world: World,
  rounds: number,
): Promise<{ rounds: number[][]; lost: number; repeated: number }> {
  const { db } = world.database
  const people = await Promise.all(
    Array.from({ length: readers / readersPerPerson }, async (_, person) => {
      const token = await tokenOf(world, `person-${person}`)
      return { token, session: await runningSession(world, token), sentAt: new Map<number, number>() }
    }),
  )
  const measured: number[][] = []
  const positions = Array.from({ length: readers }, () => 0)
  let [heard, repeated, resuming, position] = [0, 0, false, 0]
  const open = async (reader: number): Promise<Stream> => {
    const { token, session, sentAt } = people[reader % people.length]! // there are ten
    return openStream(world.url, token, session, positions[reader] ?? 0, (at) => {
      if (at !== (positions[reader] ?? 0) + 1) repeated += 1
      positions[reader] = at
      heard += 1
      if (!resuming) measured.at(-1)?.push(performance.now() - (sentAt.get(at) ?? NaN))
    })
  }
  const streams: Stream[] = []
  for (let reader = 0; reader < readers; reader++) streams.push(await open(reader))
  const write = async (count: number): Promise<void> => {
    for (let written = 0; written < count; written++) {
      position += 1
      await Promise.all(
        people.map(async ({ session, sentAt }, person) => {
          await pause((person * betweenEventsMs) / people.length)
          sentAt.set(position, performance.now())
          await transaction(db, (tx) => appendEvents(tx, session, [{ type: 'agent.thinking' }]))
        }),
      )
    }
  }
  for (let round = 0; round <= rounds; round++) {
    measured.push([])
    await write(eventsPerRound)
    await until(`${readers} streams have ${position} events`, () => heard >= position * readers)
    resuming = true
    const reconnecting = (async () => {
      for (let again = 0; again < reconnectsPerRound; again++) {
        const reader = (round * reconnectsPerRound + again) % readers
        streams[reader]?.close()
        streams[reader] = await open(reader)
      }
    })()
    await Promise.all([reconnecting, write(5)])
    await until(`${readers} streams have ${position} events after reconnects`, () => heard >= position * readers)
    resuming = false
  }
  for (const stream of streams) stream.close()
  return { rounds: measured.slice(1), lost: Math.max(0, position * readers - heard), repeated }
}

/** A session that runs, so that messages wait in it; nothing takes them. */
async function runningSession({ database: { db } }: World, token: string): Promise<string> {
  const id = await makeSessionRow(db, token)
  await sql`update sessions set status = 'running', running_since = now() where id = ${id}`.execute(db)
  return id
}

async function tokenOf({ database: { db }, config, dataDir }: World, user: string): Promise<string> {
  return (
    await issueToken(
      { db, sealer: loadSealer(config.secretKey, dataDir), config },
      { user, organization: 'acme', role: 'owner', ttlSeconds: 3600, newNames: { make: true } },
    )
  ).token
}
