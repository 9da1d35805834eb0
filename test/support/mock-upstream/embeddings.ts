/**
 * How a mock upstream writes embeddings: as many numbers as the request wants, or else as the number at the end of the
 * model's name says. The first is the place of the input, the second how many tokens it has, all others 0.5.
 */
import { tokensOf } from '#src/drivers/models/estimates.ts'
import type { MakeWriter } from './formats.ts'
import { inputsOf } from './requests.ts'

const usualDimensions = 4
const bytesPerNumber = 4

/** OpenAI's embeddings, in the encoding that was requested. */
export const embeddingsWriter: MakeWriter = (request, script) => ({
  start: () => '',
  frames: () => [],
  error: () => '',
  end: () => '',
  whole() {
    const { body, model, inputTokens } = request
    const [, named] = /-(\d+)$/.exec(model) ?? []
    const dimensions = Number(body['dimensions'] ?? named ?? usualDimensions)
    const data = inputsOf(body).map((input, index) => {
      const tokens = typeof input === 'string' ? tokensOf(input.length) : input.length
      const vector = [index, tokens, ...Array<number>(dimensions).fill(0.5)].slice(0, dimensions)
      return { object: 'embedding', index, embedding: body['encoding_format'] === 'base64' ? packed(vector) : vector }
    })
    return {
      object: 'list',
      data: data.toReversed(), // the order is not promised
      model,
      ...(script.usage !== 'none' && { usage: { prompt_tokens: inputTokens, total_tokens: inputTokens } }),
    }
  },
})

function packed(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * bytesPerNumber)
  for (const [at, one] of vector.entries()) bytes.writeFloatLE(one, at * bytesPerNumber)
  return bytes.toString('base64')
}
