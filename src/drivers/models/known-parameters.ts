/**
 * Which upstreams support which of OpenAI's parameters. They are passed on in OpenAI's shape. A parameter that changes the
 * answer is never dropped: an upstream that does not support it is not asked.
 */
import type { ModelRequest, UpstreamKind } from './model.ts'
import { passedParameters, type PassedParameter, type PassedValues, type SelectiveParameter } from './parameters.ts'

type Knows = true | ((value: unknown) => boolean)

/** What each wire format can say. A function looks at the value, where a format knows only some. */
const known: Readonly<Record<UpstreamKind, Readonly<Partial<Record<SelectiveParameter, Knows>>>>> = {
  'openai-compatible': Object.fromEntries([...passedParameters, 'seed', 'stop'].map((name) => [name, true])),
  openai: {
    logprobs: true,
    top_logprobs: true,
    metadata: true,
    service_tier: true,
    verbosity: true,
    prompt_cache_key: true,
    prompt_cache_options: true,
    prompt_cache_retention: true,
    safety_identifier: true,
  },
  anthropic: {
    stop: true,
    metadata: (value) => isObject(value) && Object.keys(value).every((key) => key === 'user_id'),
    service_tier: isUsualTier,
    safety_identifier: true,
  },
  // Its answers are the same for the same conversation, so every seed is honoured; notes and names change nothing of them.
  demo: { seed: true, stop: true, metadata: true, service_tier: isUsualTier, safety_identifier: true },
}

/** Whether an upstream of this kind knows a parameter with this value. */
export function knowsParameter(kind: UpstreamKind, name: SelectiveParameter, value: unknown): boolean {
  const knows = known[kind][name] ?? false
  return typeof knows === 'function' ? knows(value) : knows
}

/** Whether an upstream of this kind knows all that the request needs known. */
export function knowsAll(kind: UpstreamKind, { needed }: Pick<ModelRequest, 'needed'>): boolean {
  return needed === undefined || needed.every(({ name, value }) => knowsParameter(kind, name, value))
}

/** The values that an upstream of this kind knows; the others ask for what happens anyway, or are hints. */
export function valuesFor(kind: UpstreamKind, passed: PassedValues | undefined): PassedValues | undefined {
  if (!passed) return undefined
  return Object.fromEntries(
    Object.entries(passed).filter(([name, value]) => knowsParameter(kind, name as PassedParameter, value)),
  ) // its keys are of this type
}

/** The tiers that mean what happens anyway. */
export function isUsualTier(value: unknown): boolean {
  return value === 'auto' || value === 'default'
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
