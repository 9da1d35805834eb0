/** A large value of `POST /sql` is written in parts, none of which holds the process. */
import { expect, test } from 'vitest'
import { shownResult } from '#src/edge/sql/answers.ts'

const stepCharactersMax = 6 * 64 * 1024
test.each([
  ['control characters', '\u0001', 25],
  ['pairs of characters', 'a\u{1F600}', 25],
  ['quotes', '"', 25],
  ['documents', '[],', 114],
])('a value of %s is whole, and written in small steps', (_what, piece, dataTypeID) => {
  const text = piece.repeat(1_000_000)
  const value = dataTypeID === 114 ? `[${text}0]` : text
  const field = {
    name: 'x',
    tableID: 0,
    columnID: 0,
    dataTypeID,
    dataTypeSize: -1,
    dataTypeModifier: -1,
    format: 'text',
  }
  const parts = [
    ...shownResult(
      { fields: [field], rows: 2, lists: [[value, 'null']], command: 'SELECT', rowCount: 2 },
      { arrayMode: false, rawText: false },
    ),
  ]
  expect(Math.max(...parts.map(({ length }) => length))).toBeLessThanOrEqual(stepCharactersMax)
  const { rows } = JSON.parse(parts.join('')) as { rows: { x: unknown }[] }
  expect(rows[0]?.x).toEqual(dataTypeID === 114 ? JSON.parse(value) : value)
})
