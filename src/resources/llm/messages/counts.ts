/** How many tokens a request has before it is sent: counted by a provider that can, estimated for all others. */
import { requestTokens } from '#src/drivers/models/estimates.ts'
import { countTokens } from '#src/drivers/models/token-counts.ts'
import { inTurn, type Attempt } from '../chats/attempts.ts'
import type { ChatRequest } from '../chats/requests.ts'

/** A count; the upstream that counted, or undefined for an estimate, and the attempts until then. */
export type TokenCount = { inputTokens: number; upstream: string | undefined; attempts: readonly Attempt[] }

/**
 * Counts a request's input tokens. It costs nothing: nothing is generated, and the ledger has no row of it.
 * @throws BerthError what the upstreams said, after retries and fallbacks.
 */
export async function countRequest({ model, request }: ChatRequest, signal: AbortSignal): Promise<TokenCount> {
  const { native } = request
  const able = native ? model.upstreams.filter(({ kind }) => kind === native.kind) : []
  if (!native || able.length === 0) return { inputTokens: requestTokens(request), upstream: undefined, attempts: [] }
  const { answer, upstream, attempts } = await inTurn(
    able,
    ({ target }) => countTokens(target, native.body, signal),
    signal,
  )
  return { inputTokens: answer, upstream, attempts }
}
