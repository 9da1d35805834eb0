/**
 * OpenAI parameters that not every upstream supports: parsed, and refused by name when none of the model's upstreams
 * would honour them.
 */
import type { ModelRequest } from '#src/drivers/models/model.ts'
import { isUsualTier, knowsAll, knowsParameter } from '#src/drivers/models/known-parameters.ts'
import type { PassedParameter, SelectiveParameter } from '#src/drivers/models/parameters.ts'
import { BerthError } from '#src/platform/errors.ts'
import { computable } from '#src/platform/json/numbers.ts'
import { limits } from '#src/platform/limits.ts'
import type { Fields } from './message-shapes.ts'
import type { Model } from '#src/resources/llm/models/rows.ts'

/**
 * How a parameter is parsed: what is wrong with a value, or null; and whether a value is the default anyway, or only a
 * hint, so that upstreams need not support it.
 */
type Rule = { wrong: (value: unknown, body: Fields) => string | null; idle?: (value: unknown) => boolean }

const tiers: readonly unknown[] = ['auto', 'default', 'flex', 'scale', 'priority', 'fast']
const topLogprobsMax = 20
const biasMax = 100
const penaltyMax = 2

const always = (): boolean => true
const isText = (value: unknown): boolean => typeof value === 'string' && value.length <= limits.chatHintLength
const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isEmpty = (value: unknown): boolean => isObject(value) && Object.keys(value).length === 0
const isNumberUpTo = (most: number, value: unknown): boolean => typeof value === 'number' && Math.abs(value) <= most
const penalty: Rule = {
  wrong: (value) =>
    isNumberUpTo(penaltyMax, computable(value)) ? null : `must be a number from -${penaltyMax} to ${penaltyMax}.`,
  idle: (value) => value === 0,
}
/** Caching hints for the beginning of a conversation: they make answers cheaper, not different. */
const hint: Rule = {
  wrong: (value) => (isText(value) ? null : `must be a string of at most ${limits.chatHintLength} characters.`),
  idle: always,
}
const object: Rule['wrong'] = (value) => (isObject(value) ? null : 'must be an object.')

const rules: Readonly<Record<PassedParameter, Rule>> = {
  frequency_penalty: penalty,
  presence_penalty: penalty,
  logit_bias: { wrong: wrongBias, idle: isEmpty },
  logprobs: {
    wrong: (value) => (typeof value === 'boolean' ? null : 'must be true or false.'),
    idle: (value) => value === false,
  },
  top_logprobs: { wrong: wrongTopLogprobs, idle: (value) => value === 0 },
  metadata: {
    wrong: (value) =>
      isObject(value) && Object.values(value).every((one) => typeof one === 'string')
        ? null
        : 'must be an object whose values are strings.',
    idle: isEmpty,
  },
  service_tier: {
    wrong: (value) => (tiers.includes(value) ? null : `must be one of ${tiers.join(', ')}.`),
    idle: isUsualTier,
  },
  verbosity: {
    wrong: (value) =>
      value === 'low' || value === 'medium' || value === 'high' ? null : 'must be low, medium or high.',
    idle: (value) => value === 'medium',
  },
  prediction: { wrong: object, idle: always },
  prompt_cache_key: hint,
  prompt_cache_retention: hint,
  prompt_cache_options: { wrong: object, idle: always },
  safety_identifier: hint,
}

/** Parameters that the gateway does not support with any upstream, each with what to do instead. */
const refused: Readonly<Record<string, { harmless?: (value: unknown) => boolean; instead: string }>> = {
  audio: { instead: 'only text answers are supported. Leave it out.' },
  modalities: {
    harmless: (value) => Array.isArray(value) && value.length === 1 && value[0] === 'text',
    instead: 'only text answers are supported. Leave it out, or send ["text"].',
  },
  functions: { instead: 'it was replaced by tools. Send tools.' },
  function_call: { instead: 'it was replaced by tool_choice. Send tool_choice.' },
  moderation: { instead: 'moderation results are not passed on. Leave it out.' },
  web_search_options: { instead: 'web search is not built in; offer a tool of your own for it. Leave it out.' },
  store: {
    harmless: (value) => value === false,
    instead: 'conversations are not stored. Leave it out, or send false.',
  },
}

/** The parameters handled here; everything else in a body is handled elsewhere. */
const names: ReadonlySet<string> = new Set([...Object.keys(rules), ...Object.keys(refused)])

/**
 * Parses them from a body. Null means absent.
 * @throws BerthError invalid_parameter for a value; unsupported_parameter for one that is never supported.
 */
export function readSelective(body: Fields): Pick<ModelRequest, 'passed' | 'needed'> {
  let passed: Partial<Record<PassedParameter, unknown>> | undefined
  let needed: { name: SelectiveParameter; value: unknown }[] | undefined
  for (const name in body) {
    const value = body[name]
    if (value === null || value === undefined || !names.has(name)) continue
    const refusal = refused[name]
    if (refusal) {
      if (!refusal.harmless?.(value)) throw unsupported(name, refusal.instead)
      continue
    }
    const parameter = name as PassedParameter // one of the two tables has it
    const { wrong, idle } = rules[parameter]
    const problem = wrong(value, body)
    if (problem !== null) throw new BerthError('invalid_parameter', `${name} ${problem}`)
    passed = { ...passed, [parameter]: value }
    if (!idle?.(value)) (needed ??= []).push({ name: parameter, value })
  }
  return { ...(passed ? { passed } : {}), ...(needed ? { needed } : {}) }
}

/** What upstreams take of parameters that all of them know. */
const bounds: Readonly<Record<string, string>> = {
  temperature: '1 at most.',
}

/**
 * Refuses parameters that none of the model's upstreams supports; if some do, only those are tried.
 * @throws BerthError unsupported_parameter naming the first of them.
 */
export function checkUpstreams({ id, upstreams }: Model, request: Pick<ModelRequest, 'needed'>): void {
  if (request.needed === undefined || upstreams.some(({ kind }) => knowsAll(kind, request))) return
  const unknown = request.needed.find(
    ({ name, value }) => !upstreams.some(({ kind }) => knowsParameter(kind, name, value)),
  )
  const name = unknown?.name ?? request.needed.map((one) => one.name).join(' together with ')
  const bound = bounds[name]
  throw bound
    ? new BerthError(
        'unsupported_parameter',
        `${name} of this value is not supported: ${id} takes ${bound} Change it, or choose another model.`,
      )
    : unsupported(name, `no upstream of ${id} supports it. Leave it out, or choose another model.`)
}

/** The 400 for a parameter that would change the answer, and that no upstream would honour. */
export function unsupported(name: string, sentence: string): BerthError {
  return new BerthError('unsupported_parameter', `${name} is not supported: ${sentence}`)
}

function wrongBias(value: unknown): string | null {
  const isRight = (one: unknown): boolean => typeof one === 'number' && Math.abs(one) <= biasMax
  return isObject(value) && Object.keys(value).length <= limits.chatBiasMax && Object.values(value).every(isRight)
    ? null
    : `must be an object of at most ${limits.chatBiasMax} tokens, each with a number from -${biasMax} to ${biasMax}.`
}

function wrongTopLogprobs(value: unknown, body: Fields): string | null {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > topLogprobsMax)
    return `must be a whole number from 0 to ${topLogprobsMax}.`
  return body['logprobs'] === true || value === 0 ? null : 'requires logprobs: true.'
}
