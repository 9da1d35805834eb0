/**
 * The embeddings of the built-in model: vectors that are near each other when texts share words or parts of words. It
 * knows nothing of what words mean. The same text gives the same vector.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EmbeddingInput } from './model.ts'

/** How much of a text is looked at. Unit: characters. */
const textLengthMax = 64 * 1024
/** Longer words count by their beginning. Unit: characters. */
const wordLengthMax = 64
/** Parts of words, so that "boat" is near "boats". Unit: characters. */
const partLength = 3
const partWeight = 0.5
const word = /[\p{L}\p{N}]+/gu

/** So long it computes before others have their turn. */
const stepMs = 8

/** The vectors of these texts or tokens, each of length 1. @throws the signal's reason when it is aborted. */
export async function demoVectors(
  inputs: readonly EmbeddingInput[],
  dimensions: number,
  signal: AbortSignal,
): Promise<Float32Array[]> {
  const vectors: Float32Array[] = []
  let untilMs = performance.now() + stepMs
  for (const input of inputs) {
    vectors.push(vectorOf(input, dimensions))
    if (performance.now() < untilMs) continue
    await nextTurn()
    signal.throwIfAborted()
    untilMs = performance.now() + stepMs
  }
  return vectors
}

function vectorOf(input: EmbeddingInput, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions)
  if (typeof input === 'string') addText(vector, input)
  else for (const token of input) add(vector, String(token), 1)
  // A text without words has a vector too.
  if (vector.every((one) => one === 0)) vector[0] = 1
  const length = Math.sqrt(vector.reduce((sum, one) => sum + one * one, 0))
  return vector.map((one) => one / length)
}

function addText(vector: Float32Array, text: string): void {
  for (const [found] of text.slice(0, textLengthMax).toLowerCase().matchAll(word)) {
    const known = found.slice(0, wordLengthMax)
    add(vector, known, 1)
    for (let at = 0; at + partLength <= known.length; at++) add(vector, known.slice(at, at + partLength), partWeight)
  }
}

/** Adds a feature at a place that its hash chooses, with the sign that the hash chooses. */
function add(vector: Float32Array, feature: string, weight: number): void {
  const hash = hashOf(feature)
  const at = (hash >>> 1) % vector.length
  vector[at] = (vector[at] ?? 0) + (hash & 1 ? weight : -weight)
}

/** FNV-1a with a final mix: 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return (hash ^ (hash >>> 13)) >>> 0
}
