/** The states of an environment, and the only place that moves one: row, event and notice change together. */
import type { RawBuilder } from 'kysely'
import { encodeId } from '#src/platform/ids.ts'
import { change, sql, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import { emitWebhookEvent } from '#src/resources/infra/webhooks/emit.ts'
import { states, transition, type States } from '#src/platform/states.ts'
import type { Environment, EnvironmentStatus } from './rows.ts'

/** Where each status may go. An error is tried again, with a new VM, at the next use. */
const environmentStates: States<EnvironmentStatus> = states<EnvironmentStatus>('environments', 'environment', {
  ready: ['provisioning', 'archived'],
  provisioning: ['ready', 'error', 'archived'],
  error: ['provisioning', 'archived'],
  archived: [],
})

/** The notice that one environment fewer of an organization is starting; the id is the organization's. */
export const inFlightTopic = 'environments_in_flight'

/** Enqueues the preparation of its VM, which was created or has to be started. */
export async function beginPreparing(tx: Tx, id: string, vmId: string): Promise<void> {
  await moveEnvironment(tx, id, 'provisioning', null, sql`updated_at = now(), vm_id = ${vmId}`)
}

/** Marks it ready: its VM is running, prepared and in use from now. */
export async function becomeReady(tx: Tx, id: string): Promise<void> {
  await moveEnvironment(tx, id, 'ready', null, sql`updated_at = now(), used_at = now(), prepared_vm_id = vm_id`)
}

/** Detaches a deleted VM: the next use creates another one. */
export async function forgetVm(tx: Tx, id: string): Promise<void> {
  await change(
    tx,
    sql`update environments set vm_id = null, prepared_vm_id = null, updated_at = now() where id = ${id}`,
  )
}

/**
 * Moves an environment to another status if that move is allowed; undefined if it is not.
 * @param reason the sentence of an error; null clears it.
 */
export async function moveEnvironment(
  tx: Tx,
  id: string,
  to: EnvironmentStatus,
  reason: string | null = null,
  set: RawBuilder<unknown> = sql`updated_at = now()`,
): Promise<Environment | undefined> {
  const moved = await transition<Environment, EnvironmentStatus>(
    tx,
    environmentStates,
    id,
    to,
    sql`event_position = event_position + 1, status_reason = ${reason}, ${set}`,
  )
  if (!moved) return undefined
  await addEnvironmentEvent(tx, moved)
  if (to === 'archived') await notifyOfEnvironment(tx, moved, 'environment.archived')
  if (to !== 'provisioning') publish(tx, inFlightTopic, moved.organizationId)
  return moved
}

/** Tells webhook endpoints what happened to an environment; those of a single run belong to it. */
export async function notifyOfEnvironment(
  tx: Tx,
  { id, organizationId, ephemeral }: Pick<Environment, 'id' | 'organizationId' | 'ephemeral'>,
  type: `environment.${'created' | 'updated' | 'archived' | 'deleted'}`,
): Promise<void> {
  if (!ephemeral) await emitWebhookEvent(tx, organizationId, { type, id: encodeId('environment', id) })
}

/**
 * Records the environment's state as an event, and notifies subscribers. The row must be locked by this transaction.
 */
export async function addEnvironmentEvent(
  tx: Tx,
  { id, eventPosition, status, statusReason, vmId }: Environment,
): Promise<void> {
  await change(
    tx,
    sql`
      insert into environment_events (environment_id, position, status, status_reason, vm_id)
      values (${id}, ${eventPosition}, ${status}, ${statusReason}, ${vmId})`,
  )
  publish(tx, 'environment', id)
}
