/** What a model of the catalog is. */
import type { ReasoningLevel, ReasoningReplay, UpstreamKind, UpstreamTarget } from '#src/drivers/models/model.ts'

/** One way to a model. */
export type ModelUpstream = { kind: UpstreamKind; target: UpstreamTarget }

/** Prices in billionths of a US dollar for one token: 3,000 is 3 dollars for a million. Whole numbers, so that sums are exact. */
export type Pricing = {
  inputNanoUsd: number
  outputNanoUsd: number
  cacheReadNanoUsd: number
  cacheWriteNanoUsd: number
}

/** A model that this installation serves. */
export type Model = {
  /** `<provider>/<model>`. */
  id: string
  displayName: string
  ownedBy: string
  createdAt: string
  /** Tokens. */
  contextWindow: number
  maxOutputTokens: number
  /** What `reasoning_effort` may be; empty for a model that does not reason. */
  reasoningLevels: readonly ReasoningLevel[]
  defaultReasoningLevel: ReasoningLevel | null
  reasoningReplay: ReasoningReplay
  /** Whether a replayed block must carry the provider's id of it. */
  reasoningNeedsId: boolean
  capabilities: { tools: boolean; vision: boolean; pdf: boolean; structuredOutputs: boolean; streaming: boolean }
  pricing: Pricing
  speed: 'standard' | 'fast'
  status: 'available' | 'deprecated'
  /** When it was deprecated, and when it is to go; null where nobody said. */
  deprecatedAt: string | null
  retiresAt: string | null
  /** The line of models that it belongs to, such as `opus`; null for none. */
  line: string | null
  /** Where it is served, in the order in which they are tried. */
  upstreams: readonly [ModelUpstream, ...ModelUpstream[]]
}
