/** The models of the catalog. */
import type { ReasoningLevel, ReasoningReplay, UpstreamKind, UpstreamTarget } from '#src/drivers/models/model.ts'

/** One way to a model. */
export type ModelUpstream = { kind: UpstreamKind; target: UpstreamTarget }

/**
 * Prices in billionths of a US dollar per token: 3,000 is 3 dollars per million tokens. Whole numbers, so that sums are
 * exact.
 */
export type Pricing = {
  inputNanoUsd: number
  outputNanoUsd: number
  cacheReadNanoUsd: number
  cacheWriteNanoUsd: number
}

/** What models are for: answering chats, or making embeddings, which are vectors of texts by which similar ones are found. */
export const modelKinds = ['chat', 'embeddings'] as const
export type ModelKind = (typeof modelKinds)[number]

/** A model that this installation serves. */
export type Model = {
  /** `<provider>/<model>`. */
  id: string
  kind: ModelKind
  displayName: string
  ownedBy: string
  createdAt: string
  /** Tokens; of a model for embeddings those of one text. */
  contextWindow: number
  /** 0 for a model for embeddings. */
  maxOutputTokens: number
  /** How many numbers its embeddings have; null for a model that chats. */
  dimensions: number | null
  /** Whether a request may want fewer numbers than that. */
  flexibleDimensions: boolean
  /** The possible values of `reasoning_effort`; empty for a model that does not reason. */
  reasoningLevels: readonly ReasoningLevel[]
  defaultReasoningLevel: ReasoningLevel | null
  reasoningReplay: ReasoningReplay
  /** Whether a replayed block must have the provider's id. */
  reasoningNeedsId: boolean
  capabilities: { tools: boolean; vision: boolean; pdf: boolean; structuredOutputs: boolean; streaming: boolean }
  pricing: Pricing
  speed: 'standard' | 'fast'
  status: 'available' | 'deprecated'
  /** When it was deprecated, and when it will be removed; null if not set. */
  deprecatedAt: string | null
  retiresAt: string | null
  /** The model family, such as `opus`; null for none. */
  line: string | null
  /** Its upstreams, in the order in which they are tried. */
  upstreams: readonly [ModelUpstream, ...ModelUpstream[]]
}
