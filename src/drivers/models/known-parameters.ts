/**
 * Which upstreams support which of OpenAI's parameters. They are passed on in OpenAI's shape. A parameter that changes
 * the answer is never dropped: an upstream that does not support it is not used.
 */
import { upstreamKinds, type ModelRequest, type UpstreamKind } from './model.ts'
import { passedParameters, type PassedParameter, type PassedValues, type SelectiveParameter } from './parameters.ts'

type Knows = true | ((value: unknown) => boolean)

/** The highest temperature at Anthropic. */
const anthropicTemperatureMax = 1

/** The parameters of each wire format. A function checks the value if a format supports only some values. */
const known: Readonly<Record<UpstreamKind, Readonly<Partial<Record<SelectiveParameter, Knows>>>>> = {
  'openai-compatible': Object.fromEntries(
    [...passedParameters, 'seed', 'stop', 'temperature'].map((name) => [name, true]),
  ),
  openai: {
    temperature: true,
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
    temperature: (value) => typeof value === 'number' && value <= anthropicTemperatureMax,
    stop: true,
    metadata: (value) => isObject(value) && Object.keys(value).every((key) => key === 'user_id'),
    service_tier: isUsualTier,
    safety_identifier: true,
  },
  // Its answers are deterministic, so every seed is honoured; metadata and names do not change them.
  demo: {
    temperature: true,
    seed: true,
    stop: true,
    metadata: true,
    service_tier: isUsualTier,
    safety_identifier: true,
  },
}

/** Whether an upstream of this kind supports a parameter with this value. */
export function knowsParameter(kind: UpstreamKind, name: SelectiveParameter, value: unknown): boolean {
  const knows = known[kind][name] ?? false
  return typeof knows === 'function' ? knows(value) : knows
}

/**
 * The parameters with a field of their own whose value some upstream does not support; undefined if there are none.
 * @param needed those that are needed besides.
 */
export function neededOf({
  needed = [],
  seed,
  stop,
  temperature,
}: Pick<ModelRequest, 'needed' | 'seed' | 'stop' | 'temperature'>): ModelRequest['needed'] {
  const own = [
    { name: 'seed', value: seed },
    { name: 'stop', value: stop.length === 0 ? null : stop },
    { name: 'temperature', value: temperature },
  ] as const
  const all = [
    ...needed,
    ...own.filter(
      ({ name, value }) => value !== null && upstreamKinds.some((kind) => !knowsParameter(kind, name, value)),
    ),
  ]
  return all.length > 0 ? all : undefined
}

/** Whether an upstream of this kind supports everything that the request needs. */
export function knowsAll(kind: UpstreamKind, { needed, native }: Pick<ModelRequest, 'needed' | 'native'>): boolean {
  if (native && native.only !== null && native.kind !== kind) return false
  return needed === undefined || needed.every(({ name, value }) => knowsParameter(kind, name, value))
}

/** The values that an upstream of this kind supports; the others are defaults or hints. */
export function valuesFor(kind: UpstreamKind, passed: PassedValues | undefined): PassedValues | undefined {
  if (!passed) return undefined
  return Object.fromEntries(
    Object.entries(passed).filter(([name, value]) => knowsParameter(kind, name as PassedParameter, value)),
  ) // its keys are of this type
}

/** The service tiers that are the default. */
export function isUsualTier(value: unknown): boolean {
  return value === 'auto' || value === 'default'
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
