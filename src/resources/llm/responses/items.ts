/** The `input` of `POST /v1/responses`, parsed into Berth's own messages. */
import type { ImagePart, Message, UserPart } from '#src/drivers/models/model.ts'
import { limits } from '#src/platform/limits.ts'
import { findUnknownKey, unknownKeySentence } from '#src/platform/shapes/unknown-keys.ts'
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
} from '../chats/message-shapes.ts'
import type { Reader } from '../chats/reasoning-replay.ts'
import { Conversation } from './conversations.ts'
import { readReasoningItem } from './reasoning-items.ts'

/** The fields of each kind of item. Those of a model's own items that say nothing here are taken as they come back. */
const fieldsOf: Readonly<Record<string, ReadonlySet<string>>> = {
  message: new Set(['type', 'role', 'content', 'id', 'status', 'phase']),
  function_call: new Set(['type', 'call_id', 'name', 'arguments', 'id', 'status', 'parsed_arguments', 'extra_content']),
  function_call_output: new Set(['type', 'call_id', 'output', 'id', 'status']),
  reasoning: new Set(['type', 'id', 'summary', 'content', 'encrypted_content', 'status']),
}
const kinds = Object.keys(fieldsOf).join(', ')

/**
 * Parses the instructions and the input, in order.
 * @throws BerthError invalid_messages naming the place, reasoning_model_mismatch, reasoning_id_missing.
 */
export function readInput(reader: Reader, input: unknown, instructions: string | null): Message[] {
  const conversation = new Conversation()
  if (instructions !== null && instructions !== '') conversation.addSystem(instructions, 'instructions')
  if (typeof input === 'string') conversation.addUser([{ type: 'text', text: input }], 'input')
  else {
    if (input === undefined || input === null)
      throw wrongMessage('input', 'is required: a text, or a list of items such as messages.')
    const items = listAt(input, 'input', limits.chatMessagesMax)
    if (items.length === 0) throw wrongMessage('input', 'is empty. Send at least one item.')
    for (const [at, item] of items.entries()) addItem(reader, conversation, item, `input[${at}]`)
  }
  return conversation.end()
}

function addItem(reader: Reader, conversation: Conversation, value: unknown, place: string): void {
  const item = fieldsAt(value, place)
  const type = item['type'] ?? (item['role'] === undefined ? undefined : 'message') // a message may leave its type out
  const known = typeof type === 'string' && Object.hasOwn(fieldsOf, type) ? fieldsOf[type] : undefined
  if (type === 'item_reference')
    throw wrongMessage(
      place,
      'refers to a stored item, and nothing is stored here. Send the item itself; the AI SDK does with providerOptions.openai.store: false.',
    )
  if (!known) throw wrongMessage(`${place}.type`, `must be one of ${kinds}.`)
  const unknown = findUnknownKey(item, known)
  if (unknown !== undefined && item[unknown] !== null)
    throw wrongMessage(place, `is not right: ${unknownKeySentence('field', unknown, known)}`)
  switch (type) {
    case 'message':
      return addMessage(conversation, item, place)
    case 'reasoning':
      return conversation.addReasoning(readReasoningItem(reader, item, place), place)
    case 'function_call': {
      const name = textAt(item['name'], `${place}.name`)
      if (!toolName.test(name)) throw wrongMessage(`${place}.name`, 'must have 1 to 64 letters, digits, _ or -.')
      const call = {
        id: idAt(item['call_id'], `${place}.call_id`),
        name,
        arguments: textAt(item['arguments'], `${place}.arguments`),
        ...extraAt(item['extra_content'], `${place}.extra_content`),
      }
      return conversation.addCall(call, place)
    }
    default: {
      const callId = idAt(item['call_id'], `${place}.call_id`)
      const { text, images } = readOutput(item['output'], `${place}.output`)
      return conversation.addOutput(callId, text, images, place)
    }
  }
}

function addMessage(conversation: Conversation, item: Fields, place: string): void {
  const content = item['content']
  const here = `${place}.content`
  switch (item['role']) {
    case 'user':
      return conversation.addUser(readParts(content, here), place)
    case 'system':
    case 'developer':
      return conversation.addSystem(readTexts(content, here, { input_text: 'text' }), place)
    case 'assistant':
      return conversation.addText(readTexts(content, here, { output_text: 'text', refusal: 'refusal' }), place)
    default:
      throw wrongMessage(`${place}.role`, 'must be user, system, developer or assistant.')
  }
}

