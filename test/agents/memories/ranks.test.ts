/** Vectors and ranks, by themselves. */
import { expect, test } from 'vitest'
import { memoryLimits } from '#src/platform/limits/memories.ts'
import { bytesOfVector, fuseRanks, ofLengthOne, signsOf, similarity } from '#src/resources/agents/memories/ranks.ts'

test('what is in both rankings comes before what is first in one; of equals the one of the first ranking', () => {
  expect(
    fuseRanks(
      [
        ['a', 'b', 'c'],
        ['d', 'c', 'e'],
      ],
      10,
    ),
  ).toEqual(['c', 'a', 'd', 'b', 'e'])
  expect(fuseRanks([['a', 'b'], []], 1)).toEqual(['a'])
  expect(fuseRanks([[], ['x', 'y']], 5)).toEqual(['x', 'y'])
  expect(fuseRanks([[], []], 5)).toEqual([])
})

test('the similarity of vectors is the cosine of their angle, whatever their lengths, as they are stored too', () => {
  const of = (...numbers: number[]): Float32Array => ofLengthOne(Float32Array.from(numbers))
  const compare = (one: Float32Array, other: Float32Array): number => similarity(one, bytesOfVector(other))
  expect(compare(of(3, 4), of(30, 40))).toBeCloseTo(1)
  expect(compare(of(1, 0), of(0, 5))).toBeCloseTo(0)
  expect(compare(of(1, 0), of(-2, 0))).toBeCloseTo(-1)
  expect(compare(of(1, 0), of(1, 1))).toBeCloseTo(Math.SQRT1_2)
  expect(compare(of(0, 0), of(1, 1))).toBe(0) // one without a direction is near nothing
})

test('the signs are those of the first numbers, and no more than are compared', () => {
  expect(signsOf(Float32Array.from([0.5, -0.5, 0, -1]))).toBe('1010')
  expect(signsOf(new Float32Array(10_000)).length).toBe(memoryLimits.vectorSigns)
})
