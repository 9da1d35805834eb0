/**
 * The bodies of the two chat routes, parsed into model requests. Every refusal happens here, before anything is sent.
 */
import type { Message, ModelRequest } from '#src/drivers/models/model.ts'
import type { Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { readMessages } from './messages.ts'
import { readParameters, readReasoningEffort, switchFrom, wrongParameter } from './parameters.ts'
import { readTools } from './tools.ts'
import type { Fields } from './message-shapes.ts'
import type { Model } from '#src/resources/llm/models/rows.ts'
import { readModel } from '#src/resources/llm/models/named.ts'
import type { Reader } from './reasoning-replay.ts'
import { unsupported } from './selective-parameters.ts'
import { lastAssistantId, readUiMessages } from './ui-messages.ts'

/** The model and the request in a body. */
export type ChatRequest = { model: Model; request: ModelRequest }

/**
 * Reads the body of `POST /v1/chat/completions`; GraphQL's arguments are turned into such a body too.
 * @param body JSON that parseJson or checkJson accepted.
 * @param mayJoin whether a request that needs a stream may be made without one; `isJoined` says that this is one.
 * @returns also whether the stream ends with its usage.
 * @throws BerthError 400 with a code of the gateway.
 */
export function readChatRequest(
  config: Config,
  body: unknown,
  mayJoin = false,
): ChatRequest & { includeUsage: boolean; isJoined: boolean } {
  const fields = readBody(body)
  const isStreamed = switchFrom(fields, 'stream') ?? false
  const { model, request } = readRequest(config, fields, isStreamed || mayJoin, readMessages)
  const includeUsage = readIncludeUsage(fields['stream_options'])
  const { tools, reasoningEffort } = request
  const isJoined = !isStreamed && (tools.length > 0 || (reasoningEffort !== null && reasoningEffort !== 'none'))
  request.stream = isStreamed || isJoined
  return { model, request, includeUsage: isStreamed && includeUsage, isJoined }
}

/**
 * Reads the body of `POST /v1/chat`: UI messages, and otherwise the same. Fields that the clients' transport adds
 * (`id`, `trigger`, `messageId`) is ignored.
 * @returns also the id of the message that the answer continues: the last one, when it is the assistant's.
 * @throws BerthError 400 with a code of the gateway; stream_required for `stream: false`.
 */
export function readUiChatRequest(config: Config, body: unknown): ChatRequest & { continuedId: string | null } {
  const fields = readBody(body)
  if (fields['logprobs'] === true)
    throw unsupported(
      'logprobs',
      'a UI message stream has no place for them. Leave it out, or use /v1/chat/completions.',
    )
  if (switchFrom(fields, 'stream') === false)
    throw new BerthError(
      'stream_required',
      'This path only answers with a stream. Leave stream out, or use /v1/chat/completions.',
    )
  readIncludeUsage(fields['stream_options']) // the stream always ends with its usage
  return { ...readRequest(config, fields, true, readUiMessages), continuedId: lastAssistantId(fields['messages']) }
}

/** The body as an object. @throws BerthError invalid_parameter. */
export function readBody(body: unknown): Fields {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new BerthError('invalid_parameter', 'The body must be a JSON object with model and messages.')
  return body as Fields // every key is read as unknown
}

function readRequest(
  config: Config,
  fields: Fields,
  stream: boolean,
  read: (reader: Reader, messages: unknown) => Message[],
): ChatRequest {
  const model = readModel(config, fields['model'], 'chat')
  const tools = readTools(fields, model, stream)
  const reasoningEffort = readReasoningEffort(fields['reasoning_effort'], model, stream)
  const parameters = readParameters(fields, model)
  const messages = read({ config, model }, fields['messages'])
  return { model, request: { messages, ...tools, reasoningEffort, ...parameters, stream } }
}

function readIncludeUsage(options: unknown): boolean {
  if (options === undefined || options === null) return false
  if (typeof options !== 'object' || Array.isArray(options))
    throw wrongParameter('stream_options', 'must be an object.')
  const fields = options as Fields // every key is read as unknown
  if (switchFrom(fields, 'include_obfuscation', 'stream_options.include_obfuscation') === true)
    throw unsupported(
      'stream_options.include_obfuscation',
      'pieces are sent as they come. Leave it out, or send false.',
    )
  return switchFrom(fields, 'include_usage', 'stream_options.include_usage') ?? false
}
