/** What an event starts: whether it does, with what, and what became of it. */
import type { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import type { Db, Tx } from '#src/platform/postgres.ts'
import type { Services } from '#src/platform/services.ts'
import { findDeploymentRow, startsNothing, type Deployment } from '#src/resources/agents/deployments/rows.ts'
import { startDeployment } from '#src/resources/agents/deployments/starting.ts'
import type { Kickoff } from '#src/resources/agents/kickoffs.ts'
import { mustWait, startAgent } from '#src/resources/agents/starts.ts'
import { kickoffOf } from './kickoff-text.ts'
import { whySkipped, type Mismatch } from './matching.ts'
import type { Routed } from './payloads.ts'
import type { FireError, SkipReason, Trigger, TriggerFire } from './rows.ts'

/**
 * What became of a fire: exactly one of these; with a session, what it was told.
 * @property mustWait why it could not start now, where it can soon.
 */
export type Outcome =
  | { sessionId: string; kickoff: Kickoff; skipReason?: never; error?: never }
  | { skipReason: SkipReason; sessionId?: never; error?: never }
  | { error: FireError; mustWait?: BerthError | null; sessionId?: never; skipReason?: never }

/** A trigger, locked in the transaction, and the event that came for it. */
type Held = { trigger: Trigger; fire: Pick<TriggerFire, 'event' | 'action' | 'repo' | 'delivery'> }

/**
 * Starts the session of an event in the caller's transaction, unless the trigger, its deployment or what they name
 * stand against it.
 * @param found which of its filters does, and whether the limits of a minute do.
 * @throws only faults of Berth itself.
 */
export async function startFire(
  services: Services,
  tx: Tx,
  { trigger, fire }: Held,
  delivery: { event: string; routed: Routed },
  { mismatch, isTooOften }: { mismatch: Mismatch; isTooOften: boolean },
): Promise<Outcome> {
  const deployment = await findTriggerDeployment(tx, trigger)
  const skipReason =
    whySkipped(trigger, startsNothing(deployment), delivery, services.config, mismatch) ??
    (isTooOften ? 'rate_limited' : null)
  if (skipReason !== null) return { skipReason }
  const kickoff = kickoffOf(fire, delivery.routed, deployment?.kickoff)
  const { organizationId, ownerUserId: userId } = trigger
  const agent = { id: trigger.agentId, version: trigger.agentVersion }
  const started = deployment
    ? await startDeployment(services, tx, deployment, {
        trigger: { type: 'trigger', trigger_id: encodeId('trigger', trigger.id), delivery_id: fire.delivery },
        agent,
        kickoff,
      })
    : await startAgent(services, tx, { organizationId, userId, agent, kickoff, source: 'trigger' })
  if (!started) throw new Error('a deployment with a locked trigger is gone')
  if (started.session) return { sessionId: started.session.id, kickoff }
  return { error: started.error, mustWait: mustWait(started) ? started.refusal : null }
}

/** The deployment that a trigger names. */
export async function findTriggerDeployment(db: Db, { deploymentId }: Trigger): Promise<Deployment | undefined> {
  return deploymentId === null ? undefined : findDeploymentRow(db, deploymentId)
}
