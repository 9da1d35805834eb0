/** What starts an agent while nobody looks: deployments, schedules and triggers that name it. */
import { closedToVmTokens, type Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { findOne, sql, type Tx } from '#src/platform/postgres.ts'
import type { RawBuilder } from 'kysely'
import type { AgentDefinition } from './rows.ts'

/**
 * The lock under which an agent is changed. For a VM's token it is one that keeps whoever names the agent waiting, so
 * that none comes between the look at them and the change.
 */
export function changeLock({ vmId }: Scope): RawBuilder<unknown> {
  return vmId === null ? sql`for no key update` : sql`for update`
}

/**
 * Keeps a VM's token from changing what starts by itself later, with vaults that the token may not use.
 * @param agentId of an agent that is locked by `changeLock`.
 * @param which `newest`: whatever runs its newest version; `any`: also what has chosen a version.
 * @throws BerthError forbidden.
 */
export async function refuseStartersToVmTokens(
  tx: Tx,
  { vmId }: Scope,
  agentId: string,
  which: 'newest' | 'any',
): Promise<void> {
  if (vmId === null) return
  const named = sql`agent_id = ${agentId} and (${which === 'any'} or agent_version is null)`
  const starter = await findOne(
    tx,
    sql`
    select 1 from deployments where ${named} and archived_at is null
    union all select 1 from schedules where ${named}
    union all select 1 from triggers where ${named} limit 1`,
  )
  if (starter)
    throw new BerthError(
      'forbidden',
      `The token inside a VM may not change, archive or delete an agent that a deployment, a schedule or a trigger starts${which === 'newest' ? ' in its newest version' : ''}. Use your own token from outside the VM.`,
    )
}

/**
 * Keeps a VM's token from writing what an agent with connectors does: sessions that its person begins, or that ask it as
 * a peer, would use their connections so.
 * @throws BerthError forbidden.
 */
export function refuseConnectorsToVmTokens({ vmId }: Scope, { mcp_services: connectors }: AgentDefinition): void {
  if (vmId !== null && connectors.length > 0) throw closedToVmTokens('definitions of agents with connectors')
}

/** Whether somebody else has something that starts this agent. Its row must be locked for update. */
export async function hasOthersStarters(tx: Tx, { userId }: Scope, agentId: string): Promise<boolean> {
  const others = sql`agent_id = ${agentId} and owner_user_id is distinct from ${userId}`
  const starter = await findOne(
    tx,
    sql`
    select 1 from deployments where ${others} union all select 1 from schedules where ${others} union all select 1 from triggers where ${others} limit 1`,
  )
  return starter !== undefined
}

/** Whether an event of a repository, which was taken, is still to start this agent. Its row must be locked for update. */
export async function hasPendingFires(tx: Tx, agentId: string): Promise<boolean> {
  const pending = await findOne(
    tx,
    sql`select 1 from trigger_fires f join triggers t on t.id = f.trigger_id where t.agent_id = ${agentId} and f.status = 'pending' limit 1`,
  )
  return pending !== undefined
}
