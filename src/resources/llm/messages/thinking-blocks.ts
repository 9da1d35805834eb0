/**
 * Reasoning in Anthropic's format, which has a field for a signature and none for the model, the id or the encrypted
 * content of other providers: those travel inside the signature, so that any client that sends blocks back unchanged
 * replays them too. Signatures of Anthropic's own are not touched.
 */
import type { ReasoningBlock } from '#src/drivers/models/model.ts'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { textAt, wrongMessage, type Fields } from '../chats/message-shapes.ts'
import { replayed } from '../chats/reasoning-replay.ts'
import { checkKeys, type Reading } from './shapes.ts'

const mark = 'berth:'
/** The model and the id in a signature are no longer than this, each character of theirs in up to nine. */
const partsLength = 2 * 9 * limits.chatIdLength

/** The signature of a block that is not redacted; empty for one that its provider does not need back. */
export function signatureOf({ signature, encryptedContent, id, model }: ReasoningBlock): string {
  if (signature !== null) return signature
  if (encryptedContent === null) return ''
  return `${mark}${encodeURIComponent(model)}:${encodeURIComponent(id ?? '')}:${encryptedContent}`
}

const thinkingKeys: ReadonlySet<string> = new Set(['type', 'thinking', 'signature'])
const redactedKeys: ReadonlySet<string> = new Set(['type', 'data'])

/** A `thinking` block that comes back. @throws BerthError invalid_messages, reasoning_model_mismatch. */
export function readThinking(reading: Reading, block: Fields, place: string): ReasoningBlock {
  checkKeys(block, thinkingKeys, place)
  const text = textAt(block['thinking'], `${place}.thinking`)
  const signature = textAt(block['signature'], `${place}.signature`)
  const own = { text, redacted: false, model: reading.model.id, id: null, signature: null, encryptedContent: null }
  if (signature.startsWith(mark)) {
    const [model = '', id = '', encryptedContent = ''] = partsOf(signature.slice(mark.length), `${place}.signature`)
    return replayed(reading, { ...own, model, id: id === '' ? null : id, encryptedContent }, place)
  }
  const { reasoningReplay } = reading.model
  if (signature === '' && reasoningReplay === 'none') return own
  if (signature === '')
    throw wrongMessage(
      `${place}.signature`,
      'is empty, so the block cannot be replayed. Send the signature that came with it, or leave the block out.',
    )
  if (reasoningReplay !== 'signature') throw ofAnotherModel(reading, place)
  return { ...own, signature }
}

/** A `redacted_thinking` block that comes back. @throws BerthError invalid_messages, reasoning_model_mismatch. */
export function readRedacted(reading: Reading, block: Fields, place: string): ReasoningBlock {
  checkKeys(block, redactedKeys, place)
  const encryptedContent = textAt(block['data'], `${place}.data`)
  if (encryptedContent === '') throw wrongMessage(`${place}.data`, 'is empty. Send the block as it was received.')
  if (reading.model.reasoningReplay !== 'signature') throw ofAnotherModel(reading, place)
  return { id: null, text: '', model: reading.model.id, signature: null, encryptedContent, redacted: true }
}

/** The model, the id and the encrypted content in a signature of ours. */
function partsOf(text: string, place: string): string[] {
  const first = text.indexOf(':')
  const second = text.indexOf(':', first + 1)
  try {
    if (first < 0 || second < 0 || second > partsLength) throw new URIError('a part is missing or too long')
    return [
      decodeURIComponent(text.slice(0, first)),
      decodeURIComponent(text.slice(first + 1, second)),
      text.slice(second + 1),
    ]
  } catch {
    throw wrongMessage(place, 'was changed. Send blocks back exactly as they were received.')
  }
}

function ofAnotherModel({ model }: Reading, place: string): BerthError {
  return new BerthError(
    'reasoning_model_mismatch',
    `${place} is reasoning of another model than ${model.id}, and can only be replayed to its own model. Use that model, or leave the block out.`,
  )
}
