/**
 * The messages of `POST /v1/chat/completions`, parsed into Berth's own form, which every upstream's format is made
 * from.
 */
import type { Message, ReasoningBlock, ToolCall, UserPart } from '#src/drivers/models/model.ts'
import { limits } from '#src/platform/limits.ts'
import {
  detailAt,
  fieldsAt,
  idAt,
  imageAt,
  isBase64,
  listAt,
  optionalTextAt,
  parseDataUrl,
  partOfBytes,
  textAt,
  toolName,
  wrongMessage,
  type Fields,
  extraAt,
} from './message-shapes.ts'
import { readReasoningDetails, readReasoningPart, type Reader } from './reasoning-replay.ts'

/**
 * Parses all messages, in order.
 * @throws BerthError invalid_messages naming the place, reasoning_model_mismatch, reasoning_id_missing.
 */
export function readMessages(reader: Reader, value: unknown): Message[] {
  const items = listAt(value, 'messages', limits.chatMessagesMax)
  if (items.length === 0) throw wrongMessage('messages', 'is empty. Send at least one message.')
  const calls = openCalls()
  const messages = items.map((item, at) => {
    const place = `messages[${at}]`
    const fields = fieldsAt(item, place)
    if (fields['role'] !== 'tool') calls.mustBeAnswered(place)
    return readMessage(reader, fields, place, calls)
  })
  calls.mustBeAnswered('messages')
  return messages
}

/** The tool calls without a result so far: providers refuse a conversation that leaves one open. */
type OpenCalls = {
  open: (calls: readonly ToolCall[]) => void
  answer: (id: string, place: string) => void
  mustBeAnswered: (place: string) => void
}

function openCalls(): OpenCalls {
  const waiting = new Set<string>()
  return {
    open: (calls) => calls.forEach(({ id }) => waiting.add(id)),
    answer(id, place) {
      if (!waiting.delete(id))
        throw wrongMessage(
          place,
          'answers no tool call of the assistant message before it, or one that already has an answer.',
        )
    },
    mustBeAnswered(place) {
      if (waiting.size > 0)
        throw wrongMessage(
          place,
          'leaves a tool call without an answer. Send a tool message for every tool call, directly after the assistant message.',
        )
    },
  }
}

function readMessage(reader: Reader, fields: Fields, place: string, calls: OpenCalls): Message {
  switch (fields['role']) {
    case 'user':
      return {
        role: 'user',
        parts: readUserContent(fields['content'], `${place}.content`),
        name: optionalTextAt(fields['name'], `${place}.name`),
      }
    case 'system':
    case 'developer':
      return { role: 'system', text: readText(fields['content'], `${place}.content`) }
    case 'assistant': {
      const message = readAssistant(reader, fields, place)
      calls.open(message.toolCalls)
      return message
    }
    case 'tool': {
      const toolCallId = idAt(fields['tool_call_id'], `${place}.tool_call_id`)
      calls.answer(toolCallId, `${place}.tool_call_id`)
      return { role: 'tool', toolCallId, text: readText(fields['content'], `${place}.content`), isError: false }
    }
    case 'function':
      throw wrongMessage(`${place}.role`, 'function is no longer used. Send a tool message instead.')
    default:
      throw wrongMessage(`${place}.role`, 'must be system, developer, user, assistant or tool.')
  }
}

/** Content that is text only. Its parts are joined without separators, so that nothing is added to what was sent. */
function readText(content: unknown, place: string): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) throw wrongMessage(place, 'must be a string or a list of text parts.')
  return listAt(content, place, limits.chatPartsMax)
    .map((item, at) => {
      const here = `${place}[${at}]`
      const part = fieldsAt(item, here)
      if (part['type'] !== 'text') throw wrongMessage(`${here}.type`, 'must be text: this role allows no other parts.')
      return textAt(part['text'], `${here}.text`)
    })
    .join('')
}

function readUserContent(content: unknown, place: string): UserPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  if (!Array.isArray(content)) throw wrongMessage(place, 'must be a string or a list of parts.')
  if (content.length === 0) throw wrongMessage(place, 'is empty. Send at least one part.')
  return listAt(content, place, limits.chatPartsMax).map((item, at) =>
    readUserPart(fieldsAt(item, `${place}[${at}]`), `${place}[${at}]`),
  )
}

function readUserPart(part: Fields, place: string): UserPart {
  switch (part['type']) {
    case 'text':
      return { type: 'text', text: textAt(part['text'], `${place}.text`) }
    case 'image_url': {
      const here = `${place}.image_url`
      const image = fieldsAt(part['image_url'], here)
      const detail = detailAt(image['detail'], `${here}.detail`)
      return imageAt(textAt(image['url'], `${here}.url`), detail, `${here}.url`)
    }
    case 'file':
      return readFile(fieldsAt(part['file'], `${place}.file`), `${place}.file`)
    case 'input_audio': {
      const here = `${place}.input_audio`
      const { data, format } = fieldsAt(part['input_audio'], here)
      if (format !== 'wav' && format !== 'mp3') throw wrongMessage(`${here}.format`, 'must be wav or mp3.')
      if (!isBase64(textAt(data, `${here}.data`))) throw wrongMessage(`${here}.data`, 'must be base64.')
      return { type: 'audio', format, data: String(data) }
    }
    default:
      throw wrongMessage(`${place}.type`, 'must be text, image_url, file or input_audio.')
  }
}

