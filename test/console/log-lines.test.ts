/** A log as the console holds it: every line once, with its number, whatever pieces it comes in. */
import { expect, test } from 'vitest'
import { LogLines } from '../../console/parts/log-lines.ts'
import { straightPlaces, WrappedPlaces } from '../../console/parts/log-rows.ts'

function logOf(...pieces: string[]): LogLines {
  const lines = new LogLines()
  for (const piece of pieces) lines.add(piece)
  return lines
}
const read = (lines: LogLines, from = 1, count = 10) =>
  lines.read(from, count).map(({ number, text }) => [number, text])

test('lines are the same in whatever pieces they come', () => {
  const text = 'one\n\ntwo \u001b[31mred\u001b[0m\nthree'
  for (let at = 0; at <= text.length; at++) {
    const lines = logOf(text.slice(0, at), text.slice(at))
    expect(read(lines)).toEqual([
      [1, 'one'],
      [2, ''],
      [3, 'two \u001b[31mred\u001b[0m'],
      [4, 'three'],
    ])
    expect(lines.text()).toBe(text)
  }
  expect(logOf('one\n').count).toBe(1)
  expect(logOf().count).toBe(0)
})

test('a line without an end is broken, and goes on in the next', () => {
  const lines = logOf(...Array.from({ length: 25 }, () => 'x'.repeat(1_000)), '\nlast')
  expect(read(lines).map(([number, text]) => [number, String(text).length])).toEqual([
    [1, 10_000],
    [2, 10_000],
    [3, 5_000],
    [4, 4],
  ])
})

test('of a long log the last 100,000 lines are held, with their own numbers', () => {
  const lines = new LogLines()
  for (let number = 1; number <= 250_000; number++) lines.add(`line ${number}\n`)
  expect(lines.count).toBe(250_000)
  expect(250_000 - lines.first).toBeGreaterThanOrEqual(100_000)
  expect(250_000 - lines.first).toBeLessThan(110_000)
  expect(read(lines, 249_999)).toEqual([
    [249_999, 'line 249999'],
    [250_000, 'line 250000'],
  ])
  expect(read(lines, 1, 1)).toEqual([[lines.first, `line ${lines.first}`]])
})

test('long lines are held up to a number of characters', () => {
  const lines = new LogLines()
  for (let number = 1; number <= 10_000; number++) lines.add(`${number}${'x'.repeat(9_990)}\n`)
  expect(lines.text().length).toBeLessThan(68 * 1024 * 1024)
  expect(lines.read(10_000, 1)[0]?.text).toMatch(/^10000x/)
})

test('words are found from a line on, in both directions, round the end, in any case', () => {
  const lines = logOf('alpha\nBeta\ngamma\nbeta')
  expect(lines.find('beta', 1, 1)).toBe(2)
  expect(lines.find('beta', 2, 1)).toBe(4)
  expect(lines.find('beta', 4, 1)).toBe(2)
  expect(lines.find('BETA', 2, -1)).toBe(4)
  expect(lines.find('alpha', 1, 1)).toBe(1)
  expect(lines.find('delta', 1, 1)).toBeUndefined()
  expect(logOf().find('a', 1, 1)).toBeUndefined()
})

test('a line has the time of its first piece, also when it ends in a later one or is broken', () => {
  const lines = new LogLines()
  lines.add('one\ntw', 1_000)
  lines.add('o\nthree\n', 2_000)
  lines.add('x'.repeat(25_000), 3_000)
  lines.add('end\nlast', 4_000)
  expect(lines.read(1, 10).map(({ number, atMs }) => [number, atMs])).toEqual([
    [1, 1_000],
    [2, 1_000],
    [3, 2_000],
    [4, 3_000],
    [5, 3_000],
    [6, 3_000],
    [7, 4_000],
  ])
  expect(logOf('no time\n').read(1, 1)).toEqual([{ number: 1, text: 'no time', atMs: undefined }])
})

test('wrapped lines take the rows of their length, and those in which they were drawn', () => {
  const lines = logOf('short\n', `${'x'.repeat(25)}\n`, '\n', 'y'.repeat(10))
  const places = new WrappedPlaces(lines).follow(10)
  const above = () => [1, 2, 3, 4].map((line) => places.above(line))
  expect([above(), places.total]).toEqual([[0, 1, 4, 5], 6])
  expect([0, 1, 3, 4, 5, 99].map((row) => places.lineAt(row))).toEqual([1, 2, 2, 3, 4, 4])
  expect([places.know(2, 3), places.know(2, 4)]).toEqual([false, true])
  expect([above(), places.total]).toEqual([[0, 1, 5, 6], 7])
  expect([places.know(4, 2), places.follow(10).total]).toEqual([true, 8]) // the last line stays as it was drawn while nothing comes
  lines.add('y\nmore')
  expect([above(), places.follow(10).total]).toEqual([[0, 1, 5, 6], 9])
  expect(places.follow(5).total).toBe(1 + 5 + 1 + 3 + 1)
})

test('what is left out of a long log was above, in rows too', () => {
  const lines = new LogLines()
  const places = new WrappedPlaces(lines)
  for (let number = 1; number <= 120_000; number++) {
    lines.add(`${'x'.repeat(15)}\n`)
    if (number % 1_000 === 0) places.follow(10)
  }
  const held = lines.count - lines.first + 1
  expect([places.total, places.left]).toEqual([2 * held, 2 * (lines.first - 1)])
  expect([places.lineAt(0), places.lineAt(2 * held)]).toEqual([lines.first, lines.count])
  const straight = straightPlaces(lines)
  expect([straight.total, straight.left, straight.lineAt(7)]).toEqual([held, lines.first - 1, lines.first + 7])
})
