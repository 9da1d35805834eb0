/** The plain parameters of both chat routes besides the messages: numbers, texts, switches. */
import { reasoningLevels, type ModelRequest, type ReasoningLevel } from '#src/drivers/models/model.ts'
import { neededOf } from '#src/drivers/models/known-parameters.ts'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import type { Fields } from './message-shapes.ts'
import type { Model } from '#src/resources/llm/models/rows.ts'
import { checkUpstreams, readSelective } from './selective-parameters.ts'
import { computable } from '#src/platform/json/numbers.ts'

/** The 400 for an invalid parameter. The sentence begins with its name and quotes no value of the caller's. */
export function wrongParameter(name: string, sentence: string): BerthError {
  return new BerthError('invalid_parameter', `${name} ${sentence}`)
}

type Parameters = Pick<
  ModelRequest,
  'maxTokens' | 'temperature' | 'topP' | 'stop' | 'responseFormat' | 'seed' | 'user' | 'passed' | 'needed'
>

/**
 * Parses the parameters; null means absent, and parameters that OpenAI does not document are ignored.
 * @throws BerthError invalid_parameter; unsupported_parameter for one that none of the model's upstreams supports.
 */
export function readParameters(body: Fields, model: Model): Parameters {
  const n = body['n'] ?? 1
  if (n !== 1) throw wrongParameter('n', 'must be 1: each request gets one answer.')
  const { user = null } = body
  if (user !== null && typeof user !== 'string') throw wrongParameter('user', 'must be a string.')
  const parameters: Parameters = {
    maxTokens: readMaxTokens(body, model),
    temperature: numberFrom(body, 'temperature', 0, 2),
    topP: numberFrom(body, 'top_p', 0, 1),
    stop: readStop(body['stop']),
    responseFormat: readResponseFormat(body['response_format']),
    seed: integerFrom(body, 'seed', Number.MIN_SAFE_INTEGER),
    user,
    ...readSelective(body),
  }
  const needed = neededOf(parameters)
  if (!needed) return parameters
  checkUpstreams(model, { needed })
  return { ...parameters, needed }
}

/** The maximum length of the answer: the newer parameter takes precedence. It is capped at the model's maximum. */
function readMaxTokens(body: Fields, { maxOutputTokens }: Model): number | null {
  const older = integerFrom(body, 'max_tokens', 1)
  const asked = integerFrom(body, 'max_completion_tokens', 1) ?? older
  return asked === null ? null : Math.min(asked, maxOutputTokens)
}

/**
 * `reasoning_effort`, which requires streaming and must be one of the model's levels. `none` is also allowed for models
 * that do not reason and list no levels.
 * @throws BerthError invalid_parameter, reasoning_requires_streaming, reasoning_effort_unsupported.
 */
export function readReasoningEffort(value: unknown, model: Model, stream: boolean): ReasoningLevel | null {
  if (value === undefined || value === null) return null
  const level = reasoningLevels.find((one) => one === value)
  if (!level) throw wrongParameter('reasoning_effort', `must be one of ${reasoningLevels.join(', ')}.`)
  if (level !== 'none' && !stream)
    throw new BerthError(
      'reasoning_requires_streaming',
      'Reasoning requires a streamed answer. Send stream: true, leave reasoning_effort out, use POST /llm/v1/responses, or ask the operator for BERTH_CHAT_JOIN_STREAMS=on.',
    )
  if (model.reasoningLevels.includes(level)) return level
  if (level === 'none' && model.reasoningLevels.length === 0) return null
  const offered = model.reasoningLevels.length > 0 ? `offers ${model.reasoningLevels.join(', ')}` : 'does not reason'
  throw new BerthError('reasoning_effort_unsupported', `reasoning_effort cannot be ${level}: ${model.id} ${offered}.`)
}

/** `true`, `false`, or null when it is absent. @throws BerthError invalid_parameter. */
export function switchFrom(fields: Fields, name: string, shownName = name): boolean | null {
  const value = fields[name] ?? null
  if (value !== null && typeof value !== 'boolean') throw wrongParameter(shownName, 'must be true or false.')
  return value
}

function numberFrom(body: Fields, name: string, least: number, most: number): number | null {
  const value = computable(body[name] ?? null)
  if (value !== null && (typeof value !== 'number' || !(value >= least && value <= most)))
    throw wrongParameter(name, `must be a number from ${least} to ${most}.`)
  return value
}

/** A whole number from so much, or null when it is absent. @throws BerthError invalid_parameter. */
export function integerFrom(body: Fields, name: string, least: number): number | null {
  const value = computable(body[name] ?? null)
  if (value !== null && (typeof value !== 'number' || !Number.isSafeInteger(value) || value < least))
    throw wrongParameter(name, least < 0 ? 'must be a whole number.' : `must be a whole number from ${least}.`)
  return value
}

function readStop(value: unknown): readonly string[] {
  if (value === undefined || value === null) return []
  const stops: readonly unknown[] = Array.isArray(value) ? value : [value]
  const isRight = (stop: unknown): stop is string =>
    typeof stop === 'string' && stop !== '' && stop.length <= limits.chatStopLength
  if (stops.length > limits.chatStopsMax || !stops.every(isRight))
    throw wrongParameter(
      'stop',
      `must be a string of 1 to ${limits.chatStopLength} characters, or a list of at most ${limits.chatStopsMax}.`,
    )
  return stops
}

function readResponseFormat(value: unknown): ModelRequest['responseFormat'] {
  if (value === undefined || value === null) return null
  const format = typeof value === 'object' ? (value as Fields) : {} // every key is read as unknown
  if (format['type'] === 'text') return null // the default anyway
  if (format['type'] === 'json_object') return format
  if (format['type'] !== 'json_schema')
    throw wrongParameter('response_format.type', 'must be text, json_object or json_schema.')
  checkNamedSchema(format['json_schema'], 'response_format.json_schema')
  return format
}

function checkNamedSchema(named: unknown, place: string): void {
  if (!isObject(named)) throw wrongParameter(place, 'must be an object with a name and a schema.')
  const { name, schema = null, strict = null, description = null } = named
  if (typeof name !== 'string' || name === '') throw wrongParameter(`${place}.name`, 'is required: it is a string.')
  if (schema !== null && !isObject(schema))
    throw wrongParameter(`${place}.schema`, 'must be a JSON Schema, which is an object.')
  if (strict !== null && typeof strict !== 'boolean') throw wrongParameter(`${place}.strict`, 'must be true or false.')
  if (description !== null && typeof description !== 'string')
    throw wrongParameter(`${place}.description`, 'must be a string.')
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