/** OpenAI's clients send a data URL, or bare base64 of a PDF. */
function readFile(file: Fields, place: string): UserPart {
  if (file['file_id'] !== undefined && file['file_id'] !== null)
    throw wrongMessage(`${place}.file_id`, 'cannot be used: Berth does not store files. Send file_data.')
  const filename = optionalTextAt(file['filename'], `${place}.filename`)
  const text = textAt(file['file_data'], `${place}.file_data`)
  const parsed = isBase64(text) ? { mediaType: 'application/pdf', data: text } : parseDataUrl(text)
  if (!parsed) throw wrongMessage(`${place}.file_data`, 'must be a data URL such as data:application/pdf;base64,….')
  return partOfBytes(parsed.mediaType, parsed.data, filename, `${place}.file_data`)
}

/** What an assistant's message may have at OpenAI, and cannot be sent on. */
const notReplayed = [
  ['audio', 'cannot be used: Berth stores no audio. Send what it says as content.'],
  ['function_call', 'is no longer used. Send tool_calls, and a tool message for each.'],
] as const

type AssistantMessage = Extract<Message, { role: 'assistant' }>

function readAssistant(reader: Reader, fields: Fields, place: string): AssistantMessage {
  const { text: written, reasoning } = readAssistantContent(reader, fields['content'], `${place}.content`)
  const refusal = optionalTextAt(fields['refusal'], `${place}.refusal`) // OpenAI's clients send it with a null content
  const text = written ?? refusal
  const toolCalls = readToolCalls(fields['tool_calls'], `${place}.tool_calls`)
  optionalTextAt(fields['reasoning_content'], `${place}.reasoning_content`) // the shown text; continuing from it requires reasoning_meta
  optionalTextAt(fields['name'], `${place}.name`) // no upstream tells the model's messages apart by names
  for (const [name, instead] of notReplayed)
    if (fields[name] !== undefined && fields[name] !== null) throw wrongMessage(`${place}.${name}`, instead)
  // Both have the same information; blocks in the content are the documented form.
  const details =
    reasoning.length > 0 || fields['reasoning_details'] === undefined || fields['reasoning_details'] === null
      ? []
      : readReasoningDetails(reader, fields['reasoning_details'], `${place}.reasoning_details`)
  if (text === null && toolCalls.length === 0 && reasoning.length === 0)
    throw wrongMessage(place, 'is empty. An assistant message must have content, tool_calls or both.')
  return { role: 'assistant', reasoning: [...reasoning, ...details], text: text ?? '', toolCalls }
}

function readAssistantContent(
  reader: Reader,
  content: unknown,
  place: string,
): { text: string | null; reasoning: ReasoningBlock[] } {
  const reasoning: ReasoningBlock[] = []
  if (content === undefined || content === null) return { text: null, reasoning }
  if (typeof content === 'string') return { text: content, reasoning }
  if (!Array.isArray(content)) throw wrongMessage(place, 'must be a string, a list of parts, or null.')
  let text: string | null = null
  for (const [at, item] of listAt(content, place, limits.chatPartsMax).entries()) {
    const here = `${place}[${at}]`
    const part = fieldsAt(item, here)
    switch (part['type']) {
      case 'text':
        text = (text ?? '') + textAt(part['text'], `${here}.text`)
        break
      case 'refusal':
        text = (text ?? '') + textAt(part['refusal'], `${here}.refusal`)
        break
      case 'reasoning':
        if (text !== null)
          throw wrongMessage(here, 'is reasoning after text. Reasoning must come first, before text and tool calls.')
        reasoning.push(readReasoningPart(reader, part, here))
        break
      default:
        throw wrongMessage(`${here}.type`, 'must be text, refusal or reasoning.')
    }
  }
  return { text, reasoning }
}

function readToolCalls(value: unknown, place: string): ToolCall[] {
  if (value === undefined || value === null) return []
  const ids = new Set<string>()
  return listAt(value, place, limits.chatToolsMax).map((item, at) => {
    const here = `${place}[${at}]`
    const call = fieldsAt(item, here)
    if (call['type'] !== 'function' && call['type'] !== undefined)
      throw wrongMessage(`${here}.type`, 'must be function.')
    const id = idAt(call['id'], `${here}.id`)
    if (ids.has(id)) throw wrongMessage(`${here}.id`, 'appears twice in this message.')
    ids.add(id)
    const named = fieldsAt(call['function'], `${here}.function`)
    const name = textAt(named['name'], `${here}.function.name`)
    if (!toolName.test(name)) throw wrongMessage(`${here}.function.name`, 'must have 1 to 64 letters, digits, _ or -.')
    const text = textAt(named['arguments'], `${here}.function.arguments`)
    return { id, name, arguments: text, ...extraAt(call['extra_content'], `${here}.extra_content`) }
  })
}
