/** The states of a function, and the only place that moves one: row, event and notice change together. */
import type { RawBuilder } from 'kysely'
import { functionLimits } from '#src/platform/limits/functions.ts'
import { change, findOne, sql, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import { states, transition, type States } from '#src/platform/states.ts'
import { functionTopic } from './jobs.ts'
import type { FunctionStatus, StoredFunction } from './rows.ts'

/** Where each status may go. One that runs starts again when another version, or other variables, take its place. */
const functionStates: States<FunctionStatus> = states<FunctionStatus>('functions', 'function', {
  stopped: ['starting', 'deleting'],
  starting: ['running', 'starting', 'stopped', 'error', 'deleting'],
  running: ['starting', 'stopping', 'stopped', 'error', 'deleting'],
  stopping: ['stopped', 'starting', 'error', 'deleting'],
  error: ['starting', 'stopped', 'deleting'],
  deleting: ['deleted'],
  deleted: [],
})

/** A status change, and what else is stored with it. `set`: sql`vm_id = null`. */
export type FunctionMove = { reason?: string | null; set?: RawBuilder<unknown> }

/**
 * Moves a function to another status if that move is allowed, in the caller's transaction.
 * @returns the changed function, or undefined when it is not allowed, because another change was first.
 */
export async function moveFunction(
  tx: Tx,
  id: string,
  to: FunctionStatus,
  { reason = null, set }: FunctionMove = {},
  from?: readonly FunctionStatus[],
): Promise<StoredFunction | undefined> {
  const assignments = sql.join(
    [
      sql`status_reason = ${reason}, event_position = event_position + 1, updated_at = now()`,
      ...(to === 'deleting' ? [sql`deleted_at = now()`] : []),
      ...(to === 'deleted' ? [sql`sealed_variables = null, version_id = null`] : []),
      ...(set ? [set] : []),
    ],
    sql`, `,
  )
  const moved = await transition<StoredFunction, FunctionStatus>(tx, functionStates, id, to, assignments, from)
  if (moved) await addFunctionEvent(tx, moved)
  return moved
}

/** Changes a locked function and keeps its status; an event says that something changed. */
export async function changeFunction(
  tx: Tx,
  id: string,
  set: RawBuilder<unknown>,
  reason?: string | null,
): Promise<StoredFunction> {
  const changed = await findOne<StoredFunction>(
    tx,
    sql`
    update functions set ${set}, ${reason === undefined ? sql`` : sql`status_reason = ${reason},`} event_position = event_position + 1, updated_at = now()
    where id = ${id} returning *`,
  )
  if (!changed) throw new Error('a function that is locked is gone')
  await addFunctionEvent(tx, changed)
  return changed
}

/** Adds an event to a locked function that says something about it; its status and the reason of that stay. */
export async function addFunctionNote(tx: Tx, id: string, sentence: string): Promise<StoredFunction> {
  const updated = await findOne<StoredFunction>(
    tx,
    sql`update functions set event_position = event_position + 1, updated_at = now() where id = ${id} returning *`,
  )
  if (!updated) throw new Error('a function that is locked is gone')
  await addFunctionEvent(tx, { ...updated, statusReason: sentence })
  return updated
}

/** Records the function's status as an event, and notifies subscribers. The row must be locked by this transaction. */
export async function addFunctionEvent(tx: Tx, one: StoredFunction): Promise<void> {
  await change(
    tx,
    sql`
    insert into function_events (function_id, position, status, status_reason, version_number)
    values (${one.id}, ${one.eventPosition}, ${one.status}, ${one.statusReason}, (select number from function_versions where id = ${one.versionId}::uuid))`,
  )
  await change(
    tx,
    sql`delete from function_events where function_id = ${one.id} and position <= ${one.eventPosition - functionLimits.eventsKept}`,
  )
  publish(tx, functionTopic, one.id)
}
