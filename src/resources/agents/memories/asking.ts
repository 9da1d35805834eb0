/** Asking a model for the vectors of memories, some of which it may not be able to read; and when to ask it again. */
import { charactersPerToken } from '#src/drivers/models/estimates.ts'
import { BerthError } from '#src/platform/errors.ts'
import { memoryLimits } from '#src/platform/limits/memories.ts'
import { log } from '#src/platform/log.ts'
import type { Background } from '#src/platform/services.ts'
import type { Payer } from '#src/resources/llm/billing.ts'
import { embed } from '#src/resources/llm/embeddings.ts'
import type { MemoryModel } from './model.ts'
import { startOf } from '#src/platform/texts.ts'

/** Texts, and who pays for their vectors. */
type Asked = { payer: Payer; texts: readonly string[] }

/** Errors of a request that is at fault itself; the same one would be refused again. */
const ofTexts: ReadonlySet<string> = new Set(['context_length_exceeded', 'invalid_parameter'])

/**
 * A vector for each text, in the same order; null for one that the model refuses while it reads others. A long text
 * counts by as much of its beginning as the model reads.
 * @throws BerthError as embed; the signal's reason.
 */
export async function vectorsOfTexts(
  services: Background,
  model: MemoryModel,
  { payer, texts }: Asked,
  signal: AbortSignal,
): Promise<(Float32Array | null)[]> {
  const lengthMax = model.model.contextWindow * charactersPerToken
  const limited = AbortSignal.any([signal, AbortSignal.timeout(memoryLimits.turnSeconds * 1000)])
  const state: Asking = { services, model, payer, signal: limited, requests: 0, isRead: false }
  try {
    const vectors = await inParts(
      state,
      texts.map((text) => startOf(text, lengthMax)),
    )
    if (!state.isRead && state.refusal) throw state.refusal // it may be the model that is wrong, and not the texts
    return vectors
  } catch (error) {
    if (!signal.aborted && limited.aborted)
      throw new BerthError('upstream_timeout', `${model.model.id} took too long for vectors of memories.`)
    throw error
  }
}

/** `isRead`: the model has made a vector. `refusal`: of the last text that was given up. */
type Asking = {
  services: Background
  model: MemoryModel
  payer: Payer
  signal: AbortSignal
  requests: number
  isRead: boolean
  refusal?: BerthError
}

/** Asks for all, and if that is refused for its halves, down to the text that is refused, which is then cut. */
async function inParts(state: Asking, inputs: readonly string[]): Promise<(Float32Array | null)[]> {
  const { services, payer, signal, model } = state
  try {
    state.requests += 1
    const { dimensions } = model
    const order = { payer, model: model.model, inputs, dimensions, user: null, route: 'memories' } as const
    const { vectors } = await embed(services, order, signal)
    state.isRead = true
    return [...vectors]
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof BerthError) || !ofTexts.has(error.code) || state.requests >= memoryLimits.requestsPerTurn)
      throw error
    const [only = ''] = inputs
    if (inputs.length > 1) {
      const half = Math.ceil(inputs.length / 2)
      return [...(await inParts(state, inputs.slice(0, half))), ...(await inParts(state, inputs.slice(half)))]
    }
    if (only.length > memoryLimits.unreadableLength) return inParts(state, [startOf(only, Math.ceil(only.length / 2))])
    state.refusal = error
    return [null]
  }
}

/**
 * How many seconds to wait after failures in a row: longer each time after one of the model, a fixed time after a
 * refusal that somebody must do something about.
 * @throws what is not a BerthError.
 */
export function whenToTryAgain(error: unknown, failures: number): number {
  if (!(error instanceof BerthError)) throw error
  log.debug({ reason: error.message }, 'vectors of memories are not made now; these are found by their words')
  const { retrySecondsFirst, retrySecondsMax, refusedSeconds } = memoryLimits
  if (error.status < 500 && error.code !== 'upstream_rate_limited' && !ofTexts.has(error.code)) return refusedSeconds
  const { retryAfterSeconds } = error.details
  const asked = typeof retryAfterSeconds === 'number' ? retryAfterSeconds : 0
  return Math.min(Math.max(retrySecondsFirst * 2 ** (failures - 1), asked), retrySecondsMax)
}
