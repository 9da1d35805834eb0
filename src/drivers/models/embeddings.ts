/** Embeddings: vectors of texts, asked of upstreams in OpenAI's format, or made by the built-in model. */
import { isBase64 } from '#src/platform/json/base64.ts'
import { ExactNumber } from '#src/platform/json/numbers.ts'
import { demoVectors } from './demo-embeddings.ts'
import { tokensOf } from './estimates.ts'
import { countOf, objectOf } from './json-values.ts'
import type { EmbeddingInput, UpstreamKind, UpstreamTarget } from './model.ts'
import { askForJson } from './upstream-answers.ts'
import { brokenAnswer } from './upstream-errors.ts'
import { bearerHeaders } from './wire-formats.ts'

/** A request for embeddings. */
export type EmbeddingRequest = {
  inputs: readonly EmbeddingInput[]
  /** How many numbers each vector has. */
  dimensions: number
  /** Whether that is fewer than the model's own number, so that the upstream must be told. */
  isShortened: boolean
  /** The caller's own name for their user, passed on. */
  user: string | null
}

/** A vector for each input, in the same order, and the tokens of all inputs. */
export type EmbeddingAnswer = { vectors: readonly Float32Array[]; inputTokens: number }

/**
 * Asks an upstream for embeddings.
 * @throws BerthError like AskUpstream in model.ts.
 */
export async function askForEmbeddings(
  kind: UpstreamKind,
  target: UpstreamTarget,
  request: EmbeddingRequest,
  signal: AbortSignal,
): Promise<EmbeddingAnswer> {
  if (kind === 'demo')
    return {
      vectors: await demoVectors(request.inputs, request.dimensions, signal),
      inputTokens: inputTokens(request.inputs),
    }
  const { inputs, dimensions, isShortened, user } = request
  const body = {
    model: target.upstreamModel,
    input: inputs,
    // A quarter of the bytes. Not every other server knows it, so those send numbers as they are used to.
    encoding_format: kind === 'openai' ? 'base64' : undefined,
    dimensions: isShortened ? dimensions : undefined,
    user: user ?? undefined,
  }
  const answer = await askForJson(target, { path: '/embeddings', headers: bearerHeaders(target), body }, signal)
  const usage = objectOf(answer['usage'])
  return {
    vectors: readVectors(target, answer['data'], request),
    inputTokens: countOf(usage?.['prompt_tokens']) || inputTokens(inputs), // some servers report 0 for what they do not count
  }
}

/** The tokens of these inputs, of texts estimated. */
export function inputTokens(inputs: readonly EmbeddingInput[]): number {
  return inputs.reduce((sum, input) => sum + (typeof input === 'string' ? tokensOf(input.length) : input.length), 0)
}

/** The vectors in the order of the inputs, whatever the order in which they came. */
function readVectors(target: UpstreamTarget, data: unknown, { inputs, dimensions }: EmbeddingRequest): Float32Array[] {
  if (!Array.isArray(data) || data.length !== inputs.length)
    throw brokenAnswer(target, 'sent another number of embeddings than were requested')
  const vectors: (Float32Array | undefined)[] = Array.from(inputs, () => undefined)
  for (const [place, value] of data.entries()) {
    const one = objectOf(value)
    const index = countOf(one?.['index']) ?? place
    if (!one || index >= inputs.length || vectors[index])
      throw brokenAnswer(target, 'sent embeddings that belong to no input')
    vectors[index] = readVector(target, one['embedding'], dimensions)
  }
  return vectors as Float32Array[] // each place was filled once
}

function readVector(target: UpstreamTarget, value: unknown, dimensions: number): Float32Array {
  const vector = Array.isArray(value)
    ? vectorOfNumbers(value)
    : typeof value === 'string'
      ? vectorOfBase64(value)
      : null
  if (!vector?.every(Number.isFinite)) throw brokenAnswer(target, 'sent an embedding that is not a list of numbers')
  if (vector.length !== dimensions)
    throw brokenAnswer(target, `sent an embedding of ${vector.length} numbers instead of ${dimensions}`)
  return vector
}

function vectorOfNumbers(values: readonly unknown[]): Float32Array | null {
  const doubles = values.map((one) => (one instanceof ExactNumber ? one.toNumber() : one)) // with more digits than matter
  return doubles.every((one) => typeof one === 'number') ? Float32Array.from(doubles) : null
}

const bytesPerNumber = 4

/** OpenAI's encoding: 32-bit floats, least significant byte first. */
function vectorOfBase64(text: string): Float32Array | null {
  if (!isBase64(text)) return null
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length % bytesPerNumber !== 0) return null
  const vector = new Float32Array(bytes.length / bytesPerNumber)
  for (let at = 0; at < vector.length; at++) vector[at] = bytes.readFloatLE(at * bytesPerNumber)
  return vector
}

/** A vector in that encoding. */
export function base64OfVector(vector: Float32Array): string {
  const bytes = Buffer.allocUnsafe(vector.length * bytesPerNumber)
  for (let at = 0; at < vector.length; at++) bytes.writeFloatLE(vector[at] ?? 0, at * bytesPerNumber)
  return bytes.toString('base64')
}
