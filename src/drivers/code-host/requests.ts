/** Requests to the code host: guarded, limited in time and size, and never with a token to another origin. */
import { fetch, type Agent } from 'undici'
import { nowMs } from '#src/platform/clock.ts'
import { BerthError } from '#src/platform/errors.ts'
import { JsonAnswerError, readAnswer } from '#src/platform/json/answers.ts'
import { codeHostLimits } from '#src/platform/limits/code-host.ts'
import { limits } from '#src/platform/limits.ts'
import { hostName } from '#src/drivers/compute/egress/policies.ts'
import { readBeginning } from '#src/drivers/outbound-fetch.ts'
import { createResolve, guardedAgent } from '#src/drivers/outbound.ts'

/** A request. `authorization` is the whole header. */
export type CodeHostRequest = {
  method: 'GET' | 'POST' | 'DELETE'
  url: string
  authorization: string | null
  body?: Readonly<Record<string, unknown>>
  limitMs?: number
}

/** An answer: its status, and its body, null where that is no JSON. `retryAfterSeconds`: when it refuses for now. */
export type CodeHostAnswer = { status: number; body: unknown; retryAfterSeconds: number | null }

const redirects: ReadonlySet<number> = new Set([301, 302, 307, 308])
const agents = new Map<string, Agent>()
const resolveAny = createResolve()

/**
 * Sends a request, and follows redirects within the origin, as GitHub sends them for renamed repositories.
 * @throws BerthError upstream_error when the code host is not reached or its answer is none; timeout.
 */
export async function askCodeHost(request: CodeHostRequest): Promise<CodeHostAnswer> {
  const signal = AbortSignal.timeout(request.limitMs ?? codeHostLimits.requestMs)
  let url = new URL(request.url)
  for (let redirected = 0; redirected <= codeHostLimits.redirectsMax; redirected++) {
    const { answer, location } = await send(url, request, signal)
    const next = location === null ? null : URL.parse(location, url)
    if (next === null) return answer
    if (next.origin !== url.origin || request.method !== 'GET')
      throw new BerthError('upstream_error', 'The code host sent this request elsewhere, which is not followed.')
    url = next
  }
  throw new BerthError('upstream_error', 'The code host redirects this request in a circle. Tell your operator.')
}

async function send(
  url: URL,
  { method, authorization, body }: CodeHostRequest,
  signal: AbortSignal,
): Promise<{ answer: CodeHostAnswer; location: string | null }> {
  try {
    const response = await fetch(url, {
      method,
      redirect: 'manual',
      signal,
      dispatcher: agentOf(url),
      headers: {
        accept: 'application/json',
        'user-agent': 'berth',
        'x-github-api-version': '2022-11-28',
        ...(authorization === null ? {} : { authorization }),
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const { text, truncated } = await readBeginning(response as unknown as Response, codeHostLimits.answerBytes) // the same by another name
    if (truncated) throw tooLong()
    const location = redirects.has(response.status) ? response.headers.get('location') : null
    const answer = { status: response.status, body: await readJson(text), retryAfterSeconds: pauseOf(response) }
    return { answer, location }
  } catch (error) {
    if (error instanceof BerthError) throw error
    if (signal.aborted)
      throw new BerthError('timeout', 'The code host did not answer in time. Try again in a few seconds.')
    throw new BerthError(
      'upstream_error',
      'The code host could not be reached, or broke off its answer. Try again; if it persists, tell your operator.',
    )
  }
}

/** A body, null where it is no JSON. @throws BerthError upstream_error for more values than are read. */
async function readJson(text: string): Promise<unknown> {
  try {
    return await readAnswer(Buffer.from(text), { parts: limits.jsonParts, numbers: limits.jsonNumbers })
  } catch (error) {
    if (!(error instanceof JsonAnswerError)) throw error
    if (error.reason === 'not_json') return null
    throw tooLong()
  }
}

function tooLong(): BerthError {
  return new BerthError('upstream_error', 'The code host answered with more than is read. Ask for fewer at once.')
}

/** The seconds until a request makes sense again; null for an answer that refuses nothing for being too many. */
function pauseOf({
  status,
  headers,
}: {
  status: number
  headers: { get(name: string): string | null }
}): number | null {
  if (status !== 403 && status !== 429) return null
  const after = Number(headers.get('retry-after') ?? Number.NaN)
  const resetSeconds = Number(headers.get('x-ratelimit-reset') ?? Number.NaN)
  const isUsedUp = headers.get('x-ratelimit-remaining') === '0'
  if (status !== 429 && !isUsedUp && Number.isNaN(after)) return null
  const seconds = Number.isFinite(after) ? after : isUsedUp ? resetSeconds - nowMs() / 1000 : 60
  return Math.min(Math.max(1, Math.ceil(Number.isFinite(seconds) ? seconds : 60)), codeHostLimits.retryAfterSecondsMax)
}

/** The operator has chosen this host, so its address may be private; no other may. A host of this machine has the name that VMs know it by. */
function agentOf({ origin, hostname, port, protocol }: URL): Agent {
  const known = agents.get(origin)
  if (known) return known
  const opened = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || (protocol === 'https:' ? 443 : 80) }
  const made = guardedAgent({
    connections: connectionsMax,
    isOpen: (host, port) => host.replace(/^\[|\]$/g, '') === opened.host && port === opened.port,
    resolve: (name, signal) => (name === hostName ? Promise.resolve(['127.0.0.1']) : resolveAny(name, signal)),
  })
  agents.set(origin, made) // one or two for a process: the settings name them
  return made
}

/** Open connections to the code host. */
const connectionsMax = 20
