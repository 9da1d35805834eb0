/**
 * The tools of an agent's tool servers and connectors within a session: listed once in a turn, called with the
 * credentials of the session and its owner's connections.
 */
import type { McpCallAnswer } from '#src/drivers/mcp/connection.ts'
import { McpAnswerError } from '#src/drivers/mcp/faults.ts'
import type { McpTool } from '#src/drivers/mcp/tools.ts'
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import { noMasker, type Masker } from '#src/platform/masking.ts'
import { transaction } from '#src/platform/postgres.ts'
import { isAgentOf } from '#src/resources/agents/agents/rows.ts'
import { maskedValue } from '#src/platform/masking/values.ts'
import type { Session } from '#src/resources/agents/sessions/rows.ts'
import { askMcpServer, type McpOutcome } from '../mcp/servers.ts'
import { hasOtherMcpSessions, leaveMcpSessions } from '../mcp-tools/kept-sessions.ts'
import { listSourceTools, sourcesOf, type ToolSource } from '../mcp-tools/sources.ts'
import type { RefreshServices } from '../mcp/refreshing.ts'
import type { NewEvent } from '#src/resources/agents/sessions/log.ts'
import { errorEvent } from '#src/resources/agents/turns/step-events.ts'
import { mcpToolResult } from '../mcp-tools/results.ts'
import { failed, type ToolResult } from '#src/resources/agents/tools/results.ts'

/**
 * The tools by server name, and an event for each server that could not be reached. `askedFirst`: connectors whose calls
 * wait for the person, whatever the agent says.
 */
export type McpListing = {
  tools: ReadonlyMap<string, readonly McpTool[]>
  errors: NewEvent[]
  askedFirst: ReadonlySet<string>
}

/** The session whose servers and credentials are used. */
export type McpSession = Pick<
  Session,
  'id' | 'organizationId' | 'ownerUserId' | 'vaultIds' | 'agentId' | 'agentDefinition' | 'usedByVm'
>

const callMs = 120_000
/** The maximum number of cached listings, and of their characters as JSON; in memory they take a few times as much. */
const keptMax = 500
const keptCharactersMax = 32 * 1024 * 1024

/** Listings in this process, by session and turn; a process without one lists again. */
const listings = createBoundedMap<string, McpListing>({ entriesMax: keptMax, weightMax: keptCharactersMax })

/** The listing of this turn; undefined when the servers have to be asked, which may take 10 s. */
export function listedMcpTools(session: McpSession, turnId: string): McpListing | undefined {
  if (sourceNames(session).length === 0) return { tools: new Map(), errors: [], askedFirst: new Set() }
  return listings.get(keyOf(session, turnId))
}

/** Asks all of them in parallel. Their answers are used for the whole turn; errors are reported once, here. */
export async function listSessionTools(
  services: RefreshServices,
  session: McpSession,
  turnId: string,
  signal: AbortSignal,
): Promise<McpListing> {
  const tools = new Map<string, readonly McpTool[]>()
  const errors: NewEvent[] = []
  const sources = await sourcesIn(services, session)
  const urls = sources.map(({ url }) => url)
  if (await hasOtherMcpSessions(services.db, session.id, urls))
    await transaction(services.db, (tx) => leaveMcpSessions(tx, session.id, urls))
  await Promise.all(
    sources.map(async (source) => {
      const outcome = await listSourceTools(source, signal)
      if (outcome.status !== 'ok') return void errors.push(failure(outcome, source))
      tools.set(source.name, outcome.result.tools)
      const { leftOut } = outcome.result
      if (leftOut !== null) errors.push(connectionError(leftOut, 'exhausted', source))
    }),
  )
  const askedFirst = await askedFirstIn(services, session)
  signal.throwIfAborted()
  listings.set(keyOf(session, turnId), { tools, errors: [], askedFirst }, JSON.stringify([...tools]).length)
  return { tools, errors, askedFirst }
}