/** Content that is text only. @param fields the kinds of parts, each with the field that has the text. */
function readTexts(content: unknown, place: string, fields: Readonly<Record<string, string>>): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) throw wrongMessage(place, 'must be a string or a list of parts.')
  return listAt(content, place, limits.chatPartsMax)
    .map((value, at) => {
      const here = `${place}[${at}]`
      const part = fieldsAt(value, here)
      const { type } = part
      const field = typeof type === 'string' && Object.hasOwn(fields, type) ? fields[type] : undefined
      if (field === undefined)
        throw wrongMessage(
          `${here}.type`,
          `must be ${Object.keys(fields).join(' or ')}: this role allows no other parts.`,
        )
      return textAt(part[field], `${here}.${field}`)
    })
    .join('')
}

function readParts(content: unknown, place: string): UserPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  if (!Array.isArray(content)) throw wrongMessage(place, 'must be a string or a list of parts.')
  if (content.length === 0) throw wrongMessage(place, 'is empty. Send at least one part.')
  return listAt(content, place, limits.chatPartsMax).map((value, at) => {
    const here = `${place}[${at}]`
    return readPart(fieldsAt(value, here), here)
  })
}

function readPart(part: Fields, place: string): UserPart {
  switch (part['type']) {
    case 'input_text':
      return { type: 'text', text: textAt(part['text'], `${place}.text`) }
    case 'input_image':
      return readImage(part, place)
    case 'input_file':
      return readFile(part, place)
    case 'input_audio': {
      const here = `${place}.input_audio`
      const { data, format } = fieldsAt(part['input_audio'], here)
      if (format !== 'wav' && format !== 'mp3') throw wrongMessage(`${here}.format`, 'must be wav or mp3.')
      if (!isBase64(textAt(data, `${here}.data`))) throw wrongMessage(`${here}.data`, 'must be base64.')
      return { type: 'audio', format, data: String(data) }
    }
    default:
      throw wrongMessage(`${place}.type`, 'must be input_text, input_image, input_file or input_audio.')
  }
}

function readImage(part: Fields, place: string): ImagePart {
  refuseStored(part, 'file_id', `${place}.file_id`, 'image_url')
  const detail = detailAt(part['detail'], `${place}.detail`)
  return imageAt(textAt(part['image_url'], `${place}.image_url`), detail, `${place}.image_url`)
}

/** OpenAI's clients send a data URL, or bare base64 of a PDF. */
function readFile(part: Fields, place: string): UserPart {
  refuseStored(part, 'file_id', `${place}.file_id`, 'file_data')
  if (part['file_url'] !== undefined && part['file_url'] !== null)
    throw wrongMessage(`${place}.file_url`, 'cannot be used: Berth fetches no files. Send file_data.')
  const filename = optionalTextAt(part['filename'], `${place}.filename`)
  const text = textAt(part['file_data'], `${place}.file_data`)
  const parsed = isBase64(text) ? { mediaType: 'application/pdf', data: text } : parseDataUrl(text)
  if (!parsed) throw wrongMessage(`${place}.file_data`, 'must be a data URL such as data:application/pdf;base64,….')
  return partOfBytes(parsed.mediaType, parsed.data, filename, `${place}.file_data`)
}

function refuseStored(part: Fields, name: string, place: string, instead: string): void {
  if (part[name] !== undefined && part[name] !== null)
    throw wrongMessage(place, `cannot be used: the gateway stores no files. Send ${instead}.`)
}

/** What a call returned: text, or parts of text and images. */
function readOutput(output: unknown, place: string): { text: string; images: ImagePart[] } {
  if (typeof output === 'string') return { text: output, images: [] }
  const images: ImagePart[] = []
  let text = ''
  for (const [at, value] of listAt(output, place, limits.chatPartsMax).entries()) {
    const here = `${place}[${at}]`
    const part = fieldsAt(value, here)
    if (part['type'] === 'input_text') text += textAt(part['text'], `${here}.text`)
    else if (part['type'] === 'input_image') images.push(readImage(part, here))
    else throw wrongMessage(`${here}.type`, 'must be input_text or input_image: outputs of calls have no files.')
  }
  return { text, images }
}
