/** Parameters of OpenAI's that not every upstream knows; known-parameters.ts says who does. */

/** What is passed on as it is, by OpenAI's names; `seed`, `stop` and `user` have places of their own in a request. */
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
/** One of them. */
export type PassedParameter = (typeof passedParameters)[number]

/** A parameter that only some upstreams know. */
export type SelectiveParameter = PassedParameter | 'seed' | 'stop'

/** The values that are passed on, each checked for its type. */
export type PassedValues = Readonly<Partial<Record<PassedParameter, unknown>>>
