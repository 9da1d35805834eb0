/** Event streams: from the write of an event to its arrival at a reader, beside a bare LISTEN that receives the same. */
import { get, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { decodeId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { makeSilentNode, makeVmRow } from '../support/makers.ts'
import { until } from '../support/until.ts'
import type { Benchmark, Findings } from './benchmark.ts'
import { median, quantile, ratioOf, shown, shownRatio } from './rounds.ts'
import { inWorld, startProcess, type World } from './world.ts'

const eventsPerRound = 50
const betweenEventsMs = 25
const readerCounts = [1, 100] // a caller may hold a hundred

/** The VM whose events are written, and when each was: by position. */
type Written = { vmId: string; uuid: string; sentAt: Map<number, number>; position: number }

/** Event to reader. */
export const streams: Benchmark = {
  name: 'streams',
  title: 'Event streams',
  measure: (effort, say) =>
    inWorld({}, async (world): Promise<Findings> => {
      const token = await world.token()
      const vmId = await makeVmRow(world.database.db, token, await makeSilentNode(world.database.db))
      await startProcess(world, 'web')
      const written: Written = { vmId, uuid: decodeId('vm', vmId) ?? '', sentAt: new Map(), position: 1 }
      const rows: string[][] = []
      for (const count of readerCounts) {
        const { ours, floor } = await measureReaders(world, token, written, count, effort.rounds)
        const ratio = ratioOf(
          ours.map((round) => median(round)),
          floor.map((round) => median(round)),
        )
        rows.push([
          String(count),
          shown(median(floor.flat())),
          shown(median(ours.flat())),
          shown(quantile(ours.flat(), 0.99)),
          shownRatio(ratio),
          `${ours.flat().length} of ${effort.rounds * eventsPerRound * count}`,
        ])
        say(`${count} readers: ${shownRatio(ratio)}`)
      }
      return {
        how: `One statement writes the event and its notice. Ours: readers of GET /api/v1/vms/{vm_id}/events, each event read from the table for each of them; the floor: one connection that only LISTENs, hearing the very same notices. ${eventsPerRound} events a round, one every ${betweenEventsMs} ms, ${effort.rounds} rounds. Readers, floor and writer share one process.`,
        tables: [
          {
            title: 'From event to reader',
            columns: ['readers', 'floor p50 ms', 'ours p50 ms', 'ours p99 ms', 'ratio of p50', 'delivered'],
            rows,
          },
        ],
        goals: [],
      }
    }),
}

async function measureReaders(
  world: World,
  token: string,
  written: Written,
  count: number,
  rounds: number,
): Promise<{ ours: number[][]; floor: number[][] }> {
  const ours: number[][] = []
  const floor: number[][] = []
  const listener = new pg.Client({ connectionString: world.databaseUrl })
  await listener.connect()
  await listener.query('listen berth')
  listener.on('notification', () =>
    floor.at(-1)?.push(performance.now() - (written.sentAt.get(written.position) ?? NaN)),
  )
  const responses: IncomingMessage[] = []
  for (let reader = 0; reader < count; reader++)
    responses.push(await openReader(world.url, token, written, (ms) => ours.at(-1)?.push(ms)))
  for (let round = 0; round <= rounds; round++) {
    // the first only compiles everything
    ours.push([])
    floor.push([])
    await writeEvents(world, written)
    await until(
      `${count} readers have ${eventsPerRound} events`,
      () => (ours.at(-1)?.length ?? 0) >= eventsPerRound * count,
    )
  }
  for (const response of responses) response.destroy()
  await listener.end()
  return { ours: ours.slice(1), floor: floor.slice(1) }
}

/** Follows the stream from here on. */
async function openReader(
  url: string,
  token: string,
  written: Written,
  heard: (ms: number) => void,
): Promise<IncomingMessage> {
  const request = get(`${url}/api/v1/vms/${written.vmId}/events`, {
    headers: { authorization: `Bearer ${token}`, 'last-event-id': String(written.position) },
  })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  if (response.statusCode !== 200) throw new Error(`the stream answered ${response.statusCode}`)
  response.setEncoding('utf8').on('error', () => undefined) // ended by us
  response.on('data', (text: string) => {
    for (const match of text.matchAll(/^id: (\d+)$/gm))
      heard(performance.now() - (written.sentAt.get(Number(match[1])) ?? NaN))
  })
  return response
}

async function writeEvents(world: World, written: Written): Promise<void> {
  for (let sent = 0; sent < eventsPerRound; sent++) {
    const position = (written.position += 1)
    written.sentAt.set(position, performance.now())
    await sql`
      with counted as (update vms set event_position = ${position} where id = ${written.uuid}),
        event as (insert into vm_events (vm_id, position, status) values (${written.uuid}, ${position}, 'running'))
      select pg_notify('berth', ${`vm ${written.uuid}`})`.execute(world.database.db)
    await pause(betweenEventsMs)
  }
}
