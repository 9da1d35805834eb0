/** What the server of a database says of itself: measured by its node, every minute, and often while somebody watches. */
import { allow, allowAnywhere, owned } from '#src/platform/access.ts'
import { limits } from '#src/platform/limits.ts'
import { change, findAll, findOne, sql, transaction, type Db } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Call } from '#src/platform/services.ts'
import { databaseRows, notDeleted, type Database } from './rows.ts'

/** The last measurement of a database. */
export type DatabaseMetrics = Pick<
  Row<'database_metrics'>,
  | 'databaseId'
  | 'connections'
  | 'sizeBytes'
  | 'transactions'
  | 'rolledBack'
  | 'rowsRead'
  | 'rowsWritten'
  | 'blocksHit'
  | 'blocksRead'
  | 'deadlocks'
  | 'measuredAt'
>
/** One that was just taken. */
export type Measured = Omit<DatabaseMetrics, 'databaseId' | 'measuredAt'>

/** The topic of new measurements. */
const measuredTopic = 'database_metrics'
/** The topic of databases whose metrics somebody watches. */
export const watchedTopic = 'database_watched'
const batchMax = 100

/** The last measurements of these databases, of the caller's organizations. */
export async function findMetrics(call: Call, databaseIds: readonly string[]): Promise<DatabaseMetrics[]> {
  const reach = allowAnywhere(call.caller, 'databases:read')
  return findAll<DatabaseMetrics>(
    call.db,
    sql`
      select m.*
      from database_metrics m
      join databases on databases.id = m.database_id
      where database_id = any(${databaseIds}::uuid[]) and ${owned(reach)} and ${notDeleted}`,
  )
}

/**
 * The measurements of a database: the last one, then new ones as they come, every few seconds while it is awake.
 * @throws BerthError not_found, before the first.
 */
export async function followMetrics(
  call: Call & { signal?: AbortSignal },
  publicId: string,
): Promise<AsyncIterableIterator<DatabaseMetrics>> {
  const scope = allow(call.caller, 'databases:read')
  const { id } = await databaseRows.read(call.db, publicId, sql`${owned(scope)} and ${notDeleted}`)
  return measurements(call, id)
}

async function* measurements(
  { db, pubsub, signal }: Call & { signal?: AbortSignal },
  id: string,
): AsyncGenerator<DatabaseMetrics, void> {
  const ended = new AbortController()
  const over = signal ? AbortSignal.any([signal, ended.signal]) : ended.signal
  const notices = pubsub.subscribe(measuredTopic, id, over)
  const watch = (): void => publish(db, watchedTopic, id)
  const timer = setInterval(watch, limits.databaseWatchSeconds * 1000)
  try {
    watch()
    let last = await findLast(db, id)
    if (last) yield last
    for await (const _notice of notices) {
      const next = await findLast(db, id)
      if (!next || next.measuredAt === last?.measuredAt) continue
      last = next
      yield next
    }
  } finally {
    clearInterval(timer)
    ended.abort()
  }
}

async function findLast(db: Db, id: string): Promise<DatabaseMetrics | undefined> {
  return findOne<DatabaseMetrics>(db, sql`select * from database_metrics where database_id = ${id}`)
}

/** A node's databases that are awake and whose measurement is older than a minute. */
export async function findUnmeasured(db: Db, nodeId: string): Promise<Database[]> {
  return findAll<Database>(
    db,
    sql`
    select d.* from databases d join vms v on v.id = d.vm_id left join database_metrics m on m.database_id = d.id
    where v.node_id = ${nodeId} and v.status = 'running' and d.status = 'active'
      and (m.measured_at is null or m.measured_at < now() - ${limits.databaseMetricsSeconds} * interval '1 second')
      order by m.measured_at nulls first limit ${batchMax}`,
  )
}

/** A node's database that is awake and whose measurement is older than a watcher wants it. */
export async function findWatched(db: Db, nodeId: string, id: string): Promise<Database | undefined> {
  return findOne<Database>(
    db,
    sql`
    select d.* from databases d join vms v on v.id = d.vm_id left join database_metrics m on m.database_id = d.id
    where d.id = ${id} and v.node_id = ${nodeId} and v.status = 'running' and d.status = 'active'
      and (m.measured_at is null or m.measured_at < now() - ${limits.databaseWatchSeconds} * 0.8 * interval '1 second')`,
  )
}

/** Stores a measurement, and tells who watches. */
export async function storeMetrics(db: Db, databaseId: string, measured: Measured): Promise<void> {
  const { connections, sizeBytes, transactions, rolledBack, rowsRead, rowsWritten, blocksHit, blocksRead, deadlocks } =
    measured
  await transaction(db, async (tx) => {
    await change(
      tx,
      sql`
      insert into database_metrics (database_id, connections, size_bytes, transactions, rolled_back, rows_read, rows_written,
        blocks_hit, blocks_read, deadlocks)
      values (${databaseId}, ${connections}, ${sizeBytes}, ${transactions}, ${rolledBack}, ${rowsRead}, ${rowsWritten},
        ${blocksHit}, ${blocksRead}, ${deadlocks})
      on conflict (database_id) do update set connections = excluded.connections, size_bytes = excluded.size_bytes,
        transactions = excluded.transactions, rolled_back = excluded.rolled_back,
        rows_read = excluded.rows_read, rows_written = excluded.rows_written, blocks_hit = excluded.blocks_hit,
        blocks_read = excluded.blocks_read, deadlocks = excluded.deadlocks, measured_at = now()`,
    )
    publish(tx, measuredTopic, databaseId)
  })
}
