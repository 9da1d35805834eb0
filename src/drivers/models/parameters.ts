/** OpenAI parameters that not every upstream supports; known-parameters.ts says which do. */

/**
 * The parameters that are passed on unchanged, by OpenAI's names; `seed`, `stop`, `temperature`, `max_tokens` and `user` have fields of their own in
 * a request.
 */
export const passedParameters = [
  'frequency_penalty',
  'presence_penalty',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'metadata',
  'service_tier',
  'verbosity',
  'prediction',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'safety_identifier',
] as const
/** The name of a parameter that is passed on unchanged. */
export type PassedParameter = (typeof passedParameters)[number]

/** A parameter that only some upstreams support. */
export type SelectiveParameter = PassedParameter | 'seed' | 'stop' | 'temperature'

/** The values that are passed on, each checked for its type. */
export type PassedValues = Readonly<Partial<Record<PassedParameter, unknown>>>
