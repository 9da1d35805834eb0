/** The messages of `POST /v1/messages`, parsed into Berth's own form, which every upstream's format is made from. */
import type { ImagePart, Message, ReasoningBlock, ToolCall, UserPart } from '#src/drivers/models/model.ts'
import { isLargeJson } from '#src/platform/json/text.ts'
import { limits } from '#src/platform/limits.ts'
import { messagesLimits } from '#src/platform/limits/messages.ts'
import {
  fieldsAt,
  idAt,
  listAt,
  textAt,
  toolName,
  wrongMessage,
  type Fields,
  extraAt,
} from '../chats/message-shapes.ts'
import { readDocument, readImage, readSearchResult, readText } from './sources.ts'
import { checkCacheControl, checkKeys, flagFrom, isAbsent, isObject, needsAnthropic, type Reading } from './shapes.ts'
import { readRedacted, readThinking } from './thinking-blocks.ts'

const keysOf = (...names: string[]): ReadonlySet<string> => new Set(names)
const messageKeys = keysOf('role', 'content')

/** @throws BerthError invalid_messages naming the place, reasoning_model_mismatch, and 400 for unknown fields. */
export function readConversation(reading: Reading, value: unknown): Message[] {
  const items = listAt(value, 'messages', limits.chatMessagesMax)
  if (items.length === 0) throw wrongMessage('messages', 'is empty. Send at least one message.')
  const calls = new OpenCalls()
  const messages = items.flatMap((item, at) => {
    const place = `messages[${at}]`
    const fields = fieldsAt(item, place)
    checkKeys(fields, messageKeys, place)
    const { role, content } = fields
    if (role === 'user') return readUser(reading, content, `${place}.content`, calls)
    calls.mustBeAnswered(place)
    if (role === 'system') return readSystem(reading, content, `${place}.content`)
    if (role !== 'assistant') throw wrongMessage(`${place}.role`, 'must be user or assistant.')
    const message = readAssistant(reading, content, `${place}.content`)
    calls.open(message.toolCalls, place)
    return [message]
  })
  calls.mustBeAnswered('messages')
  return messages
}

/** System texts: a string, or a list of text blocks. @throws BerthError invalid_messages. */
export function readSystem(reading: Reading, content: unknown, place: string): Message[] {
  if (typeof content === 'string') return [{ role: 'system', text: content }]
  const texts = blocksAt(content, place).map(({ block, here }) => {
    if (block['type'] !== 'text') throw wrongMessage(`${here}.type`, 'must be text.')
    return readText(reading, block, here)
  })
  return texts.length === 0 ? [] : [{ role: 'system', text: texts.join('\n\n') }]
}

/** The tool calls without a result so far: providers refuse a conversation that leaves one open. */
class OpenCalls {
  readonly #waiting = new Set<string>()