/** Calls a tool. A server that cannot be reached is an error of the call, and of the session. */
export async function callMcpTool(
  services: RefreshServices,
  session: McpSession,
  call: { serverName: string; name: string; input: Readonly<Record<string, unknown>> },
  signal: AbortSignal,
  masker: Masker = noMasker,
): Promise<{ result: ToolResult; errors: NewEvent[] }> {
  const source = (await sourcesIn(services, session)).find(({ name }) => name === call.serverName)
  if (!source) return { result: failed('The agent no longer has this tool server.'), errors: [] }
  const { url, bearer, missing, keeper } = source
  if (source.disabled.has(call.name)) return { result: failed('This tool is disabled.'), errors: [] }
  if (missing !== null) return { result: failed(missing.error), errors: [failure(missing, source)] }
  const asked = await askMcpServer(
    services,
    { url, bearer, limitMs: callMs, signal, ...(keeper ? { keeper } : {}) },
    async (connection) => {
      try {
        return await connection.callTool(call.name, call.input)
      } catch (error) {
        // It answered, so the tool ran: the model hears of it, and is not made to believe that nobody could be reached.
        if (error instanceof McpAnswerError) return { error: `${error.message} The call was made.` }
        throw error
      }
    },
  )
  signal.throwIfAborted()
  const outcome = await source.explained(asked)
  if (outcome.status === 'ok') return { result: await readResult(outcome.result, masker), errors: [] }
  return {
    result: failed(`${outcome.error} The call may have been made.`),
    errors: [failure(outcome, source)],
  }
}

/** Masked before it is truncated: a part of a secret would not be recognized. */
async function readResult(answer: McpCallAnswer, masker: Masker): Promise<ToolResult> {
  return 'error' in answer
    ? failed((await maskedValue(masker, answer.error, false)) as string) // of a text
    : mcpToolResult(await maskedValue(masker, answer.result, false))
}

/** The sources of a session's tools. A connection is a person's, so a VM's token, which others may hold, uses none. */
function sourcesIn(
  services: RefreshServices,
  { id: sessionId, agentDefinition, organizationId, ownerUserId: userId, vaultIds, usedByVm }: McpSession,
): Promise<ToolSource[]> {
  const { mcp_servers, mcp_services } = agentDefinition
  const definition = { mcp_servers, mcp_services: usedByVm ? [] : mcp_services }
  return sourcesOf(services, { sessionId, definition, organizationId, userId, vaultIds })
}

/**
 * The connectors of an agent that is not the person's own. Others may change such an agent, and nobody but the person
 * says what is done with their connection.
 */
async function askedFirstIn(
  { db }: RefreshServices,
  { agentId, agentDefinition: { mcp_servers, mcp_services }, ownerUserId }: McpSession,
): Promise<ReadonlySet<string>> {
  const connectors = mcp_services.map(({ id }) => id).filter((id) => !mcp_servers.some(({ name }) => name === id))
  if (connectors.length === 0 || agentId === null) return new Set()
  return new Set((await isAgentOf(db, agentId, ownerUserId)) ? [] : connectors)
}

/** Asking again helps with a server that did not answer; with one that wants to be connected somebody has to act. */
function failure({ status, error }: Exclude<McpOutcome<never>, { status: 'ok' }>, source: ToolSource): NewEvent {
  const isHopeless = status === 'auth_required' || source.missing !== null
  return connectionError(error, isHopeless ? 'exhausted' : 'retrying', source, status)
}

function connectionError(
  sentence: string,
  retry: 'retrying' | 'exhausted',
  { name }: ToolSource,
  status: 'auth_required' | 'unreachable' = 'unreachable',
): NewEvent {
  const type = status === 'auth_required' ? 'mcp_authentication_failed_error' : 'mcp_connection_failed_error'
  return errorEvent(type, sentence, retry, { mcp_server_name: name })
}

function sourceNames({ agentDefinition: { mcp_servers, mcp_services }, usedByVm }: McpSession): string[] {
  return [
    ...mcp_servers.map(({ url }) => url),
    ...(usedByVm ? [] : mcp_services.map(({ id, disabled_tools }) => `${id} ${disabled_tools.join(' ')}`)),
  ]
}

function keyOf(session: McpSession, turnId: string): string {
  return JSON.stringify([session.id, turnId, ...sourceNames(session)])
}
