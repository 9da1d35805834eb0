/**
 * The bodies of `POST /v1/messages` and `POST /v1/messages/count_tokens`, parsed into model requests. Every refusal
 * happens here, before anything is sent. Upstreams of Anthropic's format get the caller's own body.
 */
import { knowsAll, neededOf } from '#src/drivers/models/known-parameters.ts'
import type { Message, ModelRequest, NativeRequest } from '#src/drivers/models/model.ts'
import type { Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { messagesLimits } from '#src/platform/limits/messages.ts'
import type { Fields } from '../chats/message-shapes.ts'
import { switchFrom, wrongParameter } from '../chats/parameters.ts'
import { readBody, type ChatRequest } from '../chats/requests.ts'
import { checkUpstreams, unsupported } from '../chats/selective-parameters.ts'
import { readModel } from '../models/named.ts'
import type { Model } from '../models/rows.ts'
import { readConversation, readSystem } from './conversations.ts'
import { checkCacheControl, checkKeys, isAbsent, needsAnthropic, objectFrom, type Reading } from './shapes.ts'
import { readThinkingAndOutput } from './thinking.ts'
import { readTools } from './tools.ts'
import { computable } from '#src/platform/json/numbers.ts'

const sharedKeys = [
  'model',
  'messages',
  'system',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'cache_control',
] as const
const ownKeys = [
  'max_tokens',
  'stream',
  'metadata',
  'stop_sequences',
  'temperature',
  'top_p',
  'top_k',
  'service_tier',
] as const

/**
 * Fields of Anthropic's that no upstream is sent, each with what to do instead. Clients know what to do by themselves
 * where an `errorCode` tells them.
 */
const refused: Readonly<Record<string, { harmless?: unknown; instead: string; errorCode?: string }>> = {
  container: { instead: 'code is not run at a provider. Leave it out.' },
  context_management: { instead: 'shorten the conversation yourself. Leave it out.' },
  diagnostics: { instead: 'requests are not compared with each other. Leave it out.' },
  inference_geo: { instead: 'where a model runs is set by the operator of this installation. Leave it out.' },
  mcp_servers: { instead: 'the gateway calls no tools. Offer their tools in tools, and call them yourself.' },
  speed: { harmless: 'standard', instead: 'models have one price and one speed. Leave it out, or send standard.' },
  thread: {
    instead: 'conversations are not stored. Leave it out, and send all messages.',
    errorCode: 'thread_unsupported_request', // Anthropic's client then sends all messages by itself
  },
  user_profile_id: { instead: 'it belongs to an account at Anthropic. Leave it out, or send metadata.user_id.' },
  workspace_id: { instead: 'keys belong to one organization. Leave it out.' },
}
const refusals = Object.entries(refused)
const bodyKeys: ReadonlySet<string> = new Set([...sharedKeys, ...ownKeys, ...Object.keys(refused)])
const countKeys: ReadonlySet<string> = new Set([...sharedKeys, ...Object.keys(refused)])

/**
 * Reads the body of `POST /v1/messages`.
 * @param body JSON that parseJson or checkJson accepted.
 * @throws BerthError 400 with a code of the gateway.
 */
export function readMessagesRequest(config: Config, body: unknown): ChatRequest {
  const fields = readFields(body, bodyKeys)
  const reading = startReading(config, fields)
  const { model } = reading
  const maxTokens = Math.min(readMaxTokens(fields['max_tokens']), model.maxOutputTokens)
  const stop = readStops(reading, fields['stop_sequences'])
  const temperature = numberFrom(fields, 'temperature')
  const needed = neededOf({ seed: null, stop, temperature })
  const request: ModelRequest = {
    ...readShared(reading, fields, maxTokens),
    maxTokens,
    temperature,
    topP: numberFrom(fields, 'top_p'),
    stop,
    ...(needed ? { needed } : {}),
    user: readUser(fields),
    seed: null,
    stream: switchFrom(fields, 'stream') ?? false,
  }
  checkTier(fields['service_tier'])
  if (readTopK(fields['top_k']) !== null) needsAnthropic(reading, 'top_k')
  return finish(reading, { ...request, ...nativeOf(reading, fields, [...sharedKeys, ...ownKeys], request) })
}

/** Reads the body of `POST /v1/messages/count_tokens`. @throws BerthError 400 with a code of the gateway. */
export function readCountRequest(config: Config, body: unknown): ChatRequest {
  const fields = readFields(body, countKeys)
  const reading = startReading(config, fields)
  const request: ModelRequest = {
    ...readShared(reading, fields, null),
    maxTokens: null,
    temperature: null,
    topP: null,
    stop: [],
    user: null,
    seed: null,
    stream: false,
  }
  return finish(reading, { ...request, ...nativeOf(reading, fields, sharedKeys) })
}

function readFields(body: unknown, known: ReadonlySet<string>): Fields {
  const fields = readBody(body)
  for (const [name, { harmless, instead, errorCode }] of refusals) {
    const value = fields[name]
    if (isAbsent(value) || value === harmless) continue
    const { code, message, details } = unsupported(name, instead)
    throw new BerthError(code, message, { ...details, ...(errorCode === undefined ? {} : { errorCode }) })
  }
  checkKeys(fields, known, '')
  return fields
}

function startReading(config: Config, fields: Fields): Reading {
  const model = readModel(config, fields['model'], 'chat')
  return { config, model, only: null, hasForeignCalls: false, inputLengthLeft: messagesLimits.toolInputsLength }
}

function readShared(
  reading: Reading,
  fields: Fields,
  maxTokens: number | null,
): Pick<
  ModelRequest,
  'messages' | 'tools' | 'toolChoice' | 'parallelToolCalls' | 'reasoningEffort' | 'responseFormat'
> {
  checkCacheControl(fields, '')
  const { system } = fields
  const instructions: Message[] = isAbsent(system) ? [] : readSystem(reading, system, 'system')
  return {
    ...readTools(reading, fields),
    ...readThinkingAndOutput(reading, fields, maxTokens),
    messages: [...instructions, ...readConversation(reading, fields['messages'])],
  }
}

/** The caller's body for upstreams of its format; none without such an upstream, or when its ids must be rewritten. */
function nativeOf(
  { model, only, hasForeignCalls }: Reading,
  fields: Fields,
  names: readonly string[],
  request?: Pick<ModelRequest, 'maxTokens' | 'stream'>,
): { native?: NativeRequest } {
  if (only === null && (hasForeignCalls || !isAnthropics(model))) return {}
  const given = names.map((name) => [name, fields[name]] as const).filter(([, value]) => !isAbsent(value))
  const set = request ? { max_tokens: request.maxTokens, stream: request.stream } : {}
  return { native: { kind: 'anthropic', body: { ...Object.fromEntries(given), ...set }, only } }
}

/** The request, if one of the model's upstreams can do all of it. @throws BerthError unsupported_parameter. */
function finish({ model, only }: Reading, request: ModelRequest): ChatRequest {
  if (model.upstreams.some(({ kind }) => knowsAll(kind, request))) return { model, request }
  checkUpstreams(model, { needed: request.needed?.filter(({ name }) => name !== 'stop') })
  if (only === null || isAnthropics(model)) throw unsupportedBy(model, 'stop_sequences')
  throw unsupportedBy(model, only)
}

function isAnthropics({ upstreams }: Model): boolean {
  return upstreams.some(({ kind }) => kind === 'anthropic')
}

function unsupportedBy({ id }: Model, name: string): Error {
  return unsupported(name, `no upstream of ${id} supports it. Leave it out, or choose another model.`)
}

function readMaxTokens(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1)
    throw wrongParameter('max_tokens', 'is required: a whole number from 1.')
  return value
}

