/** Texts that are cut lose no half of a character. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { closingBytes, endOf, openBytes, startOf, startOfUtf8, relevantLines } from '#src/platform/texts.ts'

const text = fc.string({ unit: 'binary', maxLength: 20 })
const most = fc.nat({ max: 24 })

test('the beginning and the end of a text are as long as they may be, and end between characters', () => {
  fc.assert(
    fc.property(text, most, (whole, length) => {
      for (const [part, rest] of [
        [startOf(whole, length), whole.slice(startOf(whole, length).length)],
        [endOf(whole, length), whole.slice(0, whole.length - endOf(whole, length).length)],
      ] as const) {
        expect(part.length).toBeLessThanOrEqual(length)
        expect(part.length).toBeGreaterThanOrEqual(Math.min(whole.length, length) - 1)
        expect(part.isWellFormed() && rest.isWellFormed()).toBe(true)
      }
      expect(whole.startsWith(startOf(whole, length)) && whole.endsWith(endOf(whole, length))).toBe(true)
    }),
  )
})

test('the beginning of UTF-8 has whole characters only, and what was no UTF-8 before is shown as before', () => {
  fc.assert(
    fc.property(text, most, (whole, length) => {
      const bytes = Buffer.from(whole)
      const part = startOfUtf8(bytes, length)
      expect(whole.startsWith(part)).toBe(true)
      expect(Buffer.byteLength(part)).toBeGreaterThanOrEqual(Math.min(bytes.length, length) - 3)
    }),
  )
  expect(startOfUtf8(Buffer.from([0x61, 0xe2]), 2)).toBe('a\ufffd')
})

test('bytes of characters that were cut are counted at both ends', () => {
  fc.assert(
    fc.property(text, most, (whole, at) => {
      const bytes = Buffer.from(whole)
      const [before, behind] = [bytes.subarray(0, at), bytes.subarray(at)]
      const start = before.toString('utf8', 0, before.length - openBytes(before))
      const end = behind.toString('utf8', closingBytes(behind))
      expect(whole.startsWith(start) && whole.endsWith(end)).toBe(true)
      expect((start + end).includes('\ufffd')).toBe(whole.includes('\ufffd') && (start + end).includes('\ufffd'))
    }),
  )
})

test('of a program’s output, the first line that names an error is shown whole, and whole last lines', () => {
  const npm = [
    'npm warn deprecated something@1.0.0: use another one',
    'npm error code E404',
    `npm error 404 Not Found - GET https://registry.example/${'a'.repeat(120)} - Not found`,
    ...Array.from({ length: 40 }, (_, at) => `npm error 404 In most cases you are not the only one (${at})`),
    'npm error A complete log of this run can be found in: /home/user/.npm/_logs/x.log',
  ]
  const shown = relevantLines(npm.join('\n'), 600).split('\n')
  expect(shown.slice(0, 2)).toEqual(npm.slice(1, 3))
  expect(shown.at(-1)).toBe(npm.at(-1))
  expect(shown.filter((line) => line !== '…' && !npm.includes(line))).toEqual([])
  expect(relevantLines('one\ntwo\nthree', 9)).toBe('three')
  expect(relevantLines(`fatal: ${'x'.repeat(100)}`, 50)).toBe(`fatal: ${'x'.repeat(41)}`)
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('', 'a', 'error', 'x'.repeat(30), 'fatal: no'), { maxLength: 30 }),
      fc.integer({ min: 2, max: 80 }),
      (lines, length) => {
        expect(relevantLines(lines.join('\n'), length).length).toBeLessThanOrEqual(length)
      },
    ),
  )
})
