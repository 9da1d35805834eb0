/** The agent that a deployment, a schedule or a trigger starts, as callers name it. */
import type { Scope } from '#src/platform/access.ts'
import type { Config } from '#src/platform/config.ts'
import { notFound } from '#src/platform/errors.ts'
import { findOne, sql, type Tx } from '#src/platform/postgres.ts'
import { resolveAgent, type AgentReference } from '#src/resources/agents/sessions/plans.ts'

/** The agent that starts, as callers name it. */
export type StartAgentInput = { agent?: AgentReference | null }

/**
 * Reads which agent runs. It and the version must be there now.
 * @returns its stored id; version null for the newest. Of an agent that the organization shares it is the newest of now:
 * whoever changes it later must not decide what runs with the caller's vaults and memories.
 * @throws BerthError invalid_request, not_found, resource_archived.
 */
export async function readStartAgent(
  services: { config: Config },
  tx: Tx,
  scope: Scope,
  given: StartAgentInput | null | undefined,
): Promise<{ id: string; version: number | null }> {
  const agent = given && given.agent
  const { agentId, version } = await resolveAgent(services, tx, scope, { agent })
  if (agentId === null) throw notFound('agent')
  const shared = await findOne(tx, sql`select 1 from agents where id = ${agentId} and owner_user_id is null`)
  return { id: agentId, version: agent?.version ?? (shared ? version : null) }
}
