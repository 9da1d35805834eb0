/**
 * The messages of `POST /v1/chat`: `UIMessage[]` of ai 5, 6 and 7, parsed into Berth's own form, which every upstream's
 * format is made from.
 */
import type { Message, UserPart } from '#src/drivers/models/model.ts'
import { limits } from '#src/platform/limits.ts'
import {
  fieldsAt,
  imageAt,
  listAt,
  optionalTextAt,
  parseDataUrl,
  partOfBytes,
  textAt,
  wrongMessage,
  type Fields,
} from './message-shapes.ts'
import type { Reader } from './reasoning-replay.ts'
import { readUiReasoning } from './ui-reasoning.ts'
import { isToolPart, readToolPart, type ToolTurn } from './ui-tools.ts'

/**
 * Parses all messages, in order.
 * @throws BerthError invalid_messages naming the place, reasoning_model_mismatch, reasoning_id_missing.
 */
export function readUiMessages(reader: Reader, value: unknown): Message[] {
  const items = listAt(value, 'messages', limits.chatMessagesMax)
  const lastAssistant = items.findLastIndex(
    (item) => typeof item === 'object' && item !== null && 'role' in item && item.role === 'assistant',
  )
  const messages = items.flatMap((item, at) => {
    const place = `messages[${at}]`
    const fields = fieldsAt(item, place)
    const parts = partsOf(fields, place)
    switch (fields['role']) {
      case 'system':
        return [{ role: 'system' as const, text: parts.filter(isContent).map(readSystemPart).join('') }]
      case 'user':
        return readUser(parts)
      case 'assistant':
        return readAssistant(reader, parts, at === lastAssistant)
      default:
        throw wrongMessage(`${place}.role`, 'must be system, user or assistant.')
    }
  })
  if (messages.length === 0) throw wrongMessage('messages', 'is empty. Send at least one message with a part.')
  return messages
}

/** The id of the last message, if it is the assistant's: an answer to a tool's result continues that message. */
export function lastAssistantId(messages: unknown): string | null {
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined
  if (typeof last !== 'object' || last === null || !('role' in last) || last.role !== 'assistant') return null
  return 'id' in last && typeof last.id === 'string' && last.id !== '' && last.id.length <= limits.chatIdLength
    ? last.id
    : null
}

type Part = { type: string; fields: Fields; place: string }

/** Parts that are only displayed, or that only matter to a server that stores the conversation. */
const shownOnly = new Set(['source-url', 'source-document', 'custom', 'reasoning-file'])

function partsOf(message: Fields, place: string): Part[] {
  return listAt(message['parts'], `${place}.parts`, limits.chatPartsMax).map((part, at) => {
    const here = `${place}.parts[${at}]`
    const fields = fieldsAt(part, here)
    return { type: textAt(fields['type'], `${here}.type`), fields, place: here }
  })
}

function isContent({ type }: Part): boolean {
  return !type.startsWith('data-') && !type.startsWith('source-') && !shownOnly.has(type) && type !== 'step-start'
}

function readSystemPart({ type, fields, place }: Part): string {
  if (type !== 'text') throw wrongMessage(`${place}.type`, 'must be text in a system message.')
  return textAt(fields['text'], `${place}.text`)
}

function readUser(parts: readonly Part[]): Message[] {
  const read = parts.filter(isContent).map(readUserPart)
  return read.length > 0 ? [{ role: 'user', parts: read, name: null }] : []
}

function readUserPart({ type, fields, place }: Part): UserPart {
  if (type === 'text') return { type, text: textAt(fields['text'], `${place}.text`) }
  if (type !== 'file') throw wrongMessage(`${place}.type`, 'is not allowed in a user message: send text or file.')
  const url = textAt(fields['url'], `${place}.url`)
  const mediaType = textAt(fields['mediaType'], `${place}.mediaType`).toLowerCase()
  const filename = optionalTextAt(fields['filename'], `${place}.filename`)
  if (!url.startsWith('data:') && /^image(?:\/|$)/.test(mediaType)) return imageAt(url, null, `${place}.url`)
  const parsed = parseDataUrl(url)
  if (!parsed)
    throw wrongMessage(
      `${place}.url`,
      'must be a data URL such as data:application/pdf;base64,…; an image may also be an https address.',
    )
  return partOfBytes(parsed.mediaType, parsed.data, filename, `${place}.url`)
}

/** One assistant message of the UI is several of the model's, one for each step, each followed by its tool results. */
function readAssistant(reader: Reader, parts: readonly Part[], isLast: boolean): Message[] {
  const messages: Message[] = []
  let step: Part[] = []
  const endStep = (): void => {
    messages.push(...readStep(reader, step, isLast))
    step = []
  }
  for (const part of parts) {
    if (part.type === 'step-start') endStep()
    else if (part.type === 'steering-message') {
      // ai 7: a user message between two steps
      endStep()
      messages.push(...readUser(partsOf(part.fields, part.place)))
    } else step.push(part)
  }
  endStep()
  return messages
}

function readStep(reader: Reader, parts: readonly Part[], isLast: boolean): Message[] {
  const texts: string[] = []
  const reasoning = []
  const turns: ToolTurn[] = []
  for (const part of parts.filter(isContent)) {
    const { type, fields, place } = part
    if (type === 'text') texts.push(textAt(fields['text'], `${place}.text`))
    else if (type === 'reasoning') reasoning.push(...readUiReasoning(reader, fields, place))
    else if (isToolPart(type)) turns.push(...readToolPart(type, fields, place, isLast))
    else if (type !== 'file') throw wrongMessage(`${place}.type`, 'is not a known kind of part.') // a file from the assistant cannot be sent back
  }
  const text = texts.join('')
  // A step that was cut off before it had content. Providers do not accept reasoning alone.
  if (text === '' && turns.length === 0) return []
  const results = turns.map(({ call, result }): Message => ({ role: 'tool', toolCallId: call.id, ...result }))
  return [{ role: 'assistant', reasoning, text, toolCalls: turns.map(({ call }) => call) }, ...results]
}
