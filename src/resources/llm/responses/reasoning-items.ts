/**
 * Reasoning as an item of OpenAI's responses. What a provider needs back is in the item's `encrypted_content`, in an
 * envelope that also names the model: so reasoning of any provider is replayed, and to its own model only.
 */
import { jsonOf } from '#src/drivers/models/json-values.ts'
import type { ReasoningBlock } from '#src/drivers/models/model.ts'
import { limits } from '#src/platform/limits.ts'
import { fieldsAt, idAt, listAt, optionalTextAt, textAt, wrongMessage, type Fields } from '../chats/message-shapes.ts'
import { isComplete, replayed, type Reader } from '../chats/reasoning-replay.ts'

const mark = 'berth1.'

/** The `encrypted_content` of a block; null for one that its provider does not need back. */
export function sealBlock({ model, id, signature, encryptedContent, redacted }: ReasoningBlock): string | null {
  if (signature === null && encryptedContent === null) return null
  return mark + Buffer.from(JSON.stringify([model, id, signature, encryptedContent, redacted])).toString('base64url')
}

/** Reads a `{type: "reasoning"}` item. @throws BerthError 400 naming the place. */
export function readReasoningItem(reader: Reader, item: Fields, place: string): ReasoningBlock {
  const text = readTexts(item['summary'], `${place}.summary`) || readTexts(item['content'], `${place}.content`)
  const content = optionalTextAt(item['encrypted_content'], `${place}.encrypted_content`)
  const id = item['id'] === undefined || item['id'] === null ? null : idAt(item['id'], `${place}.id`)
  const block = replayed(reader, { ...readContent(reader, content, id, place), text }, place)
  if (!isComplete(reader, block))
    throw wrongMessage(
      place,
      `has no encrypted_content, without which ${reader.model.id} cannot continue from it. Send the item as it was received, or leave it out.`,
    )
  return block
}

function readContent(
  { model }: Reader,
  content: string | null,
  id: string | null,
  place: string,
): Omit<ReasoningBlock, 'text'> {
  const own = { model: model.id, id, signature: null, encryptedContent: null, redacted: false }
  if (content === null) return own
  if (content.startsWith(mark)) return openEnvelope(content.slice(mark.length), `${place}.encrypted_content`)
  // It was received from OpenAI itself, or by another path of ours.
  if (model.reasoningReplay === 'encrypted_content') return { ...own, encryptedContent: content }
  throw wrongMessage(
    `${place}.encrypted_content`,
    `was not received here, so ${model.id} cannot continue from it. Leave the item out.`,
  )
}

function openEnvelope(text: string, place: string): Omit<ReasoningBlock, 'text'> {
  const value = jsonOf(Buffer.from(text, 'base64url').toString())
  const [model, id, signature, encryptedContent, redacted] = Array.isArray(value) ? (value as unknown[]) : []
  if (
    typeof model !== 'string' ||
    !isTextOrNull(id) ||
    !isTextOrNull(signature) ||
    !isTextOrNull(encryptedContent) ||
    typeof redacted !== 'boolean'
  )
    throw wrongMessage(place, 'was changed. Send it exactly as it was received, or leave the item out.')
  return { model, id, signature, encryptedContent, redacted }
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string'
}

/** The texts of a summary, as a reader would see them. */
function readTexts(value: unknown, place: string): string {
  if (value === undefined || value === null) return ''
  return listAt(value, place, limits.chatPartsMax)
    .map((item, at) => textAt(fieldsAt(item, `${place}[${at}]`)['text'], `${place}[${at}].text`))
    .join('\n\n')
}
