/** Vectors and ranks: how near texts are to each other, and one order made of two. */
import { memoryLimits } from '#src/platform/limits/memories.ts'

const bytesPerNumber = 4

/** The same direction, with length 1, so that a product of two is the cosine of their angle. One without a direction stays as it is. */
export function ofLengthOne(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector)
  return length > 0 ? vector.map((one) => one / length) : vector
}

/** The signs of the first numbers, as Postgres reads bits: a 1 for each that is not negative. */
export function signsOf(vector: Float32Array): string {
  return Array.from(vector.subarray(0, memoryLimits.vectorSigns), (one) => (one < 0 ? '0' : '1')).join('')
}

/** A vector as it is stored. */
export function bytesOfVector(vector: Float32Array): Buffer {
  const bytes = Buffer.allocUnsafe(vector.length * bytesPerNumber)
  for (const [at, one] of vector.entries()) bytes.writeFloatLE(one, at * bytesPerNumber)
  return bytes
}

/** The cosine of the angle between a vector and a stored one, both of length 1. */
export function similarity(vector: Float32Array, stored: Buffer): number {
  const numbers = new DataView(stored.buffer, stored.byteOffset, stored.byteLength)
  let sum = 0
  for (let at = 0; at < vector.length; at++) sum += (vector[at] ?? 0) * numbers.getFloat32(at * bytesPerNumber, true)
  return sum
}

/** The constant of reciprocal rank fusion, as Cormack, Clarke and Büttcher chose it (2009). */
const rankOffset = 60

/**
 * One order of several: what is among the first in many comes first. Of equals the one of the earlier ranking is first.
 * @param rankings ids, best first.
 */
export function fuseRanks(rankings: readonly (readonly string[])[], most: number): string[] {
  const scores = new Map<string, number>()
  for (const ranking of rankings)
    for (const [at, id] of ranking.entries()) scores.set(id, (scores.get(id) ?? 0) + 1 / (rankOffset + at + 1))
  return [...scores]
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, most)
    .map(([id]) => id)
}