  open(calls: readonly ToolCall[], place: string): void {
    for (const { id } of calls) {
      if (this.#waiting.has(id)) throw wrongMessage(place, 'has two tool_use blocks with the same id.')
      this.#waiting.add(id)
    }
  }

  answer(id: string, place: string): void {
    if (!this.#waiting.delete(id))
      throw wrongMessage(
        place,
        'answers no tool_use block of the assistant message before it, or one that already has a result.',
      )
  }

  mustBeAnswered(place: string): void {
    if (this.#waiting.size > 0)
      throw wrongMessage(
        place,
        'leaves a tool_use block without a result. Begin the next user message with a tool_result for every tool_use.',
      )
  }
}

type Placed = { block: Fields; here: string }

function blocksAt(content: unknown, place: string): Placed[] {
  if (!Array.isArray(content)) throw wrongMessage(place, 'must be a string or a list of content blocks.')
  return listAt(content, place, limits.chatPartsMax).map((item, at) => ({
    block: fieldsAt(item, `${place}[${at}]`),
    here: `${place}[${at}]`,
  }))
}

/** A user's message is the results of tools, and then what the user says. */
function readUser(reading: Reading, content: unknown, place: string, calls: OpenCalls): Message[] {
  if (typeof content === 'string') {
    calls.mustBeAnswered(place)
    return [{ role: 'user', parts: [{ type: 'text', text: content }], name: null }]
  }
  const blocks = blocksAt(content, place)
  if (blocks.length === 0) throw wrongMessage(place, 'is empty. Send at least one content block.')
  const results: Message[] = []
  const parts: UserPart[] = []
  for (const { block, here } of blocks) {
    if (block['type'] === 'tool_result') {
      if (parts.length > 0)
        throw wrongMessage(here, 'is a tool_result after other content. Results must come first in their message.')
      results.push(readResult(reading, block, here, calls))
    } else {
      calls.mustBeAnswered(here)
      parts.push(...readUserBlock(reading, block, here))
    }
  }
  return parts.length === 0 ? results : [...results, { role: 'user', parts, name: null }]
}

function readUserBlock(reading: Reading, block: Fields, place: string): UserPart[] {
  switch (block['type']) {
    case 'text':
      return [{ type: 'text', text: readText(reading, block, place) }]
    case 'image':
      return [readImage(reading, block, place)]
    case 'document':
      return readDocument(reading, block, place)
    case 'search_result':
      return [{ type: 'text', text: readSearchResult(reading, block, place) }]
    default:
      throw wrongMessage(`${place}.type`, 'must be text, image, document, search_result or tool_result.')
  }
}

const resultKeys = keysOf('type', 'tool_use_id', 'content', 'is_error', 'cache_control', 'toolset_name')

function readResult(reading: Reading, block: Fields, place: string, calls: OpenCalls): Message {
  checkKeys(block, resultKeys, place)
  checkCacheControl(block, place)
  checkToolset(block, place)
  const toolCallId = idAt(block['tool_use_id'], `${place}.tool_use_id`)
  calls.answer(toolCallId, `${place}.tool_use_id`)
  const isError = flagFrom(block, 'is_error', place) ?? false
  const { text, images } = readResultContent(reading, block['content'], `${place}.content`)
  return { role: 'tool', toolCallId, text, isError, ...(images.length > 0 ? { images } : {}) }
}

function readResultContent(reading: Reading, content: unknown, place: string): { text: string; images: ImagePart[] } {
  if (isAbsent(content)) return { text: '', images: [] }
  if (typeof content === 'string') return { text: content, images: [] }
  const texts: string[] = []
  const images: ImagePart[] = []
  for (const { block, here } of blocksAt(content, place)) {
    if (block['type'] === 'tool_reference')
      throw wrongMessage(`${here}.type`, 'cannot be tool_reference: searching for tools is not supported.')
    for (const part of readUserBlock(reading, block, here)) {
      if (part.type === 'text') texts.push(part.text)
      else if (part.type === 'image') images.push(part)
      else needsAnthropic(reading, here) // other formats have no place for a file in a result
    }
  }
  return { text: texts.join('\n'), images }
}

type AssistantMessage = Extract<Message, { role: 'assistant' }>

function readAssistant(reading: Reading, content: unknown, place: string): AssistantMessage {
  if (typeof content === 'string') return { role: 'assistant', reasoning: [], text: content, toolCalls: [] }
  const reasoning: ReasoningBlock[] = []
  const toolCalls: ToolCall[] = []
  let text = ''
  for (const { block, here } of blocksAt(content, place)) {
    switch (block['type']) {
      case 'text':
        text += readText(reading, block, here)
        break
      case 'thinking':
        reasoning.push(readThinking(reading, block, here))
        break
      case 'redacted_thinking':
        reasoning.push(readRedacted(reading, block, here))
        break
      case 'tool_use':
        toolCalls.push(readCall(reading, block, here))
        break
      default:
        throw wrongMessage(
          `${here}.type`,
          'must be text, thinking, redacted_thinking or tool_use: tools that run at a provider are not supported.',
        )
    }
  }
  if (toolCalls.length > limits.chatToolsMax)
    throw wrongMessage(place, `has more than ${limits.chatToolsMax} tool_use blocks. Send fewer.`)
  return { role: 'assistant', reasoning, text, toolCalls }
}

const callKeys = keysOf('type', 'id', 'name', 'input', 'cache_control', 'caller', 'toolset_name', 'extra_content')
const callerKeys = keysOf('type')
/** Ids that Anthropic accepts; a conversation with another model may have brought others. */
const anthropicId = /^[\w-]+$/

function readCall(reading: Reading, block: Fields, place: string): ToolCall {
  checkKeys(block, callKeys, place)
  checkCacheControl(block, place)
  checkToolset(block, place)
  if (!isAbsent(block['caller'])) {
    const caller = fieldsAt(block['caller'], `${place}.caller`)
    checkKeys(caller, callerKeys, `${place}.caller`)
    if (caller['type'] !== 'direct')
      throw wrongMessage(`${place}.caller.type`, 'must be direct: tools that run at a provider are not supported.')
  }
  const id = idAt(block['id'], `${place}.id`)
  const extra = extraAt(block['extra_content'], `${place}.extra_content`)
  Reflect.deleteProperty(block, 'extra_content') // Anthropic is sent this body, and refuses what it does not know
  if (!anthropicId.test(id) || extra.extra) reading.hasForeignCalls = true
  const name = textAt(block['name'], `${place}.name`)
  if (!toolName.test(name)) throw wrongMessage(`${place}.name`, 'must have 1 to 64 letters, digits, _ or -.')
  return { id, name, arguments: inputText(reading, block['input'], `${place}.input`), ...extra }
}

/** The input as text, as other formats have it; it is written at once, so its length has a limit. */
function inputText(reading: Reading, input: unknown, place: string): string {
  if (!isObject(input)) throw wrongMessage(place, 'must be an object.')
  const most = Math.min(messagesLimits.toolInputLength, reading.inputLengthLeft)
  if (isLargeJson(input, most))
    throw wrongMessage(
      place,
      `is too large: one may have ${messagesLimits.toolInputLength} characters, and those of a conversation ${messagesLimits.toolInputsLength} together. Shorten it.`,
    )
  const text = JSON.stringify(input)
  reading.inputLengthLeft -= text.length
  return text
}

function checkToolset(block: Fields, place: string): void {
  if (!isAbsent(block['toolset_name']))
    throw wrongMessage(`${place}.toolset_name`, 'must be left out: toolsets are not supported.')
}
