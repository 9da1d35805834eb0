/** The arithmetic that every benchmark uses. */
import { expect, test } from 'vitest'
import { inRounds, median, quantile, ratioOf } from './rounds.ts'

test('the median and the quantiles are those of the sorted values', () => {
  expect(median([3, 1, 2])).toBe(2)
  expect(median([4, 1, 3, 2])).toBe(2.5)
  expect(quantile([5, 1, 4, 2, 3], 0.99)).toBe(5)
  expect(quantile([5, 1, 4, 2, 3], 0.2)).toBe(1)
  expect(median([])).toBeNaN()
})

test('a ratio is the median of the rounds’ own ratios, so a slow round that hits both changes nothing', () => {
  expect(ratioOf([80, 8, 80], [100, 10, 100])).toBeCloseTo(0.8)
})

test('every candidate is measured once in each round, and each is first in turn', async () => {
  const order: string[] = []
  const measured = await inRounds(2, ['a', 'b', 'c'], async (name) => {
    order.push(name)
    return `${name}${order.length}`
  })
  expect(order).toEqual(['a', 'b', 'c', 'b', 'c', 'a'])
  expect(measured).toEqual([
    ['a1', 'a6'],
    ['b2', 'b4'],
    ['c3', 'c5'],
  ])
})
