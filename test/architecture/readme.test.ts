/** The README is a door: short enough to be read whole. What it names is checked with all documents (docs.test.ts). */
import { statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { root } from './sources.ts'

const largestReadmeBytes = 12_000

test('the README is short enough to be read completely', () => {
  expect(statSync(`${root}/README.md`).size).toBeLessThanOrEqual(largestReadmeBytes)
})