function numberFrom(fields: Fields, name: 'temperature' | 'top_p'): number | null {
  const value = computable(fields[name])
  if (isAbsent(value)) return null
  if (typeof value !== 'number' || !(value >= 0 && value <= 1))
    throw wrongParameter(name, 'must be a number from 0 to 1.')
  return value
}

function readTopK(value: unknown): number | null {
  if (isAbsent(value)) return null
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
    throw wrongParameter('top_k', 'must be a whole number from 0.')
  return value
}

function readStops(reading: Reading, value: unknown): ModelRequest['stop'] {
  if (isAbsent(value)) return []
  const most = messagesLimits.stopSequencesMax
  const isRight = (stop: unknown): stop is string =>
    typeof stop === 'string' && stop !== '' && stop.length <= limits.chatStopLength
  if (!Array.isArray(value) || value.length > most || !value.every(isRight))
    throw wrongParameter(
      'stop_sequences',
      `must be a list of at most ${most} strings, each of 1 to ${limits.chatStopLength} characters.`,
    )
  if (value.length > limits.chatStopsMax) needsAnthropic(reading, 'stop_sequences')
  return value
}

const metadataKeys: ReadonlySet<string> = new Set(['user_id'])

function readUser(fields: Fields): string | null {
  const metadata = objectFrom(fields, 'metadata')
  if (!metadata) return null
  checkKeys(metadata, metadataKeys, 'metadata')
  const { user_id: user = null } = metadata
  if (user !== null && typeof user !== 'string') throw wrongParameter('metadata.user_id', 'must be a string.')
  return user
}

/** Both tiers are what other upstreams do anyway. */
function checkTier(value: unknown): void {
  if (!isAbsent(value) && value !== 'auto' && value !== 'standard_only')
    throw wrongParameter('service_tier', 'must be auto or standard_only.')
}
