/** The body and the answer of `POST /v1/embeddings` for OpenAPI, written by hand as its handler is. */
import { embeddingLimits } from '#src/platform/limits/embeddings.ts'
import { list, object, oneOf, text, titled, wholeNumber } from '../openapi/json-schema.ts'
import type { JsonSchema } from '../routes.ts'
import { chatHeaders } from './chat-answer-schemas.ts'

const tokens: JsonSchema = {
  type: 'array',
  minItems: 1,
  items: { type: 'integer', minimum: 0, maximum: embeddingLimits.tokenMax },
}
const oneText: JsonSchema = { type: 'string', minLength: 1 }
const several = (items: JsonSchema): JsonSchema => ({
  type: 'array',
  minItems: 1,
  maxItems: embeddingLimits.inputsMax,
  items,
})

/** The body. */
export const embeddingsBody = titled('CreateEmbeddingsInput', {
  ...object(
    {
      model: { ...text, description: 'The id of a model of kind embeddings from GET /v1/models.' },
      input: {
        anyOf: [oneText, several(oneText), tokens, several(tokens)],
        description: 'A text, a list of texts, the tokens of a text, or a list of such.',
      },
    },
    {
      encoding_format: {
        type: ['string', 'null'],
        enum: ['float', 'base64', null],
        description: 'float by default; base64 is 32-bit floats, least significant byte first.',
      },
      dimensions: {
        type: ['integer', 'null'],
        minimum: 1,
        description: 'Fewer numbers than the model’s dimensions, for one with flexible_dimensions.',
      },
      user: { type: ['string', 'null'], maxLength: embeddingLimits.userLength, description: 'Passed on.' },
    },
  ),
  additionalProperties: false,
})

/** The answer. */
export const embeddingList = titled(
  'EmbeddingList',
  object({
    object: oneOf('list'),
    data: list(
      titled(
        'Embedding',
        object({
          object: oneOf('embedding'),
          index: { ...wholeNumber, description: 'The place of its input, from 0.' },
          embedding: { anyOf: [list({ type: 'number' }), { type: 'string', contentEncoding: 'base64' }] },
        }),
      ),
    ),
    model: text,
    usage: object({ prompt_tokens: wholeNumber, total_tokens: wholeNumber }),
  }),
)

const { 'x-berth-upstream': _begun, ...shared } = chatHeaders
/** Headers of the answer. */
export const embeddingHeaders: Readonly<Record<string, string>> = { 'x-berth-upstream': 'Who answered.', ...shared }
