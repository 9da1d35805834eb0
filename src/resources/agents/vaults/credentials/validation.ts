/**
 * Validation of an mcp_oauth credential (`mcp_oauth_validate`): tested against its tool server, refreshed if that
 * refuses it, and tested again.
 */
import { type ParentId } from '#src/platform/nouns.ts'
import { allow } from '#src/platform/access.ts'
import { now, timestamp } from '#src/platform/clock.ts'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { createMasker } from '#src/platform/masking.ts'
import type { Call } from '#src/platform/services.ts'
import { withMcp } from '#src/drivers/mcp/connection.ts'
import type { HttpAnswer } from '#src/drivers/oauth-tokens.ts'
import { outboundFetch, readBeginning, type OutboundFetch } from '#src/drivers/outbound-fetch.ts'
import { openSecrets, readCredential, type Credential, type McpOauthAuth, type McpOauthSecrets } from './rows.ts'
import { refreshCredential, type RefreshOutcome } from './oauth-refresh.ts'
import { startOf } from '#src/platform/texts.ts'

/** A response as it is shown: truncated, and without secrets. */
export type CapturedAnswer = { statusCode: number; contentType: string; body: string; bodyTruncated: boolean }
/** The request that failed: none when all went well. */
export type McpProbe = { method: 'initialize' | 'tools/list'; httpResponse: CapturedAnswer | null }
/** The result of a validation. */
export type CredentialValidation = {
  credential: Credential
  status: 'valid' | 'invalid' | 'unknown'
  hasRefreshToken: boolean
  mcpProbe: McpProbe | null
  refresh: {
    status: 'succeeded' | 'failed' | 'connect_error' | 'no_refresh_token'
    httpResponse: CapturedAnswer | null
  } | null
  validatedAt: string
}

const probeLimitMs = 10_000
const bodyBytesRead = 64 * 1024
const bodyCharactersShown = 4096

/** Validates a credential. @throws BerthError not_found, resource_archived, invalid_request for one of another type. */
export async function validateCredential(call: Call, vaultId: ParentId, id: string): Promise<CredentialValidation> {
  const scope = allow(call.caller, 'vaults:write') // it may store new tokens
  const credential = await readCredential(call.db, scope, vaultId, id)
  if (credential.auth.type !== 'mcp_oauth')
    throw new BerthError(
      'invalid_request',
      `Only credentials of type mcp_oauth can be validated; this one is ${credential.auth.type}.`,
    )
  const secrets = openSecrets<McpOauthSecrets>(call.sealer, credential)
  if (!secrets)
    throw new BerthError(
      'resource_archived',
      'This credential is archived and its secrets are gone. Create another one.',
    )
  const { auth } = credential
  const found = (part: Pick<CredentialValidation, 'status' | 'mcpProbe' | 'refresh'>): CredentialValidation => ({
    ...part,
    credential,
    hasRefreshToken: secrets.refresh_token !== null,
    validatedAt: timestamp(now()),
  })
  const first = await probe(call, auth, secrets.access_token, secrets)
  if (first.verdict !== 'refused') return found({ status: first.verdict, mcpProbe: first.failure, refresh: null })
  const refreshed = await refreshCredential(call, credential.id, credential.tokenGeneration)
  const refresh = shownRefresh(refreshed)
  if (refreshed.status !== 'succeeded') return found({ status: verdictOf(refreshed), mcpProbe: first.failure, refresh })
  const second = await probe(
    call,
    auth,
    refreshed.accessToken,
    { ...secrets, access_token: refreshed.accessToken },
    secrets,
  )
  return found({ status: second.verdict === 'refused' ? 'invalid' : second.verdict, mcpProbe: second.failure, refresh })
}

type Probed = { verdict: 'valid' | 'refused' | 'invalid' | 'unknown'; failure: McpProbe | null }

/** Connects with this token and lists the tools. */
async function probe(call: Call, auth: McpOauthAuth, token: string, ...secrets: McpOauthSecrets[]): Promise<Probed> {
  let method: McpProbe['method'] = 'initialize'
  const capture = capturing(outboundFetch(call.config))
  try {
    await withMcp(
      {
        url: auth.mcp_server_url,
        token,
        fetch: capture.fetch,
        limitMs: probeLimitMs,
        bytesMax: limits.mcpListingBytes,
        signal: AbortSignal.timeout(2 * probeLimitMs),
      },
      async (connection) => {
        method = 'tools/list'
        await connection.listTools()
      },
    )
    return { verdict: 'valid', failure: null }
  } catch {
    // The response says more than the client's error.
    const answer = capture.lastFailure()
    return {
      verdict: verdictOfStatus(answer?.statusCode),
      failure: { method, httpResponse: answer && shownAnswer(answer, ...secrets) },
    }
  }
}

/** Only statuses about the credential count against it. */
function verdictOfStatus(statusCode: number | undefined): Probed['verdict'] {
  if (statusCode === 401) return 'refused'
  return statusCode === 403 ? 'invalid' : 'unknown'
}

/** A fetch that remembers the last answer that was an error. */
function capturing(fetch: OutboundFetch): { fetch: OutboundFetch; lastFailure: () => HttpAnswer | null } {
  let last: HttpAnswer | null = null
  return {
    lastFailure: () => last,
    async fetch(url, init) {
      const response = await fetch(url, init)
      if (init?.method !== 'POST') return response // a server may refuse its event stream, which is not a failure
      if (response.ok) {
        last = null
        return response
      }
      const { text, truncated } = await readBeginning(response, bodyBytesRead)
      last = {
        statusCode: response.status,
        contentType: response.headers.get('content-type') ?? '',
        body: text,
        truncated,
      }
      return new Response(text, { status: response.status, statusText: response.statusText, headers: response.headers })
    },
  }
}

function verdictOf(outcome: RefreshOutcome): 'invalid' | 'unknown' {
  if (outcome.status === 'no_refresh_token') return 'invalid'
  return outcome.status === 'failed' &&
    outcome.answer.statusCode >= 400 &&
    outcome.answer.statusCode < 500 &&
    outcome.answer.statusCode !== 429
    ? 'invalid'
    : 'unknown'
}

function shownRefresh(outcome: RefreshOutcome): CredentialValidation['refresh'] {
  if (outcome.status === 'gone') return null
  return {
    status: outcome.status,
    httpResponse: outcome.status === 'failed' ? shownAnswer(outcome.answer, outcome.sent.secrets) : null,
  }
}

/** The response without the secrets that it repeats, and without other texts that look like tokens. */
function shownAnswer(
  { statusCode, contentType, body, truncated }: HttpAnswer,
  ...secrets: McpOauthSecrets[]
): CapturedAnswer {
  const known = secrets.flatMap((one) => Object.values(one)).filter((secret) => secret !== null)
  const text = createMasker(known)
    .text(body)
    .replaceAll(
      /((?:access_token|refresh_token|id_token|client_secret|authorization)["']?\s*[:=]\s*["']?(?:bearer |basic )?)[^"'\s&,}<]+/gi,
      '$1***',
    )
    .replaceAll(/\b(bearer|basic) +[\w~+/.-]{8,}=*/gi, '$1 ***')
  return {
    statusCode,
    contentType,
    body: startOf(text, bodyCharactersShown),
    bodyTruncated: truncated || text.length > bodyCharactersShown,
  }
}
