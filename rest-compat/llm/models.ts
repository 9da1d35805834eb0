/** `GET /v1/models`, which both the gateway and the agents service have. */
import type { Routes } from '../routes.ts'

const model = `id object type created created_at: createdAt owned_by: ownedBy display_name: displayName context_window: contextWindow max_input_tokens: maxInputTokens max_tokens: maxTokens
  reasoning_levels: reasoningLevels default_reasoning_level: defaultReasoningLevel reasoning_replay: reasoningReplay
  lifecycle deprecated_at: deprecatedAt retires_at: retiresAt line allowed_fallback_models: allowedFallbackModels capabilities: wireCapabilities pricing { input output cache_read: cacheRead cache_write: cacheWrite } status`

/** The list of models, and one of them as the OpenAI and Anthropic clients retrieve it. */
export const modelRoutes: Routes = {
  'GET /v1/models': {
    status: 200,
    errors: [400, 503],
    summary: 'The models that may be asked, with their reasoning levels, abilities and prices',
    queryNames: { lifecycle: 'lifecycle[]' },
    operation: `query ($lifecycle: [ModelLifecycle!], $limit: Int, $after_id: ID, $before_id: ID) { body: models(lifecycle: $lifecycle, limit: $limit, afterId: $after_id, beforeId: $before_id) { object data { ${model} } has_more: hasMore first_id: firstId last_id: lastId } }`,
  },
  // Ids have a slash, and not every client encodes it.
  'GET /v1/models/{provider}/{name}': {
    status: 200,
    errors: [404, 503],
    additive: true,
    summary: 'One model, its id not encoded',
    operation: `query ($provider: String!, $name: ID!) { body: model(provider: $provider, id: $name) { ${model} } }`,
  },
  'GET /v1/models/{model}': {
    status: 200,
    errors: [404, 503],
    additive: true,
    summary: 'One model',
    operation: `query ($model: ID!) { body: model(id: $model) { ${model} } }`,
  },
}
