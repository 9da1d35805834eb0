/** The tools that an agent's tool servers and connectors offer now (`GET …/mcp-tools`). */
import type { McpTool } from '#src/drivers/mcp/tools.ts'
import { allow, type Scope } from '#src/platform/access.ts'
import { limits } from '#src/platform/limits.ts'
import { findAll, sql } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { refuseWiderReach } from '#src/resources/infra/vms/reach.ts'
import { readAgent } from './agents/rows.ts'
import { listSourceTools, sourcesOf } from './mcp-tools/sources.ts'

/** The answer of one server. `error`: a sentence when the status is not `ok`, or about tools that were left out. */
export type McpServerTools = {
  serverName: string
  url: string
  status: 'ok' | 'auth_required' | 'unreachable'
  error: string | null
  tools: McpTool[]
}

/**
 * Asks all tool servers of the agent and its connectors in parallel, with a time limit of 10 s each. A server gets the
 * caller's own credential for its URL, from the newest of their vaults that has one (of as many vaults as a session may
 * have); a connector their connection.
 * @throws BerthError not_found; forbidden for the token inside a VM with a network policy.
 */
export async function listMcpTools(call: Call, agentId: string): Promise<McpServerTools[]> {
  const scope = allow(call.caller, 'agent-tools:read')
  await refuseWiderReach(call.db, scope)
  const { definition } = await readAgent(call.db, scope, agentId)
  const sources = await sourcesOf(call, {
    definition,
    organizationId: scope.organizationId,
    userId: scope.vmId === null ? scope.userId : null, // the token inside a VM has no access to vaults and connections
    vaultIds: await vaultsOf(call, scope),
  })
  return Promise.all(
    sources.map(async (source) => {
      const outcome = await listSourceTools(source)
      const ok = outcome.status === 'ok'
      return {
        serverName: source.name,
        url: source.url,
        status: outcome.status,
        error: ok ? outcome.result.leftOut : outcome.error,
        tools: ok ? outcome.result.tools : [],
      }
    }),
  )
}

async function vaultsOf(call: Call, { organizationId, userId, vmId }: Scope): Promise<string[]> {
  if (userId === null || vmId !== null) return []
  const vaults = await findAll<Pick<Row<'vaults'>, 'id'>>(
    call.db,
    sql`
    select id
    from vaults
    where organization_id = ${organizationId} and owner_user_id = ${userId} and archived_at is null
    order by id desc limit ${limits.sessionVaultsMax}`,
  )
  return vaults.map(({ id }) => id)
}
