/**
 * Requests to an agent's tool servers: with a credential, which is refreshed once when refused, and with readable
 * errors.
 */
import type { Client } from '@modelcontextprotocol/client'
import { readMcpAnswers } from '#src/drivers/mcp-answers.ts'
import { withMcp } from '#src/drivers/mcp.ts'
import { missingScopeOf } from '#src/drivers/mcp-sign-in/places.ts'
import { causesOf, OutboundError } from '#src/drivers/outbound.ts'
import { outboundFetch, type OutboundFetch } from '#src/drivers/outbound-fetch.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { createMasker } from '#src/platform/masking.ts'
import { isDatabaseAway } from '#src/platform/postgres.ts'
import { maskedValue } from '#src/resources/agents/sessions/masked-values.ts'
import type { RefreshServices } from '#src/resources/agents/mcp/refreshing.ts'

/** A tool as its server describes it; `inputSchema` is JSON Schema. */
export type McpTool = { name: string; description: string | null; inputSchema: unknown }

/** A token for a server. `renew` gets a newer one after the server refused it; null when there is none. */
export type Bearer = { token: string; renew: () => Promise<Bearer | null> }

/**
 * The outcome of a request to a server. `missingScope`: the scopes that it asks for and the token does not have. `error` is a sentence of ours, because a server's own message may contain
 * anything.
 */
export type McpOutcome<Result> =
  | { status: 'ok'; result: Result }
  | { status: 'auth_required'; error: string; missingScope: string | null }
  | { status: 'unreachable'; error: string }

/**
 * A request to a server. `bearer` finds the credential for it; `bytesMax` limits its whole answer, 16 MiB by default.
 */
export type McpOrder = {
  url: string
  bearer: () => Promise<Bearer | null>
  limitMs: number
  bytesMax?: number
  signal?: AbortSignal
}

const toolsMax = 1000 // of one server
const listMs = limits.mcpDiscoverySeconds * 1000

/**
 * Connects, does the work and disconnects, within `limitMs` in all.
 * @throws the database's error while it is unreachable.
 */
export async function askMcpServer<Result>(
  services: RefreshServices,
  { url, bearer, limitMs, bytesMax = limits.mcpAnswerBytes, signal }: McpOrder,
  work: (client: Client, signal: AbortSignal) => Promise<Result>,
): Promise<McpOutcome<Result>> {
  const late = AbortSignal.timeout(limitMs)
  const full = new AbortController()
  const over = AbortSignal.any([late, full.signal, ...(signal ? [signal] : [])])
  const tooMuch = (error: OutboundError): void => full.abort(error)
  const noticed = noticing(outboundFetch(services.config, { bytesMax, tooMuch }))
  const answers = readMcpAnswers(noticed.fetch, tooMuch)
  // A server may repeat the token that it received, in a description or in a result.
  const ask = async (token: string | null): Promise<Result> => {
    noticed.forget()
    return maskedValue(
      createMasker(token === null ? [] : [token]),
      answers.restore(
        await withMcp({ url, token, fetch: answers.fetch, limitMs, signal: over }, (client) => work(client, over)),
      ),
      false,
    ) as Promise<Result>
  }
  let credential: Bearer | null = null
  const ours: { fault?: Error } = {}
  try {
    credential = await bearer().catch((error: unknown) => {
      if (error instanceof Error && isDatabaseAway(error)) ours.fault = error
      throw error
    })
    try {
      return { status: 'ok', result: await ask(credential?.token ?? null) }
    } catch (error) {
      const newer = noticed.refused() && credential ? await credential.renew() : null
      if (!newer) throw error
      return { status: 'ok', result: await ask(newer.token) }
    }
  } catch {
    if (ours.fault) throw ours.fault // our own faults say nothing about the server
    const refusal = refusalOf(noticed, credential !== null)
    if (refusal) return refusal
    const why = whyUnreachable(full.signal.reason ?? noticed.failure(), late, limitMs)
    log.debug({ reason: why }, 'a tool server could not be asked') // not the server's message, which may contain what it was sent
    return { status: 'unreachable', error: why }
  }
}

/** Lists all tools of a server, within 10 s and 1 MiB; the client follows the pages, up to its own limit. */
export function listServerTools(
  services: RefreshServices,
  order: Omit<McpOrder, 'limitMs' | 'bytesMax'>,
): Promise<McpOutcome<McpTool[]>> {
  return askMcpServer(
    services,
    { ...order, limitMs: listMs, bytesMax: limits.mcpListingBytes },
    async (client, signal) => {
      const { tools } = await client.listTools(undefined, { timeout: listMs, signal })
      return tools
        .slice(0, toolsMax)
        .map(({ name, description, inputSchema }) => ({ name, description: description ?? null, inputSchema }))
    },
  )
}

/** What a server's 401 or 403 means. With a credential, a 403 that asks for no scope is about this request alone. */
function refusalOf(noticed: Noticed, hasCredential: boolean): Exclude<McpOutcome<never>, { status: 'ok' }> | null {
  const missingScope = hasCredential ? noticed.missingScope() : null
  if (!noticed.refused() && missingScope === null && noticed.forbidden())
    return hasCredential
      ? { status: 'unreachable', error: 'The server forbids this request (status 403).' }
      : needsCredential
  if (!noticed.refused() && missingScope === null) return null
  const error = 'The server refuses the credential that your vault has for its URL. Replace it with a new one.'
  return hasCredential ? { status: 'auth_required', missingScope, error } : needsCredential
}

const needsCredential = {
  status: 'auth_required',
  missingScope: null,
  error: 'The server requires a credential. Add one for its URL to a vault.',
} as const

/** `refused`: status 401, `forbidden`: 403. */
type Noticed = {
  fetch: OutboundFetch
  forget: () => void
  refused: () => boolean
  forbidden: () => boolean
  missingScope: () => string | null
  failure: () => unknown
}

/**
 * The same fetch, recording what the client's errors do not say: that the credential was refused, or that no connection
 * was made.
 */
function noticing(fetch: OutboundFetch): Noticed {
  let refused = false
  let forbidden = false
  let missingScope: string | null = null
  let failure: unknown
  return {
    forget() {
      refused = false
      forbidden = false
      missingScope = null
    },
    refused: () => refused,
    forbidden: () => forbidden,
    missingScope: () => missingScope,
    failure: () => failure,
    async fetch(url, init) {
      try {
        const response = await fetch(url, init)
        if (response.status === 401) refused = true
        if (response.status === 403) forbidden = true
        if (response.status === 403) missingScope = missingScopeOf(response) ?? missingScope
        return response
      } catch (error) {
        failure = error
        throw error
      }
    },
  }
}

function whyUnreachable(error: unknown, late: AbortSignal, limitMs: number): string {
  if (late.aborted) return `The server did not answer within ${limitMs / 1000} s.`
  const outbound = causesOf(error).find((cause) => cause instanceof OutboundError)
  return outbound
    ? outbound.message
    : 'The server could not be reached, or does not speak the Model Context Protocol at this address.'
}
