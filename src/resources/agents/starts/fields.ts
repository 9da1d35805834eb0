/** The agent that a deployment, a schedule or a trigger starts, as callers name it. */
import type { Scope } from '#src/platform/access.ts'
import type { Config } from '#src/platform/config.ts'
import { notFound } from '#src/platform/errors.ts'
import { findOne, sql, type Tx } from '#src/platform/postgres.ts'
import { exact } from '#src/platform/shapes.ts'
import { z } from 'zod'
import { readShape } from '#src/platform/shapes/fields.ts'
import { resolveAgent } from '#src/resources/agents/sessions/plans.ts'

const agentReference = exact({ type: z.literal('agent').nullish(), id: z.string(), version: z.int().min(1).nullish() })

/**
 * Reads which agent runs: an id, or `{id, version}`. It and the version must be there now.
 * @returns its stored id; version null for the newest. Of an agent that the organization shares it is the newest of now:
 * whoever changes it later must not decide what runs with the caller's vaults and memories.
 * @throws BerthError invalid_request, not_found, resource_archived.
 */
export async function readStartAgent(
  services: { config: Config },
  tx: Tx,
  scope: Scope,
  given: unknown,
): Promise<{ id: string; version: number | null }> {
  const named = readShape(agentReference, typeof given === 'string' ? { id: given } : given, 'agent')
  const { agentId, version } = await resolveAgent(services, tx, scope, named)
  if (agentId === null) throw notFound('agent')
  const shared = await findOne(tx, sql`select 1 from agents where id = ${agentId} and owner_user_id is null`)
  return { id: agentId, version: named.version ?? (shared ? version : null) }
}
