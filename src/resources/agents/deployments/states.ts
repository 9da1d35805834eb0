/** The states of a deployment, and the only place that moves one. */
import { encodeId } from '#src/platform/ids.ts'
import { findOne, sql, type Tx } from '#src/platform/postgres.ts'
import { states, transition, type States } from '#src/platform/states.ts'
import { emitWebhookEvent } from '#src/resources/infra/webhooks/emit.ts'
import type { WebhookEventType } from '#src/resources/infra/webhooks/event-types.ts'
import type { Deployment, DeploymentStatus, PausedReason } from './rows.ts'

const deploymentStates: States<DeploymentStatus> = states<DeploymentStatus>('deployments', 'deployment', {
  active: ['paused'],
  paused: ['active'],
})

/** Why one is paused that its owner paused. */
export const pausedByOwner: PausedReason = { type: 'manual' }

/** Pauses an active deployment that is not archived; undefined for any other. */
export async function pauseIfActive(tx: Tx, id: string, reason: PausedReason): Promise<Deployment | undefined> {
  const inUse = sql`select 1 from deployments where id = ${id} and archived_at is null for no key update` // archived ones are active too
  if (!(await findOne(tx, inUse))) return undefined
  const paused = await transition<Deployment, DeploymentStatus>(
    tx,
    deploymentStates,
    id,
    'paused',
    sql`paused_reason = ${JSON.stringify(reason)}::jsonb, updated_at = now()`,
  )
  if (paused) await notifyOfDeployment(tx, paused, 'deployment.paused')
  return paused
}

/** Tells webhook endpoints what happened to a deployment. */
export async function notifyOfDeployment(
  tx: Tx,
  { id, organizationId }: Pick<Deployment, 'id' | 'organizationId'>,
  type: Extract<WebhookEventType, `deployment.${string}`>,
): Promise<void> {
  await emitWebhookEvent(tx, organizationId, { type, id: encodeId('deployment', id) })
}

/** Lets a paused deployment start again; undefined for any other. */
export async function unpauseIfPaused(tx: Tx, id: string): Promise<Deployment | undefined> {
  return transition<Deployment, DeploymentStatus>(
    tx,
    deploymentStates,
    id,
    'active',
    sql`paused_reason = null, updated_at = now()`,
  )
}
