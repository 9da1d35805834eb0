/**
 * The body of `POST /v1/responses`, in OpenAI's format, parsed into a model request. Every refusal happens here, before
 * anything is sent.
 */
import { reasoningSummaries, type ModelRequest } from '#src/drivers/models/model.ts'
import type { Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { isLargeJson } from '#src/platform/json/text.ts'
import type { Fields } from '../chats/message-shapes.ts'
import { integerFrom, readParameters, readReasoningEffort, switchFrom, wrongParameter } from '../chats/parameters.ts'
import { unsupported } from '../chats/selective-parameters.ts'
import { readModel } from '../models/named.ts'
import type { Model } from '../models/rows.ts'
import { readInput } from './items.ts'
import { responseLimits } from './limits.ts'
import { readMetadata, readText, type TextSettings } from './settings.ts'
import { entriesAt, objectAt, refuseUnknown } from './shapes.ts'
import { readFunctions } from './tools.ts'

/** A parsed body: the request, and what the answer repeats of it. */
export type ResponseBody = { model: Model; request: ModelRequest; repeated: Repeated }

/** What an answer repeats of its request. */
export type Repeated = {
  instructions: string | null
  maxOutputTokens: number | null
  maxToolCalls: number | null
  metadata: Readonly<Record<string, string>>
  parallelToolCalls: boolean
  reasoning: { effort: ModelRequest['reasoningEffort']; summary: string | null }
  text: TextSettings
  tools: ModelRequest['tools']
  toolChoice: unknown
  /** Those that are not checked here are as they were sent. */
  fields: Fields
}

/** Fields that this path reads itself, or hands on as a chat's. */
const read = [
  'model',
  'input',
  'instructions',
  'stream',
  'stream_options',
  'store',
  'include',
  'max_output_tokens',
  'max_tool_calls',
  'metadata',
  'parallel_tool_calls',
  'reasoning',
  'text',
  'tools',
  'tool_choice',
  'truncation',
  'background',
] as const
/** Fields that mean the same in a chat. */
const ofChats = [
  'temperature',
  'top_p',
  'top_logprobs',
  'user',
  'service_tier',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'safety_identifier',
] as const
const nothingStored = 'nothing is stored here. Send the whole conversation in input'
/** Fields of OpenAI's that cannot be honoured, each with what to do instead. */
const refused: Readonly<Record<string, string>> = {
  previous_response_id: `${nothingStored}, with the output items of earlier responses.`,
  conversation: `${nothingStored}.`,
  prompt: 'prompts are not stored here. Send instructions and input.',
  context_management: 'conversations are never shortened here. Leave it out.',
  moderation: 'moderation results are not passed on. Leave it out.',
  image: 'only text answers are supported. Leave it out.',
  access_programs: 'there are none here. Leave it out.',
}
const refusals = Object.entries(refused)
const known: ReadonlySet<string> = new Set([...read, ...ofChats, ...Object.keys(refused)])

/**
 * Reads the body. Null means absent.
 * @param body JSON that parseJson or checkJson accepted.
 * @throws BerthError 400 with a code of the gateway.
 */
export function readResponseBody(config: Config, body: unknown): ResponseBody {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new BerthError('invalid_parameter', 'The body must be a JSON object with model and input.')
  refuseUnknown(body, known, '')
  const fields = body as Fields // every key is read as unknown
  for (const [name, instead] of refusals)
    if (fields[name] !== undefined && fields[name] !== null) throw unsupported(name, instead)
  const model = readModel(config, fields['model'], 'chat')
  refuseStates(fields)
  const stream = switchFrom(fields, 'stream') ?? false
  refuseObfuscation(fields['stream_options'])
  const instructions = fields['instructions'] ?? null
  if (instructions !== null && typeof instructions !== 'string')
    throw wrongParameter('instructions', 'must be a string.')
  const maxOutputTokens = integerFrom(fields, 'max_output_tokens', 1)
  const reasoning = readReasoning(fields['reasoning'], model)
  const text = readText(fields['text'])
  const functions = readFunctions(fields, model)
  const parameters = readParameters(chatFields(fields, text, maxOutputTokens), model)
  const messages = readInput({ config, model }, fields['input'], instructions)
  refuseLarge({ instructions, tools: functions.listed, text })
  const { effort, summary } = reasoning
  const request = {
    messages,
    ...functions.request,
    reasoningEffort: effort,
    ...(summary === null ? {} : { reasoningSummary: summary }),
    ...parameters,
    stream,
  }
  const repeated = {
    instructions,
    maxOutputTokens,
    maxToolCalls: integerFrom(fields, 'max_tool_calls', 0), // of built-in tools, of which there are none
    metadata: readMetadata(fields['metadata']),
    parallelToolCalls: switchFrom(fields, 'parallel_tool_calls') ?? true,
    reasoning: { effort: effort ?? model.defaultReasoningLevel, summary },
    text,
    tools: functions.listed,
    toolChoice: fields['tool_choice'] ?? 'auto',
    fields,
  }
  return { model, request, repeated }
}

/** What an answer repeats is written several times, so it may not be as long as a conversation. */
function refuseLarge(repeated: object): void {
  if (isLargeJson(repeated, responseLimits.repeatedLength))
    throw new BerthError(
      'invalid_parameter',
      `instructions, tools and text together have more than ${responseLimits.repeatedLength} characters. Send long instructions as a message of the role developer in input.`,
    )
}

/** The values by which OpenAI keeps something, or shortens it. */
function refuseStates(fields: Fields): void {
  if (switchFrom(fields, 'store') === true)
    throw unsupported('store', 'responses are not stored. Leave it out, or send false.')
  if (switchFrom(fields, 'background') === true)
    throw unsupported('background', 'a response is made while its request lasts. Leave it out, and stream it.')
  const truncation = fields['truncation'] ?? 'disabled'
  if (truncation === 'auto') throw unsupported('truncation', 'conversations are never shortened here. Leave it out.')
  if (truncation !== 'disabled') throw wrongParameter('truncation', 'must be disabled.')
}

const streamNames = new Set(['include_obfuscation'])

function refuseObfuscation(options: unknown): void {
  if (options === undefined || options === null) return
  const fields = objectAt(options, 'stream_options', streamNames)
  if (switchFrom(fields, 'include_obfuscation', 'stream_options.include_obfuscation') === true)
    throw unsupported(
      'stream_options.include_obfuscation',
      'pieces are sent as they come. Leave it out, or send false.',
    )
}

type Summary = NonNullable<ModelRequest['reasoningSummary']>
const reasoningNames = new Set(['effort', 'summary', 'generate_summary', 'context', 'mode'])

/** Reasoning may be had without streaming here: the answer has a place for it. */
function readReasoning(
  value: unknown,
  model: Model,
): { effort: ModelRequest['reasoningEffort']; summary: Summary | null } {
  if (value === undefined || value === null) return { effort: null, summary: null }
  const fields = objectAt(value, 'reasoning', reasoningNames)
  if ((fields['context'] ?? 'auto') !== 'auto')
    throw unsupported('reasoning.context', 'what is replayed is what input has. Leave it out.')
  if ((fields['mode'] ?? 'standard') !== 'standard')
    throw unsupported('reasoning.mode', 'it is always standard. Leave it out.')
  const older = readSummary(fields, 'generate_summary')
  const summary = readSummary(fields, 'summary') ?? older
  return { effort: readReasoningEffort(fields['effort'], model, true), summary }
}

function readSummary(fields: Fields, name: 'summary' | 'generate_summary'): Summary | null {
  const given = fields[name] ?? null
  const summary = given === null ? null : reasoningSummaries.find((one) => one === given)
  if (summary === undefined)
    throw wrongParameter(`reasoning.${name}`, `must be one of ${reasoningSummaries.join(', ')}.`)
  return summary
}

const encrypted = 'reasoning.encrypted_content'
const logprobs = 'message.output_text.logprobs'

/** The same as the fields of a chat. */
function chatFields(fields: Fields, text: TextSettings, maxOutputTokens: number | null): Fields {
  const include = readInclude(fields['include'])
  const { format, verbosity } = text
  const { type, ...schema } = format
  if ((fields['top_logprobs'] ?? 0) !== 0 && !include.has(logprobs))
    throw wrongParameter('top_logprobs', `requires ${logprobs} in include.`)
  const same: Record<string, unknown> = {}
  for (const name of ofChats) if (fields[name] !== undefined) same[name] = fields[name]
  return {
    ...same,
    max_completion_tokens: maxOutputTokens,
    verbosity,
    response_format: type === 'json_schema' ? { type, json_schema: schema } : { type },
    logprobs: include.has(logprobs) ? true : null,
  }
}

/** What the answer is to have besides the usual; encrypted reasoning it always has. */
function readInclude(value: unknown): ReadonlySet<unknown> {
  if (value === undefined || value === null) return new Set()
  const names = entriesAt(value, 'include', responseLimits.includesMax)
  for (const [at, name] of names.entries())
    if (name !== encrypted && name !== logprobs)
      throw unsupported(`include[${at}]`, `it must be ${encrypted} or ${logprobs}; other things no response has here.`)
  return new Set(names)
}
