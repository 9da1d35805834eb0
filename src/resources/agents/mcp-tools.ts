/** The tools that an agent's tool servers offer now (`GET …/mcp-tools`). */
import { allow, type Scope } from '#src/platform/access.ts'
import { limits } from '#src/platform/limits.ts'
import { findAll, sql } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { readAgent, type McpServer } from './agents/rows.ts'
import { credentialFor, type BearerCredential } from './credentials/use.ts'
import { listServerTools, type McpTool } from './mcp/servers.ts'

/** The answer of one server. `error` is a sentence when the status is not `ok`. */
export type McpServerTools = {
  serverName: string
  url: string
  status: 'ok' | 'auth_required' | 'unreachable'
  error: string | null
  tools: McpTool[]
}

/** Asks all tool servers of the agent in parallel, with a time limit of 10 s each. @throws BerthError not_found. */
export async function listMcpTools(call: Call, agentId: string): Promise<McpServerTools[]> {
  const scope = allow(call.caller, 'agent-tools:read')
  const { definition } = await readAgent(call.db, scope, agentId)
  return Promise.all(definition.mcp_servers.map((server) => askServer(call, scope, server)))
}

/**
 * The caller's own credential for this URL, from the newest of their vaults that has one (of as many vaults as a
 * session may have); null when none has.
 */
async function bearerFor(
  call: Call,
  { organizationId, userId, vmId }: Scope,
  url: string,
): Promise<BearerCredential | null> {
  if (userId === null || vmId !== null) return null // the token inside a VM has no access to vaults
  const vaults = await findAll<Pick<Row<'vaults'>, 'id'>>(
    call.db,
    sql`
    select id from vaults where organization_id = ${organizationId} and owner_user_id = ${userId} and archived_at is null order by id desc limit ${limits.sessionVaultsMax}`,
  )
  return credentialFor(
    call,
    { organizationId, userId },
    vaults.map(({ id }) => id),
    url,
  )
}

async function askServer(call: Call, scope: Scope, { name, url }: McpServer): Promise<McpServerTools> {
  const outcome = await listServerTools(call, { url, bearer: () => bearerFor(call, scope, url) })
  const ok = outcome.status === 'ok'
  return {
    serverName: name,
    url,
    status: outcome.status,
    error: ok ? null : outcome.error,
    tools: ok ? outcome.result : [],
  }
}
