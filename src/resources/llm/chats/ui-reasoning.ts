/**
 * Reasoning in UI messages: what a provider needs back is in `providerMetadata`, under the names that the AI SDK's own
 * providers use, together with the model.
 */
import type { ReasoningBlock } from '#src/drivers/models/model.ts'
import { optionalTextAt, fieldsAt, textAt, wrongMessage, type Fields } from './message-shapes.ts'
import { isComplete, replayed, type Reader } from './reasoning-replay.ts'

/** The `providerMetadata` of a finished block. */
export function reasoningMetadata({
  id,
  model,
  signature,
  encryptedContent,
  redacted,
}: ReasoningBlock): Record<string, Record<string, string | null>> {
  const berth = { model }
  if (signature !== null) return { anthropic: { signature }, berth }
  if (encryptedContent === null) return { berth }
  return redacted
    ? { anthropic: { redactedData: encryptedContent }, berth }
    : { openai: { itemId: id, reasoningEncryptedContent: encryptedContent }, berth }
}

/**
 * The block of a `reasoning` part; none when it has nothing to continue from, as in a stream that was cut off.
 * @throws BerthError invalid_messages, reasoning_model_mismatch, reasoning_id_missing.
 */
export function readUiReasoning(reader: Reader, part: Fields, place: string): ReasoningBlock[] {
  const text = textAt(part['text'], `${place}.text`)
  const here = `${place}.providerMetadata`
  if (part['providerMetadata'] === undefined || part['providerMetadata'] === null) return []
  const metadata = fieldsAt(part['providerMetadata'], here)
  const berth = metadata['berth']
  const [anthropic, openai] = [
    optionalFields(metadata['anthropic'], `${here}.anthropic`),
    optionalFields(metadata['openai'], `${here}.openai`),
  ]
  const redactedData = optionalTextAt(anthropic['redactedData'], `${here}.anthropic.redactedData`)
  const block = {
    id: optionalTextAt(openai['itemId'], `${here}.openai.itemId`),
    text,
    signature: optionalTextAt(anthropic['signature'], `${here}.anthropic.signature`),
    encryptedContent:
      redactedData ?? optionalTextAt(openai['reasoningEncryptedContent'], `${here}.openai.reasoningEncryptedContent`),
    redacted: redactedData !== null,
  }
  if (block.signature === null && block.encryptedContent === null && berth === undefined) return []
  if (berth === undefined)
    throw wrongMessage(
      `${here}.berth`,
      'is missing: it names the model that the reasoning belongs to. Send providerMetadata back unchanged.',
    )
  const model = textAt(fieldsAt(berth, `${here}.berth`)['model'], `${here}.berth.model`)
  const bound = replayed(reader, { ...block, model }, place)
  return isComplete(reader, bound) ? [bound] : []
}

function optionalFields(value: unknown, place: string): Fields {
  return value === undefined || value === null ? {} : fieldsAt(value, place)
}
