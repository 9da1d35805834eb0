/** Periodic checks of databases: those that stand between two statuses, and the data of those that were deleted long ago. */
import type { NodeUpkeep, Upkeep } from '#src/platform/jobs/upkeep.ts'
import { findAll, findOne, getOne, sql, transaction, type Db } from '#src/platform/postgres.ts'
import { limits } from '#src/platform/limits.ts'
import { sweep } from '#src/platform/jobs/sweeps.ts'
import type { Background } from '#src/platform/services.ts'
import { removeDataFolder } from '#src/resources/infra/folders.ts'
import { enqueueReconcile } from './jobs.ts'
import { forgetRoles } from './roles.ts'
import { lockDatabaseRow, type Database } from './rows.ts'

/** A database that leads to another status for this long gets a new job, in case its job was lost. */
const standstillSeconds = 20
const batchMax = 100

/** Enqueues a new job for a node's databases that stand between two statuses, or whose VM has failed. */
export async function requeueStalledDatabases(services: Background, nodeId: string): Promise<void> {
  await transaction(services.db, async (tx) => {
    const still = await findAll<Database>(
      tx,
      sql`
      update databases set updated_at = now() where id in (
        select d.id
        from databases d
        join vms v on v.id = d.vm_id
        where (d.status in ('creating', 'updating', 'deleting') or (d.status = 'active' and v.status in ('error', 'deleted')))
          and v.node_id = ${nodeId}
          and d.updated_at < now() - ${standstillSeconds} * interval '1 second' order by d.id limit ${batchMax} for no key update of d skip locked)
      returning *`,
    )
    for (const database of still) await enqueueReconcile(services.jobs, tx, database)
  })
}

/** Whether a database's newest event is older than a creation may take. */
export async function isOverdue(db: Db, { id }: Pick<Database, 'id'>): Promise<boolean> {
  const { overdue } = await getOne<{ overdue: boolean }>(
    db,
    sql`
    select created_at < now() - ${limits.databaseCreateSecondsMax} * interval '1 second' as overdue
    from database_events
    where database_id = ${id}
    order by position desc limit 1`,
  )
  return overdue
}

/** Removes the data and the secrets of databases that were deleted more than 7 days ago. */
export async function purgeDatabases(services: Background): Promise<void> {
  await sweep(
    'the data of a deleted database',
    (most, stuckIds) =>
      findAll<Database>(
        services.db,
        sql`select * from databases where purge_after < now() and id <> all(${stuckIds}::uuid[]) order by purge_after limit ${most}`,
      ),
    ({ id }) => transaction(services.db, (tx) => purge(services, tx, id)),
  )
}

async function purge(services: Background, tx: Parameters<typeof lockDatabaseRow>[0], id: string): Promise<void> {
  const database = await lockDatabaseRow(tx, id)
  const isDue = await findOne(tx, sql`select 1 from databases where id = ${id} and purge_after < now()`)
  if (!database || !isDue) return // somebody brought it back
  await getOne(
    tx,
    sql`
      update databases
      set folder_id = null, token_verifier = null, token_hash = null, sealed_logins = null, settings = '{}', purge_after = null
      where id = ${id}
      returning id`,
  )
  await forgetRoles(tx, id)
  if (database.folderId) await removeDataFolder(services, tx, database.folderId)
}

/** What workers do for all databases. */
export const databaseUpkeep: readonly Upkeep[] = [
  { every: '7 * * * *', doing: 'removing the data of deleted databases', work: purgeDatabases },
]

/** What a worker does for the databases of its node. */
export const databaseNodeUpkeep: readonly NodeUpkeep[] = [
  { every: 5, doing: 'requeueing stalled databases', work: requeueStalledDatabases },
]
