/**
 * Embeddings of texts, billed and recorded in the ledger like chats. `POST /v1/embeddings` goes through here, and so do
 * other parts of Berth that compare texts by their meaning.
 */
import { askForEmbeddings, inputTokens } from '#src/drivers/models/embeddings.ts'
import type { EmbeddingInput, Usage } from '#src/drivers/models/model.ts'
import { embeddingLimits } from '#src/platform/limits/embeddings.ts'
import type { Background } from '#src/platform/services.ts'
import { inferenceOf, noUsage, type Metered, type Payer, type RequestRoute } from './billing.ts'
import { inTurn, type Attempt } from './chats/attempts.ts'
import type { Model } from './models/rows.ts'

/** A request for embeddings: its payer, a model for embeddings, and the agent's session that made it, if any. */
export type EmbeddingOrder = {
  payer: Payer
  model: Model
  /** 1 to `embeddingLimits.inputsMax`. */
  inputs: readonly EmbeddingInput[]
  /** How many numbers each vector has; null for the model's own number. */
  dimensions: number | null
  /** The caller's own name for their user, passed on. */
  user: string | null
  route: RequestRoute
  sessionId?: string
}

/** A vector for each input, in the same order. */
export type Embeddings = {
  vectors: readonly Float32Array[]
  inputTokens: number
  /** The upstream that answered, and the attempts until then. */
  upstream: string
  attempts: readonly Attempt[]
}

/**
 * Makes embeddings. What an upstream could not answer at once is asked for in parts, one after the other.
 * @param signal ends the request at the upstream; the parts that were answered by then are settled.
 * @throws BerthError 402 for a plan, credits or a budget; what the upstreams said after retries and fallbacks.
 */
export async function embed(services: Background, order: EmbeddingOrder, signal: AbortSignal): Promise<Embeddings> {
  const { payer, model, inputs, route, sessionId = null } = order
  const metered = await inferenceOf(services).open({
    payer,
    model: model.id,
    pricing: model.pricing,
    route,
    sessionId,
    maxCostNanoUsd: inputTokens(inputs) * model.pricing.inputNanoUsd,
  })
  const made: Made = { vectors: [], inputTokens: 0, upstream: null, attempts: [] }
  try {
    await makeAll(order, made, metered, signal)
  } catch (error) {
    const outcome = signal.aborted ? 'cut_by_client' : made.upstream === null ? 'failed' : 'cut_by_upstream'
    await metered.finish(outcome, made.upstream, usageOf(made))
    throw error
  }
  const { upstream } = made
  if (upstream === null) throw new Error('embeddings of nothing were requested')
  await metered.finish('completed', upstream, usageOf(made))
  return { ...made, upstream }
}

/** What there is so far. */
type Made = { vectors: Float32Array[]; inputTokens: number; upstream: string | null; attempts: Attempt[] }

async function makeAll(order: EmbeddingOrder, made: Made, metered: Metered, signal: AbortSignal): Promise<void> {
  const { model, inputs, user } = order
  const own = model.dimensions ?? 0 // a model for embeddings has them
  const dimensions = order.dimensions ?? own
  const request = { dimensions, isShortened: dimensions !== own, user }
  const inputsEach = Math.max(1, Math.floor(embeddingLimits.numbersPerAnswer / Math.max(own, dimensions)))
  for (let at = 0; at < inputs.length; at += inputsEach) {
    const part = inputs.slice(at, at + inputsEach)
    const { answer, upstream, attempts } = await inTurn(
      model.upstreams,
      ({ kind, target }) => askForEmbeddings(kind, target, { ...request, inputs: part }, signal),
      signal,
    )
    made.vectors.push(...answer.vectors)
    made.inputTokens += answer.inputTokens
    made.upstream = upstream
    made.attempts.push(...attempts)
    metered.progress(upstream, () => usageOf(made))
  }
}

function usageOf({ inputTokens: tokens }: Made): Usage {
  return { ...noUsage, inputTokens: tokens }
}
