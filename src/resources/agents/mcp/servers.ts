/**
 * Requests to an agent's tool servers: with a credential, which is refreshed once when refused, and with readable
 * errors.
 */
import { withMcp, type McpConnection, type McpSessionKeeper } from '#src/drivers/mcp/connection.ts'
import { McpAnswerError, McpServerError } from '#src/drivers/mcp/faults.ts'
import type { McpToolList } from '#src/drivers/mcp/tools.ts'
import { missingScopeOf } from '#src/drivers/mcp/sign-in/places.ts'
import { causesOf, OutboundError } from '#src/drivers/outbound.ts'
import { outboundFetch, type OutboundFetch } from '#src/drivers/outbound-fetch.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { createMasker } from '#src/platform/masking.ts'
import { isDatabaseAway } from '#src/platform/postgres.ts'
import { maskedValue } from '#src/platform/masking/values.ts'
import { newerOf, type NotRenewed, type RefreshServices, type Renewal } from '#src/resources/agents/mcp/refreshing.ts'

/** A token for a server. `of`: what it is a token of. `renew` gets a newer one after the server refused it. */
export type Bearer = { of: string; token: string; renew: () => Promise<Renewal<Bearer>> }

/**
 * The outcome of a request to a server. `missingScope`: the scopes that it asks for and the token does not have. `notRenewed`: why a
 * token that was refused may be renewed later. `error` is a sentence of ours, because a server's own message may contain
 * anything.
 */
export type McpOutcome<Result> =
  | { status: 'ok'; result: Result }
  | { status: 'auth_required'; error: string; missingScope: string | null; notRenewed?: NotRenewed }
  | { status: 'unreachable'; error: string }

/**
 * A request to a server. `bearer` finds the credential for it; `bytesMax` limits its whole answer, 16 MiB by default.
 * `keeper` says where the server's session is kept, for a token; without it the session ends with the request.
 */
export type McpOrder = {
  url: string
  bearer: () => Promise<Bearer | null>
  limitMs: number
  bytesMax?: number
  signal?: AbortSignal
  keeper?: (bearer: Bearer | null) => McpSessionKeeper
}

/** A failure of our own beside a request, such as of the database: it says nothing about the server. */
export class OwnFault extends Error {
  constructor(cause: unknown) {
    super('A failure of our own.', { cause })
    this.name = 'OwnFault'
  }
}

const listMs = limits.mcpDiscoverySeconds * 1000

/**
 * Connects, does the work and disconnects, within `limitMs` in all.
 * @throws the database's error while it is unreachable.
 */
export async function askMcpServer<Result>(
  services: RefreshServices,
  { url, bearer, limitMs, bytesMax = limits.mcpAnswerBytes, signal, keeper }: McpOrder,
  work: (connection: McpConnection) => Promise<Result>,
): Promise<McpOutcome<Result>> {
  const late = AbortSignal.timeout(limitMs)
  const over = signal ? AbortSignal.any([late, signal]) : late
  const noticed = noticing(outboundFetch(services.config))
  // A server may repeat the token that it received, in a description or in a result.
  const ask = async (given: Bearer | null): Promise<Result> => {
    noticed.forget()
    const target = {
      url,
      token: given?.token ?? null,
      fetch: noticed.fetch,
      limitMs,
      bytesMax,
      signal: over,
      ...(keeper ? { keeper: keeper(given) } : {}),
    }
    const result = await withMcp(target, work)
    return maskedValue(createMasker(given === null ? [] : [given.token]), result, false) as Promise<Result>
  }
  let credential: Bearer | null = null
  let notRenewed: NotRenewed | undefined
  const ours: { fault?: Error } = {}
  try {
    credential = await bearer().catch((error: unknown) => {
      if (error instanceof Error && isDatabaseAway(error)) ours.fault = error
      throw error
    })
    try {
      return { status: 'ok', result: await ask(credential) }
    } catch (error) {
      const renewal = noticed.refused() && credential ? await credential.renew() : null
      if (typeof renewal === 'string') notRenewed = renewal
      const newer = newerOf(renewal)
      if (!newer) throw error
      return { status: 'ok', result: await ask(newer) }
    }
  } catch (error) {
    if (ours.fault) throw ours.fault // our own faults say nothing about the server
    if (error instanceof OwnFault) throw error.cause
    const refusal = refusalOf(noticed, credential !== null)
    if (refusal?.status === 'auth_required' && notRenewed) return { ...refusal, notRenewed }
    if (refusal) return refusal
    const why = whyUnreachable(error, noticed.failure(), late, limitMs)
    log.debug({ reason: why }, 'a tool server could not be asked') // not the server's message, which may contain what it was sent
    return { status: 'unreachable', error: why }
  }
}

/** Lists all tools of a server, within 10 s and 1 MiB; the client follows the pages. */
export function listServerTools(
  services: RefreshServices,
  order: Omit<McpOrder, 'limitMs' | 'bytesMax'>,
): Promise<McpOutcome<McpToolList>> {
  return askMcpServer(services, { ...order, limitMs: listMs, bytesMax: limits.mcpListingBytes }, (connection) =>
    connection.listTools(),
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

function whyUnreachable(error: unknown, failure: unknown, late: AbortSignal, limitMs: number): string {
  if (late.aborted) return `The server did not answer within ${limitMs / 1000} s.`
  const known = [...causesOf(error), ...causesOf(failure)].find(
    (cause) => cause instanceof OutboundError || cause instanceof McpAnswerError,
  )
  if (known) return known.message
  return error instanceof McpServerError
    ? `The server answers with an error (code ${error.code}).`
    : 'The server could not be reached, or does not speak the Model Context Protocol at this address.'
}
