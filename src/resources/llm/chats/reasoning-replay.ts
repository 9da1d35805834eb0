/**
 * Blocks of reasoning that a caller sends back. Each is bound to the model that produced it. This is checked before
 * anything is sent, because a provider would refuse it later and less clearly.
 */
import type { Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import type { ReasoningBlock } from '#src/drivers/models/model.ts'
import { idAt, listAt, optionalTextAt, textAt, wrongMessage, fieldsAt, type Fields } from './message-shapes.ts'
import type { Model } from '#src/resources/llm/models/rows.ts'
import { findModel } from '#src/resources/llm/models.ts'

/** The context for parsing a conversation: the model that it is sent to. */
export type Reader = { config: Config; model: Model }

const partsMax = 1000

/**
 * The block, if this model can continue from it.
 * @throws BerthError reasoning_model_mismatch, reasoning_id_missing, both naming the place.
 */
export function replayed({ config, model }: Reader, block: ReasoningBlock, place: string): ReasoningBlock {
  if (block.model !== model.id && findModel(config, block.model) !== model) {
    throw new BerthError(
      'reasoning_model_mismatch',
      `${place} is reasoning of another model than ${model.id}, and can only be replayed to its own model. Use that model, or leave the block out.`,
    )
  }
  if (model.reasoningNeedsId && block.id === null) {
    throw new BerthError(
      'reasoning_id_missing',
      `${place} has no id, without which ${model.id} cannot continue from it. Send the id from reasoning_meta.`,
    )
  }
  // A provider that requires a signature requires encrypted text only for redacted reasoning.
  return {
    ...block,
    model: model.id,
    redacted: block.redacted || (model.reasoningReplay === 'signature' && block.encryptedContent !== null),
  }
}

/** Whether the block has what its provider needs to continue. If a provider needs nothing, every block is complete. */
export function isComplete({ model }: Reader, { signature, encryptedContent }: ReasoningBlock): boolean {
  return model.reasoningReplay === 'none' || signature !== null || encryptedContent !== null
}

/** A `{type: "reasoning"}` element of an assistant's content. @throws BerthError 400. */
export function readReasoningPart(reader: Reader, part: Fields, place: string): ReasoningBlock {
  const block = replayed(
    reader,
    {
      id: optionalId(part['id'], `${place}.id`),
      text: optionalTextAt(part['text'], `${place}.text`) ?? '',
      model: idAt(part['model'], `${place}.model`),
      signature: optionalTextAt(part['signature'], `${place}.signature`),
      encryptedContent: optionalTextAt(part['encrypted_content'], `${place}.encrypted_content`),
      redacted: optionalFlag(part['redacted'], `${place}.redacted`),
    },
    place,
  )
  if (!isComplete(reader, block))
    throw wrongMessage(
      place,
      'has neither signature nor encrypted_content, so it cannot be replayed. Send the one from reasoning_meta, or leave the block out.',
    )
  return block
}

/**
 * `reasoning_details` as clients of OpenRouter send it back. Details of one block share their id or, without ids, their
 * index. The model may be absent, because that format has none; then the block is taken to be from the requested model.
 * @throws BerthError 400.
 */
export function readReasoningDetails(reader: Reader, value: unknown, place: string): ReasoningBlock[] {
  const blocks = new Map<string, ReasoningBlock>()
  for (const [at, item] of listAt(value, place, partsMax).entries()) {
    const here = `${place}[${at}]`
    const detail = fieldsAt(item, here)
    const id = optionalId(detail['id'], `${here}.id`)
    const key = id ?? `index ${typeof detail['index'] === 'number' ? detail['index'] : at}`
    const before = blocks.get(key) ?? {
      id,
      text: '',
      model: optionalId(detail['model'], `${here}.model`) ?? reader.model.id,
      signature: null,
      encryptedContent: null,
      redacted: false,
    }
    blocks.set(key, { ...before, ...readDetail(detail, before, here) })
  }
  const read = [...blocks.values()].map((block) => replayed(reader, block, place))
  return read.filter((block) => isComplete(reader, block)) // clients of this format store what they received, also from streams that were cut off
}

function readDetail(detail: Fields, { text, signature }: ReasoningBlock, place: string): Partial<ReasoningBlock> {
  switch (detail['type']) {
    case 'reasoning.text':
      return {
        text: text + (optionalTextAt(detail['text'], `${place}.text`) ?? ''),
        signature: optionalTextAt(detail['signature'], `${place}.signature`) ?? signature,
      }
    case 'reasoning.summary':
      return { text: text + textAt(detail['summary'], `${place}.summary`) }
    case 'reasoning.encrypted':
      return {
        encryptedContent: textAt(detail['data'], `${place}.data`),
        redacted: optionalFlag(detail['redacted'], `${place}.redacted`),
      }
    default:
      throw wrongMessage(`${place}.type`, 'must be reasoning.text, reasoning.summary or reasoning.encrypted.')
  }
}

function optionalId(value: unknown, place: string): string | null {
  return value === undefined || value === null ? null : idAt(value, place)
}

function optionalFlag(value: unknown, place: string): boolean {
  if (value !== undefined && value !== null && typeof value !== 'boolean')
    throw wrongMessage(place, 'must be true or false.')
  return value === true
}
