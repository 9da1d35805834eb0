/** The tools that an agent's tool servers offer right now (decisions.md §5, GET mcp-tools). */
import type { Client } from '@modelcontextprotocol/client'
import { withMcp } from '#src/drivers/mcp.ts'
import { OutboundError } from '#src/drivers/outbound.ts'
import { outboundFetch, type OutboundFetch } from '#src/drivers/outbound-fetch.ts'
import { allow, type Scope } from '#src/platform/access.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { findAll, sql } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import type { McpServer } from './agent-rows.ts'
import { readableAgent } from './agents.ts'
import { credentialFor, refreshBearer, type BearerCredential } from './credential-use.ts'

/** A tool as its server describes it; `inputSchema` is JSON Schema. */
export type McpTool = { name: string; description: string | null; inputSchema: unknown }

/** What one server answered. `error` is a sentence when the status is not `ok`. */
export type McpServerTools = { serverName: string; url: string; status: 'ok' | 'auth_required' | 'unreachable'; error: string | null; tools: McpTool[] }

const limitMs = limits.mcpDiscoverySeconds * 1000
const toolsMax = 1000 // ours: of one server
const vaultsMax = 50 // as a session may have

/** Asks every tool server of the agent at once, 10 s each. @throws BerthError not_found. */
export async function listMcpTools(call: Call, agentId: string): Promise<McpServerTools[]> {
  const scope = allow(call.caller, 'agent-tools:read')
  const { definition } = await readableAgent(call, agentId, 'agent-tools:read')
  return Promise.all(definition.mcp_servers.map((server) => askServer(call, scope, server)))
}

/** The caller's own credential for this address, from the newest of their vaults that has one; null when none has. */
async function bearerFor(call: Call, { organizationId, userId }: Scope, url: string): Promise<BearerCredential | null> {
  if (userId === null) return null
  const vaults = await findAll<{ id: string }>(call.db, sql`
    select id from vaults where organization_id = ${organizationId} and owner_user_id = ${userId} and archived_at is null order by id desc limit ${vaultsMax}`)
  return credentialFor(call, { organizationId, userId }, vaults.map(({ id }) => id), url)
}

async function askServer(call: Call, scope: Scope, { name, url }: McpServer): Promise<McpServerTools> {
  const signal = AbortSignal.timeout(limitMs)
  const noticed = noticing(outboundFetch(call.config))
  const ask = async (token: string | null): Promise<McpTool[]> => withMcp({ url, token, fetch: noticed.fetch, limitMs, signal }, (client) => readTools(client, signal))
  const answer = (status: McpServerTools['status'], error: string | null, tools: McpTool[]): McpServerTools => ({ serverName: name, url, status, error, tools })
  try {
    const bearer = await bearerFor(call, scope, url)
    try {
      return answer('ok', null, await ask(bearer?.token ?? null))
    } catch (error) {
      const newer = bearer && noticed.refused() ? await refreshBearer(call, bearer) : null
      if (!newer) throw error
      return answer('ok', null, await ask(newer.token))
    }
  } catch (error) {
    if (noticed.refused()) return answer('auth_required', 'The server wants a credential. Put one for its address into a vault.', [])
    log.debug({ reason: error instanceof Error ? error.message : String(error) }, 'a tool server could not be asked')
    return answer('unreachable', whyUnreachable(noticed.failure(), signal), [])
  }
}

/** All pages of the list: the client follows them, within its own bound. */
async function readTools(client: Client, signal: AbortSignal): Promise<McpTool[]> {
  const { tools } = await client.listTools(undefined, { timeout: limitMs, signal })
  return tools.slice(0, toolsMax).map(({ name, description, inputSchema }) => ({ name, description: description ?? null, inputSchema }))
}

type Noticed = { fetch: OutboundFetch; refused: () => boolean; failure: () => unknown }

/** The same fetch, remembering what the client's own errors do not tell: a refused credential, a connection that was not made. */
function noticing(fetch: OutboundFetch): Noticed {
  let refused = false
  let failure: unknown
  return {
    refused: () => refused,
    failure: () => failure,
    async fetch(url, init) {
      try {
        const response = await fetch(url, init)
        if (response.status === 401 || response.status === 403) refused = true
        return response
      } catch (error) {
        failure = error
        throw error
      }
    },
  }
}

/** Only sentences of ours: what a server says may hold anything. */
function whyUnreachable(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return `The server did not answer within ${limits.mcpDiscoverySeconds} s.`
  const outbound = outboundErrorIn(error)
  return outbound ? outbound.message : 'The server could not be reached, or does not speak the Model Context Protocol at this address.'
}

function outboundErrorIn(error: unknown): OutboundError | undefined {
  const deepest = 5
  let at = error
  for (let depth = 0; depth < deepest && at instanceof Error; depth++) {
    if (at instanceof OutboundError) return at
    at = at.cause
  }
  return undefined
}
