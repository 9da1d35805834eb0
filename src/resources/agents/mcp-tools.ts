/** The tools that an agent's tool servers offer right now (decisions.md §5, GET mcp-tools). */
import type { Client } from '@modelcontextprotocol/client'
import { withMcp } from '#src/drivers/mcp.ts'
import { OutboundError } from '#src/drivers/outbound.ts'
import { outboundFetch, type OutboundFetch } from '#src/drivers/outbound-fetch.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import type { Call } from '#src/platform/services.ts'
import type { McpServer } from './agent-rows.ts'
import { readableAgent } from './agents.ts'

/** A tool as its server describes it; `inputSchema` is JSON Schema. */
export type McpTool = { name: string; description: string | null; inputSchema: unknown }

/** What one server answered. `error` is a sentence when the status is not `ok`. */
export type McpServerTools = { serverName: string; url: string; status: 'ok' | 'auth_required' | 'unreachable'; error: string | null; tools: McpTool[] }

const limitMs = limits.mcpDiscoverySeconds * 1000
const toolsMax = 1000 // ours: of one server

/** Asks every tool server of the agent at once, 10 s each. @throws BerthError not_found. */
export async function listMcpTools(call: Call, agentId: string): Promise<McpServerTools[]> {
  const { definition } = await readableAgent(call, agentId, 'agent-tools:read')
  return Promise.all(definition.mcp_servers.map((server) => askServer(call, server)))
}

/**
 * The credential that is sent to a tool server, or null for none.
 * To come with vaults: the caller's own credential for this address.
 */
async function bearerFor(_call: Call, _url: string): Promise<string | null> {
  return null
}

async function askServer(call: Call, { name, url }: McpServer): Promise<McpServerTools> {
  const signal = AbortSignal.timeout(limitMs)
  const noticed = noticingRefusals(outboundFetch(call.config))
  const answer = (status: McpServerTools['status'], error: string | null, tools: McpTool[]): McpServerTools => ({ serverName: name, url, status, error, tools })
  try {
    const token = await bearerFor(call, url)
    return answer('ok', null, await withMcp({ url, token, fetch: noticed.fetch, limitMs, signal }, (client) => readTools(client, signal)))
  } catch (error) {
    if (noticed.refused()) return answer('auth_required', 'The server wants a credential. Put one for its address into a vault.', [])
    log.debug({ reason: error instanceof Error ? error.message : String(error) }, 'a tool server could not be asked')
    return answer('unreachable', whyUnreachable(error, signal), [])
  }
}

/** All pages of the list: the client follows them, within its own bound. */
async function readTools(client: Client, signal: AbortSignal): Promise<McpTool[]> {
  const { tools } = await client.listTools(undefined, { timeout: limitMs, signal })
  return tools.slice(0, toolsMax).map(({ name, description, inputSchema }) => ({ name, description: description ?? null, inputSchema }))
}

/** The same fetch, remembering whether the server asked for a credential or refused the one it got. */
function noticingRefusals(fetch: OutboundFetch): { fetch: OutboundFetch; refused: () => boolean } {
  let refused = false
  return {
    refused: () => refused,
    async fetch(url, init) {
      const response = await fetch(url, init)
      if (response.status === 401 || response.status === 403) refused = true
      return response
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
