/**
 * The processes that let clients in to databases, as far as others must know: which are alive, and which changes of a
 * database each has carried out. A change that ends clients is answered once all living ones have carried it out.
 */
import { change, findAll, findOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Background } from '#src/platform/services.ts'
import { waitUntil } from '#src/platform/streams/waits.ts'
import { limits } from '#src/platform/limits.ts'
import type { Database } from './rows.ts'

/** A process that was silent for longer counts as dead. */
const isAlive = sql<boolean>`heartbeat_at > now() - ${limits.edgeSilenceSeconds} * interval '1 second'`

/** Records that a process of the edge is alive. Dead ones are forgotten. */
export async function reportEdge(db: Db, edgeId: string): Promise<void> {
  await change(
    db,
    sql`insert into edge_processes (id) values (${edgeId}) on conflict (id) do update set heartbeat_at = now()`,
  )
  await change(
    db,
    sql`delete from edge_processes where heartbeat_at < now() - ${limits.edgeSilenceSeconds} * 6 * interval '1 second'`,
  )
}

/** Why no client of Postgres is let in, as a sentence; null when a process does that. */
export async function whyNoEdge(db: Db): Promise<string | null> {
  const living = await findOne(db, sql`select 1 from edge_processes where ${isAlive} limit 1`)
  return living
    ? null
    : 'No edge process runs, so databases are not reachable; the process edge of the Procfile is one.'
}

/** Records that a process of the edge has ended, so that no change waits for it. */
export async function forgetEdge(db: Db, edgeId: string): Promise<void> {
  await change(db, sql`delete from edge_processes where id = ${edgeId}`)
}

/** Records that a process of the edge has carried out what the database's row says as of this event. */
export async function acknowledgeChange(
  db: Db,
  edgeId: string,
  { id, eventPosition }: Pick<Database, 'id' | 'eventPosition'>,
): Promise<void> {
  await change(
    db,
    sql`
    insert into edge_acknowledgements as known (edge_id, database_id, position) select id, ${id}, ${eventPosition} from edge_processes where id = ${edgeId}
    on conflict (edge_id, database_id) do update set position = greatest(known.position, excluded.position)`,
  )
  publish(db, acknowledgedTopic, id)
}

const acknowledgedTopic = 'database_told'

/**
 * Makes a change of a database and waits until every living process of the edge has carried it out.
 * @param make changes the row, and returns it.
 * @returns the row, and whether they all have, within 5 s.
 */
export async function changeAndNotify(
  { db, pubsub }: Pick<Background, 'db' | 'pubsub'>,
  databaseId: string,
  make: () => Promise<Database>,
): Promise<{ database: Database; isAcknowledged: boolean }> {
  const look = async (edgeIds: readonly string[], database: Database) => ({
    edgeIds,
    database,
    isAcknowledged: await haveAcknowledged(db, edgeIds, database),
  })
  const { edgeIds, database, isAcknowledged } = await waitUntil(pubsub, {
    topic: acknowledgedTopic,
    id: databaseId,
    limitSeconds: limits.databaseAcknowledgedSeconds,
    first: async () => look(await findLivingEdges(db), await make()), // an edge that begins later reads the changed row
    again: (before) => look(before.edgeIds, before.database),
    isDone: (seen) => seen.isAcknowledged,
  })
  return { database, isAcknowledged: isAcknowledged || (await haveAcknowledged(db, edgeIds, database)) } // one may have died meanwhile
}

async function findLivingEdges(db: Db): Promise<string[]> {
  const edges = await findAll<Pick<Row<'edge_processes'>, 'id'>>(
    db,
    sql`select id from edge_processes where ${isAlive} order by id limit ${edgesMax}`,
  )
  return edges.map(({ id }) => id)
}
const edgesMax = 1000

/** Whether all of these that are still alive have carried out what the row says. */
async function haveAcknowledged(db: Db, edgeIds: readonly string[], { id, eventPosition }: Database): Promise<boolean> {
  const waiting = await findOne(
    db,
    sql`
    select 1 from edge_processes e where e.id = any(${edgeIds}::uuid[]) and ${isAlive} and not exists (
      select from edge_acknowledgements a where a.edge_id = e.id and a.database_id = ${id} and a.position >= ${eventPosition}) limit 1`,
  )
  return waiting === undefined
}
