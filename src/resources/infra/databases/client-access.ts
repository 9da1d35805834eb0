/** Client access: whether clients get in to a database with a JWT, or anonymously, or with its token alone. */
import { allow, owned } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { findOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { changeAndNotify } from './edges.ts'
import { enqueueReconcile } from './jobs.ts'
import { checkSqlDoor } from './orders.ts'
import { checkActive, databaseRows, lockDatabase, lockDatabaseRow, notDeleted, type Database } from './rows.ts'
import { moveDatabase } from './states.ts'

/** Longer than a change takes; a node then ends one whose process has died. */
const finishedAfterSeconds = 15
/** The reason of the event with which a change begins, which tells it from changes that a node makes. */
const beginReason = 'Client access is being switched on or off.'

/**
 * Switches client access on or off; where it is so already, nothing changes. The answer comes once every process that
 * lets clients in has carried it out, so that after `off` no session with a JWT is left.
 * @throws BerthError not_found; client_access_unavailable when `POST /sql` is off; client_access_in_transition,
 * database_not_ready; internal_error when a process could not be told: then nothing is changed, or the message says so.
 */
export async function setClientAccess(call: Call, publicId: string, isOn: boolean): Promise<Database> {
  const scope = allow(call.caller, 'databases:write')
  const before = await transaction(call.db, (tx) => lockReady(tx, scope, publicId))
  if (isOn) checkSqlDoor(call.config)
  if (before.clientModeEnabled === isOn) return before
  const { database, isAcknowledged } = await changeAndNotify(call, before.id, () =>
    transaction(call.db, async (tx) => {
      const locked = await lockReady(tx, scope, publicId)
      return locked.clientModeEnabled === isOn ? locked : beginChange(call, tx, locked.id, isOn)
    }),
  )
  if (database.status !== 'updating') return database // another request was first
  const ended = await end(call, database, isAcknowledged ? isOn : before.clientModeEnabled)
  if (isAcknowledged) return ended ?? databaseRows.read(call.db, publicId, sql`${owned(scope)} and ${notDeleted}`)
  const outcome = ended ? 'so client access is as it was' : 'and the database was changed further meanwhile'
  throw new BerthError(
    'internal_error',
    `A process that lets clients in to databases did not answer, ${outcome}. Try again in a minute.`,
  )
}

/** Whether a database is `updating` for a change of client access that its request ends, and no node. */
export async function isEndedByRequest(db: Db, { id }: Pick<Database, 'id'>): Promise<boolean> {
  const begun = await findOne(
    db,
    sql`
    select 1 from database_events e where e.database_id = ${id} and e.status = 'updating' and e.status_reason = ${beginReason}
      and e.created_at > now() - ${finishedAfterSeconds} * interval '1 second' and ${isNewestChange}`,
  )
  return begun !== undefined
}
/** Since this event the database stayed `updating`; more may have been said about it. */
const isNewestChange = sql<boolean>`not exists (
  select from database_events later where later.database_id = e.database_id and later.position > e.position and later.status <> 'updating')`

async function lockReady(tx: Tx, scope: Parameters<typeof lockDatabase>[1], publicId: string): Promise<Database> {
  const database = await lockDatabase(tx, scope, publicId)
  if (database.status === 'updating')
    throw new BerthError(
      'client_access_in_transition',
      'The database is being changed. Wait until it is active, then try again.',
    )
  checkActive(database)
  return database
}

async function beginChange(call: Call, tx: Tx, id: string, isOn: boolean): Promise<Database> {
  const moved = await moveDatabase(tx, call, id, 'updating', {
    reason: beginReason,
    set: sql`client_mode_enabled = ${isOn}`,
    withoutJob: true,
  })
  if (!moved) throw new Error('a database that is locked could not be moved')
  await enqueueReconcile(call.jobs, tx, moved, { startAfterSeconds: finishedAfterSeconds })
  return moved
}

/** Ends this change, with client access on or off. @returns undefined when it was ended already, or the database deleted. */
async function end(call: Call, { id, eventPosition }: Database, isOn: boolean): Promise<Database | undefined> {
  return transaction(call.db, async (tx) => {
    await lockDatabaseRow(tx, id)
    const own = await findOne(
      tx,
      sql`select 1 from database_events e where e.database_id = ${id} and e.position = ${eventPosition} and ${isNewestChange}`,
    )
    if (!own) return undefined
    return moveDatabase(tx, call, id, 'active', { set: sql`client_mode_enabled = ${isOn}` }, ['updating'])
  })
}
