/** The states of a database, and the only place that moves one: row, event, job and notice change together. */
import type { RawBuilder } from 'kysely'
import type { Jobs } from '#src/platform/jobs.ts'
import { limits } from '#src/platform/limits.ts'
import { change, findOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import { states, transition, type States } from '#src/platform/states.ts'
import { emitStatus, type NotifiedStatuses } from '#src/resources/infra/webhooks/emit.ts'
import { enqueueReconcile } from './jobs.ts'
import type { Database, DatabaseStatus } from './rows.ts'

/** Where each status may go. Every database may be deleted; a deleted one may come back as long as its data is kept. */
const databaseStates: States<DatabaseStatus> = states<DatabaseStatus>('databases', 'database', {
  creating: ['active', 'error', 'deleting'],
  active: ['updating', 'restoring', 'error', 'deleting'],
  updating: ['active', 'error', 'deleting'],
  restoring: ['active', 'error', 'deleting'],
  error: ['active', 'deleting'],
  deleting: ['deleted'],
  deleted: ['creating'],
})

/** The statuses that a worker leads to another one. */
const atWork: readonly DatabaseStatus[] = ['creating', 'updating', 'deleting']

/**
 * A status change of a database, and what else is stored with it.
 * @property reason more about the status, as a sentence.
 * @property set further assignments: sql`client_mode_enabled = true`.
 * @property folderId the disk of its data, once its VM has one.
 * @property withoutJob when the caller itself leads the database on, or enqueues a job for later.
 */
export type DatabaseMove = {
  reason?: string | null
  set?: RawBuilder<unknown>
  folderId?: string | null
  withoutJob?: boolean
}

/**
 * Moves a database to another status if that move is allowed, and tells its node when there is work.
 * @returns the changed database, or undefined when it is not allowed, because another change was first.
 */
export async function moveDatabase(
  db: Db,
  services: { jobs: Pick<Jobs, 'enqueue'> },
  id: string,
  to: DatabaseStatus,
  { reason = null, set, folderId, withoutJob = false }: DatabaseMove = {},
  from?: readonly DatabaseStatus[],
): Promise<Database | undefined> {
  return transaction(db, async (tx) => {
    const assignments = sql.join(
      [
        sql`status_reason = ${reason}, event_position = event_position + 1, updated_at = now()`,
        ...stamps(to),
        ...(set ? [set] : []),
        ...(folderId ? [sql`folder_id = ${folderId}`] : []),
      ],
      sql`, `,
    )
    const database = await transition<Database, DatabaseStatus>(tx, databaseStates, id, to, assignments, from)
    if (!database) return undefined
    await addDatabaseEvent(tx, database)
    await notifyOfDatabase(tx, database)
    if (atWork.includes(to) && !withoutJob) await enqueueReconcile(services.jobs, tx, database)
    return database
  })
}

const notified: NotifiedStatuses<DatabaseStatus> = {
  creating: 'database.created',
  active: 'database.active',
  error: 'database.error',
  deleted: 'database.deleted',
}

/** Tells webhook endpoints of the status that a database has come to. */
export async function notifyOfDatabase(
  tx: Tx,
  database: Pick<Database, 'id' | 'organizationId' | 'status'>,
): Promise<void> {
  await emitStatus(tx, notified, 'database', database)
}

/** The reason of a database, and of its VM, while its server reads what it had logged before it ended out of order. */
export const recoveryReason =
  'Its server did not end in order, and recovers what was committed. That takes the longer the more was written.'

/** The reason of a database that was to get another size, and for which there was no room. */
export const keptSizeReason =
  'There was no room for its new size, so it keeps the one that it had. Try again later, or ask your operator for more room.'

/** Says more about the status that a database is in, unless it has changed meanwhile. */
export async function explainDatabase(
  db: Db,
  { id, eventPosition }: Pick<Database, 'id' | 'eventPosition'>,
  reason: string | null,
): Promise<void> {
  await transaction(db, async (tx) => {
    const database = await findOne<Database>(
      tx,
      sql`
        update databases
        set status_reason = ${reason}, event_position = event_position + 1, updated_at = now()
        where id = ${id} and event_position = ${eventPosition}
        returning *`,
    )
    if (database) await addDatabaseEvent(tx, database)
  })
}

/** Makes a change of a locked, active database that is done with its row: it was `updating`, and is `active` again. */
export async function updateAtOnce(
  tx: Tx,
  services: { jobs: Pick<Jobs, 'enqueue'> },
  id: string,
  set: RawBuilder<unknown>,
): Promise<Database> {
  await moveDatabase(tx, services, id, 'updating', { set, withoutJob: true })
  const done = await moveDatabase(tx, services, id, 'active')
  if (!done) throw new Error('a database that is locked could not be moved')
  return done
}

/** Records the database's status as an event, and notifies subscribers. The row must be locked by this transaction. */
export async function addDatabaseEvent(
  tx: Tx,
  database: Pick<Database, 'id' | 'eventPosition' | 'status' | 'statusReason'>,
): Promise<void> {
  await change(
    tx,
    sql`
      insert into database_events (database_id, position, status, status_reason)
      values (${database.id}, ${database.eventPosition}, ${database.status}, ${database.statusReason})`,
  )
  await change(
    tx,
    sql`delete from database_events where database_id = ${database.id} and position <= ${database.eventPosition - limits.databaseEventsKept}`,
  )
  publish(tx, 'database', database.id)
}

function stamps(to: DatabaseStatus): RawBuilder<unknown>[] {
  switch (to) {
    case 'deleting':
      return [
        sql`deleted_at = now(), project_id = null, network_name = null, function_id = null, link_verifier = null, sealed_link = null`,
      ]
    case 'deleted':
      return [
        sql`folder_id = coalesce(folder_id, (select folder_id from vms where id = databases.vm_id)), vm_id = null`,
        sql`purge_after = deleted_at + ${limits.databaseKeptDays} * interval '1 day'`,
      ]
    case 'creating':
      return [sql`deleted_at = null, purge_after = null`]
    default:
      return []
  }
}
