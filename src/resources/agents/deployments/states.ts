/** The states of a deployment, and the only place that moves one. */
import { sql, type Tx } from '#src/platform/postgres.ts'
import { states, transition, type States } from '#src/platform/states.ts'
import type { Deployment, DeploymentStatus, PausedReason } from './rows.ts'

const deploymentStates: States<DeploymentStatus> = states<DeploymentStatus>('deployments', 'deployment', {
  active: ['paused'],
  paused: ['active'],
})

/** Why one is paused that its owner paused. */
export const pausedByOwner: PausedReason = { type: 'manual' }

/** Pauses an active deployment that is not archived; undefined for any other. */
export async function pauseIfActive(tx: Tx, id: string, reason: PausedReason): Promise<Deployment | undefined> {
  return transition<Deployment, DeploymentStatus>(
    tx,
    deploymentStates,
    id,
    'paused',
    sql`paused_reason = ${JSON.stringify(reason)}::jsonb, updated_at = now()`,
  )
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
