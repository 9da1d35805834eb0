/**
 * A completion: one request to a model, billed and recorded in the ledger. Every route goes through here (the two chat
 * routes, GraphQL, the steps of agents), so that money is counted in one place, and a stream that is cut off is settled
 * whatever its route.
 */
import { requestTokens } from '#src/drivers/models/estimates.ts'
import { endOf, WholeAnswer, type ModelAnswer, type ModelEvent, type ModelRequest } from '#src/drivers/models/model.ts'
import { UsageCount } from '#src/drivers/models/usage-count.ts'
import { nowMs } from '#src/platform/clock.ts'
import { encodeId } from '#src/platform/ids.ts'
import type { Background } from '#src/platform/services.ts'
import { askInTurn, type Answered, type Attempt } from '#src/resources/llm/chats/attempts.ts'
import { inferenceOf, type Metered, noUsage, type Payer, type RequestRoute } from '#src/resources/llm/billing.ts'
import type { Model } from '#src/resources/llm/models/rows.ts'

/** A request to a model: its payer, model and body, and the agent's session that made it, if any. */
export type CompletionOrder = {
  payer: Payer
  model: Model
  request: ModelRequest
  route: RequestRoute
  sessionId?: string
}

/** An answer that has begun. Its events end with `end` only after the ledger has the request. */
export type Completion = {
  /** `chatcmpl-` and 26 characters. */
  id: string
  createdSeconds: number
  model: Model
  /** The upstream that answers, and the attempts so far. */
  upstream: string
  attempts: readonly Attempt[]
  events: ModelAnswer
}

/**
 * Sends a request to a model. Nothing has been sent to the caller when this throws.
 * @param signal ends the request at the upstream; what was received by then is settled.
 * @throws BerthError 402 for a plan, credits or a budget; what the upstreams said after retries and fallbacks. Its
 * events throw BerthError when the upstream later cuts off the answer.
 */
export async function startCompletion(
  services: Background,
  order: CompletionOrder,
  signal: AbortSignal,
): Promise<Completion> {
  const { payer, model, request, route, sessionId = null } = order
  const opening = inferenceOf(services).open({
    payer,
    model: model.id,
    pricing: model.pricing,
    route,
    sessionId,
    maxCostNanoUsd: maxCost(model, request),
  })
  const metered = opening instanceof Promise ? await opening : opening
  let count: UsageCount | null = null // of a stream only: whole answers are counted when they are there
  let taker: string | null = null
  let begun: Answered<ModelAnswer>
  try {
    begun = await askInTurn(model, request, signal, (upstream, events) => {
      taker = upstream
      count ??= new UsageCount(request)
      for (const event of events) count.add(event)
      metered.progress(upstream, count.soFar)
    })
  } catch (error) {
    const counted = count as UsageCount | null // set in the callback
    if (!signal.aborted) await metered.finish('failed', null, noUsage)
    else await metered.finish('cut_by_client', taker, counted?.soFar() ?? noUsage) // the upstream that accepted the request reads it, and bills that
    throw error
  }
  const { answer, upstream } = begun
  if (answer instanceof WholeAnswer) await metered.finish('completed', upstream, endOf(answer.events).usage) // before it is sent
  return {
    id: encodeId('completion', metered.id).replace('_', '-'), // the same id as its row in the ledger; OpenAI writes ids with a hyphen
    createdSeconds: Math.floor(nowMs() / 1000),
    model,
    upstream,
    attempts: begun.attempts,
    events:
      answer instanceof WholeAnswer
        ? answer
        : settled(begun, request, metered, count ?? new UsageCount(request), signal),
  }
}

/** The maximum cost of the request: all of its input at the most expensive price, and the longest possible output. */
function maxCost({ pricing, maxOutputTokens }: Model, request: ModelRequest): number {
  const inputNanoUsd = Math.max(pricing.inputNanoUsd, pricing.cacheWriteNanoUsd)
  if (inputNanoUsd === 0 && pricing.outputNanoUsd === 0) return 0
  return (
    requestTokens(request) * inputNanoUsd +
    Math.min(request.maxTokens ?? maxOutputTokens, maxOutputTokens) * pricing.outputNanoUsd
  )
}

/** The events, counted as they pass; however the answer ends, the ledger is updated once. */
async function* settled(
  begun: Answered<ModelAnswer>,
  request: ModelRequest,
  metered: Metered,
  count: UsageCount,
  signal: AbortSignal,
): AsyncGenerator<readonly ModelEvent[]> {
  let outcome: 'completed' | 'cut_by_client' | 'cut_by_upstream' = 'cut_by_client' // the outcome when the reader just disconnects
  try {
    for await (const batch of begun.answer) {
      const last = batch.at(-1)
      if (last?.type !== 'end') {
        for (const event of batch) count.add(event)
        metered.progress(begun.upstream, count.soFar)
        yield batch
        continue
      }
      if (request.stream && batch.length > 1) yield batch.slice(0, -1) // sent without waiting for the ledger
      outcome = 'completed'
      await metered.finish(outcome, begun.upstream, last.usage)
      yield request.stream ? [last] : batch
      return
    }
    outcome = 'cut_by_upstream'
  } catch (error) {
    if (outcome !== 'completed') outcome = signal.aborted ? 'cut_by_client' : 'cut_by_upstream'
    throw error
  } finally {
    if (outcome !== 'completed') await metered.finish(outcome, begun.upstream, count.soFar())
  }
}
