/** Orders and usages for tests of requests to models. */
import type { Usage } from '#src/drivers/models/model.ts'
import type { InferenceOrder, Payer } from '#src/resources/llm/billing.ts'

/** One nano-USD for each token that goes in, ten for each that comes out. */
export const cheap = { inputNanoUsd: 1, outputNanoUsd: 10, cacheReadNanoUsd: 0, cacheWriteNanoUsd: 2 }
/** What costs nothing. */
export const free = { inputNanoUsd: 0, outputNanoUsd: 0, cacheReadNanoUsd: 0, cacheWriteNanoUsd: 0 }

/** An order of a request that may cost so much. */
export function order(payer: Payer, maxCostNanoUsd: number, rest: Partial<InferenceOrder> = {}): InferenceOrder {
  return {
    payer,
    model: 'test/model',
    pricing: maxCostNanoUsd === 0 ? free : cheap,
    route: 'chat.completions',
    maxCostNanoUsd,
    ...rest,
  }
}

/** So many tokens out: ten times as many nano-USD. */
export function output(outputTokens: number, rest: Partial<Usage> = {}): Usage {
  return { inputTokens: 0, outputTokens, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0, ...rest }
}
