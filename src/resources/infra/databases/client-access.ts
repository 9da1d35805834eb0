/** Client access: whether clients get in to a database with a JWT, or anonymously, or with its token alone. */
import { allow } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { sql, transaction, type Tx } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { changeAndTell } from './edges.ts'
import { enqueueReconcile } from './jobs.ts'
import { checkSqlDoor } from './orders.ts'
import { checkActive, lockDatabase, type Database } from './rows.ts'
import { moveDatabase } from './states.ts'

/** Longer than a change takes; a node then ends one whose process has died. */
const finishedAfterSeconds = 15

/**
 * Switches client access on or off; where it is so already, nothing changes. The answer comes once every process that
 * lets clients in has carried it out, so that after `off` no session with a JWT is left.
 * @throws BerthError not_found; client_access_unavailable when `POST /sql` is off; client_access_in_transition,
 * database_not_ready; internal_error when a process could not be told: then nothing is changed.
 */
export async function setClientAccess(call: Call, publicId: string, isOn: boolean): Promise<Database> {
  const scope = allow(call.caller, 'databases:write')
  const before = await transaction(call.db, (tx) => lockReady(tx, scope, publicId))
  if (isOn) checkSqlDoor(call.config)
  if (before.clientModeEnabled === isOn) return before
  const { database, isTold } = await changeAndTell(call, before.id, () =>
    transaction(call.db, async (tx) => {
      const { id, clientModeEnabled } = await lockReady(tx, scope, publicId)
      return clientModeEnabled === isOn ? before : beginChange(call, tx, id, isOn)
    }),
  )
  if (database.status !== 'updating') return database // another request was first
  if (isTold) return (await end(call, database.id, null)) ?? database
  await end(call, database.id, before.clientModeEnabled)
  throw new BerthError(
    'internal_error',
    'A process that lets clients in to databases did not answer, so client access is as it was. Try again in a minute.',
  )
}

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
    set: sql`client_mode_enabled = ${isOn}`,
    withoutJob: true,
  })
  if (!moved) throw new Error('a database that is locked could not be moved')
  await enqueueReconcile(call.jobs, tx, moved, { startAfterSeconds: finishedAfterSeconds })
  return moved
}

/** Ends the change; `back`: what client access is again, null when the change holds. */
async function end(call: Call, id: string, back: boolean | null): Promise<Database | undefined> {
  const set = back === null ? {} : { set: sql`client_mode_enabled = ${back}` }
  return moveDatabase(call.db, call, id, 'active', set, ['updating'])
}
