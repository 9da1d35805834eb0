/** What a request to a model costs, in whole billionths of a US dollar. */
import type { Usage } from '#src/drivers/models/model.ts'
import type { Pricing } from '#src/resources/llm/models/rows.ts'
import { withoutEnding } from '#src/platform/texts.ts'

/** Billionths in a US dollar. */
export const nanoUsdPerUsd = 1_000_000_000

/** No tokens. */
export const noUsage: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
}

/** Tokens of several requests together. */
export function addUsage(one: Usage, other: Usage): Usage {
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cacheReadTokens: one.cacheReadTokens + other.cacheReadTokens,
    cacheWriteTokens: one.cacheWriteTokens + other.cacheWriteTokens,
    reasoningTokens: one.reasoningTokens + other.reasoningTokens,
  }
}

/**
 * The cost of these tokens at these prices: cache reads and writes have their own prices, reasoning counts as output.
 */
export function costNanoUsd(pricing: Pricing, usage: Usage): number {
  const { inputTokens, cacheReadTokens, cacheWriteTokens } = usage
  const plainTokens = Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens)
  return (
    plainTokens * pricing.inputNanoUsd +
    cacheReadTokens * pricing.cacheReadNanoUsd +
    cacheWriteTokens * pricing.cacheWriteNanoUsd +
    usage.outputTokens * pricing.outputNanoUsd
  )
}

/** An amount in US dollars to display: `$25`, `$0.0003`. */
export function dollars(nanoUsd: number): string {
  const text = withoutEnding(withoutEnding(Math.abs(nanoUsd / nanoUsdPerUsd).toFixed(9), '0'), '.')
  return `${nanoUsd < 0 ? '-' : ''}$${text}`
}
