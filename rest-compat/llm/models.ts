/** `GET /v1/models`, which both the gateway and the agents service have. */
import { limits } from '#src/platform/limits.ts'
import { pageInfo } from '../lists.ts'
import type { Routes } from '../routes.ts'

const support = '{ supported }'
const capabilities = `tools vision pdf streaming batch ${support} citations ${support} code_execution: codeExecution ${support} compaction ${support}
  context_management: contextManagement { supported clear_thinking_20251015: clearThinking20251015 ${support} clear_tool_uses_20250919: clearToolUses20250919 ${support} compact_20260112: compact20260112 ${support} }
  effort { supported low ${support} medium ${support} high ${support} xhigh ${support} max ${support} }
  image_input: imageInput ${support} pdf_input: pdfInput ${support} structured_outputs: structuredOutputs ${support}
  server_tools: serverTools { supported code_execution: codeExecution ${support} web_search: webSearch ${support} }
  thinking { supported types { adaptive ${support} between_tools: betweenTools ${support} disabled ${support} enabled ${support} } }`

const modelFragment = `fragment Model on Model { id object type kind created created_at: createdAt owned_by: ownedBy display_name: displayName
  context_window: contextWindow max_input_tokens: maxInputTokens max_tokens: maxOutputTokens
  dimensions flexible_dimensions: hasFlexibleDimensions
  reasoning_levels: reasoningLevels default_reasoning_level: defaultReasoningLevel reasoning_replay: reasoningReplay
  lifecycle deprecated_at: deprecatedAt retires_at: retiresAt line allowed_fallback_models: allowedFallbackModels
  capabilities: wireCapabilities { ${capabilities} }
  pricing { input: inputUsdPerMillion output: outputUsdPerMillion cache_read: cacheReadUsdPerMillion cache_write: cacheWriteUsdPerMillion } status }`

/** The list of models, and one of them as the OpenAI and Anthropic clients retrieve it. */
export const modelRoutes: Routes = {
  'GET /v1/models': {
    status: 200,
    errors: [400, 503],
    summary: 'The available models, with their reasoning levels, capabilities and prices',
    list: { shape: 'ids', most: limits.modelListMax, usual: limits.modelListMax },
    filter: { 'lifecycle[]': 'lifecycle', kind: 'kind' },
    operation: `query listModels ($first: Int, $after: String, $last: Int, $before: String, $filter: ModelFilter) {
      body: models(first: $first, after: $after, last: $last, before: $before, filter: $filter) { nodes { ...Model } ${pageInfo} } } ${modelFragment}`,
  },
  // Model ids contain a slash, which not every client encodes.
  'GET /v1/models/{provider}/{name}': {
    status: 200,
    errors: [404, 503],
    additive: true,
    summary: 'One model, by an id whose slash is not encoded',
    operation: `query getModelOfProvider ($provider: String!, $name: ID!) { body: model(provider: $provider, id: $name) { ...Model } } ${modelFragment}`,
  },
  'GET /v1/models/{model}': {
    status: 200,
    errors: [404, 503],
    additive: true,
    summary: 'One model',
    operation: `query getModel ($model: ID!) { body: model(id: $model) { ...Model } } ${modelFragment}`,
  },
}
