/** Embeddings as JSON: written in steps, because they may be large, and others are waiting for their turn. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { base64OfVector } from '#src/drivers/models/embeddings.ts'

const stepMs = 8
/** As many digits as tell any two 32-bit numbers apart. */
const digits = 9

/**
 * The body of an answer.
 * @param rest what the body has after the vectors.
 */
export async function embeddingsText(
  vectors: readonly Float32Array[],
  encoding: 'float' | 'base64',
  rest: Readonly<Record<string, unknown>>,
): Promise<Buffer> {
  const pieces: Buffer[] = []
  let before = '{"object":"list","data":['
  let untilMs = performance.now() + stepMs
  for (const [index, vector] of vectors.entries()) {
    const text = encoding === 'base64' ? `"${base64OfVector(vector)}"` : numbersOf(vector)
    pieces.push(Buffer.from(`${before}{"object":"embedding","index":${index},"embedding":${text}}`))
    before = ','
    if (performance.now() < untilMs) continue
    await nextTurn()
    untilMs = performance.now() + stepMs
  }
  pieces.push(Buffer.from(`],${JSON.stringify(rest).slice(1)}`))
  return Buffer.concat(pieces)
}

/** The numbers without the digits that 32 bits do not have. */
function numbersOf(vector: Float32Array): string {
  return `[${Array.from(vector, (one) => Number(one.toPrecision(digits))).join(',')}]`
}
