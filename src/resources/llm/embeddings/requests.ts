/** The body of `POST /v1/embeddings`, in OpenAI's format. Every refusal happens here, before anything is sent. */
import type { EmbeddingInput } from '#src/drivers/models/model.ts'
import type { Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { embeddingLimits } from '#src/platform/limits/embeddings.ts'
import { findUnknownKey, unknownKeySentence } from '#src/platform/shapes/unknown-keys.ts'
import type { EmbeddingOrder } from '../embeddings.ts'
import { readModel } from '../models/named.ts'
import type { Model } from '../models/rows.ts'

/** What a body asks for, and how the vectors are written. */
export type EmbeddingBody = Pick<EmbeddingOrder, 'model' | 'inputs' | 'dimensions' | 'user'> & {
  encoding: 'float' | 'base64'
}

const names: ReadonlySet<string> = new Set(['model', 'input', 'encoding_format', 'dimensions', 'user'])

/**
 * Reads the body. Null means absent.
 * @param body JSON that parseJson or checkJson accepted.
 * @throws BerthError unsupported_model, invalid_parameter, context_length_exceeded.
 */
export function readEmbeddingBody(config: Config, body: unknown): EmbeddingBody {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new BerthError('invalid_parameter', 'The body must be a JSON object with model and input.')
  const unknown = findUnknownKey(body, names)
  if (unknown !== undefined) throw new BerthError('invalid_parameter', unknownKeySentence('field', unknown, names))
  const fields = body as Readonly<Record<string, unknown>> // every key is read as unknown
  const model = readModel(config, fields['model'], 'embeddings')
  const encoding = fields['encoding_format'] ?? 'float'
  if (encoding !== 'float' && encoding !== 'base64') throw wrong('encoding_format', 'must be float or base64.')
  const user = fields['user'] ?? null
  if (user !== null && (typeof user !== 'string' || user.length > embeddingLimits.userLength))
    throw wrong('user', `must be a string of at most ${embeddingLimits.userLength} characters.`)
  const dimensions = readDimensions(fields['dimensions'] ?? null, model)
  const inputs = readInputs(fields['input'], model)
  const numbers = inputs.length * (dimensions ?? model.dimensions ?? 0)
  if (numbers > embeddingLimits.numbersMax)
    throw wrong(
      'input',
      `has ${inputs.length} items, whose embeddings together would have more than ${embeddingLimits.numbersMax} numbers. Send fewer in one request.`,
    )
  return { model, inputs, dimensions, user, encoding }
}

function readDimensions(value: unknown, { id, dimensions, flexibleDimensions }: Model): number | null {
  if (value === null || value === dimensions) return null
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1)
    throw wrong('dimensions', 'must be a whole number from 1.')
  if (!flexibleDimensions) throw wrong('dimensions', `must be ${dimensions}, or left out: ${id} makes no others.`)
  if (dimensions !== null && value > dimensions) throw wrong('dimensions', `must be at most ${dimensions} for ${id}.`)
  return value
}

/** A text, a list of texts, the tokens of a text, or a list of such. */
function readInputs(value: unknown, model: Model): EmbeddingInput[] {
  if (typeof value === 'string') return [readText(value, 'input')]
  if (!Array.isArray(value))
    throw wrong('input', 'is required: a text, a list of texts, a list of tokens, or a list of such lists.')
  if (value.length === 0) throw wrong('input', 'is empty. Send at least one text.')
  if (typeof value[0] === 'number') return [readTokens(value, 'input', model)]
  if (value.length > embeddingLimits.inputsMax)
    throw wrong('input', `has more than ${embeddingLimits.inputsMax} items. Send fewer in one request.`)
  const isOfTexts = typeof value[0] === 'string'
  return value.map((item: unknown, at) =>
    isOfTexts ? readText(item, `input[${at}]`) : readTokens(item, `input[${at}]`, model),
  )
}

function readText(value: unknown, place: string): string {
  if (typeof value !== 'string') throw wrong(place, 'must be a text like the items before it.')
  if (value === '') throw wrong(place, 'is empty. There is no embedding of an empty text: leave it out.')
  return value
}

function readTokens(value: unknown, place: string, { id, contextWindow }: Model): number[] {
  if (!Array.isArray(value)) throw wrong(place, 'must be a text or a list of tokens, like all items.')
  if (value.length === 0) throw wrong(place, 'is empty. There is no embedding of no tokens: leave it out.')
  if (value.length > contextWindow)
    throw new BerthError(
      'context_length_exceeded',
      `${place} has ${value.length} tokens, and ${id} reads ${contextWindow} of one text. Send it in pieces.`,
    )
  for (const token of value)
    if (typeof token !== 'number' || !Number.isInteger(token) || token < 0 || token > embeddingLimits.tokenMax)
      throw wrong(place, `must be a list of tokens, which are whole numbers from 0 to ${embeddingLimits.tokenMax}.`)
  return value as number[] // each was checked
}

function wrong(name: string, sentence: string): BerthError {
  return new BerthError('invalid_parameter', `${name} ${sentence}`)
}
