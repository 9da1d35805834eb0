/** The numbers of JSON: what is read and written again has the same ones, in every way in which Berth reads. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { readAnswer, readInlineAnswer } from '#src/platform/json/answers.ts'
import { parseJson } from '#src/platform/json/body.ts'
import {
  ExactNumber,
  isSameJson,
  mayHaveUnusualNumbers,
  NumberReader,
  parseExactly,
  withDoubles,
} from '#src/platform/json/numbers.ts'
import { readAtOnce, readInPieces } from '#src/platform/json/pieces.ts'
import { readStored } from '#src/platform/json/stored.ts'
import { sentenceOf } from '#src/platform/shapes.ts'
import { bodyText, isLargeJson, writeInPieces } from '#src/platform/json/text.ts'
import { canonical, jsonText, nasty, numberText } from '../contract/numbers/texts.ts'

const most = { parts: 1_000_000, numbers: 1_000_000 }
const readers: Readonly<Record<string, (text: string) => unknown>> = {
  'at once': parseExactly,
  'a small body': (text) => parseJson(Buffer.from(text)),
  stored: readStored,
  'in pieces': (text) => readInPieces(Buffer.from(text), most),
  'in one piece': (text) => readAtOnce(Buffer.from(text), most),
  'an answer': (text) => readAnswer(Buffer.from(text), most),
  'an event': (text) => readInlineAnswer(text),
}
const writers: Readonly<Record<string, (value: unknown) => Promise<string>>> = {
  'at once': async (value) => JSON.stringify(value),
  'a body': async (value) => String(await bodyText(value)),
  'in pieces': async (value) => Buffer.concat(await writeInPieces(value)).toString(),
}

test.each(Object.keys(readers))('what is read as %s and written again has the same numbers', async (reader) => {
  const check = async (text: string): Promise<void> => {
    const value = await readers[reader]!(text) // one of its own keys
    for (const [writer, write] of Object.entries(writers))
      expect(canonical(await write(value)), writer).toBe(canonical(text))
  }
  for (const number of nasty) await check(`{"a":${number},"b":[${number}, ${number}],"c":"${number}"}`)
  await check(`[${nasty.join(',\n')}]`)
  for (const number of nasty) await check(number)
  await fc.assert(fc.asyncProperty(jsonText, check), { numRuns: 300 })
})

test('texts that are too large to be read at once keep their numbers too', async () => {
  const text = `{"filler":"${'1e5 '.repeat(40_000)}","numbers":[${nasty.join()}]}`
  for (const read of Object.values(readers).slice(2))
    expect(canonical(String(await bodyText(await read(text))))).toBe(canonical(text))
})

test('a number stays a usual one exactly where a double is the same number', () => {
  fc.assert(
    fc.property(numberText, (text) => {
      const value = new NumberReader().read(text)
      expect(typeof value).toBe(canonical(JSON.stringify(Number(text))) === canonical(text) ? 'number' : 'function')
      expect(parseExactly(`[${text}]`)).toEqual([typeof value === 'number' ? value : expect.any(Function)])
    }),
    { numRuns: 2_000 },
  )
  for (const usual of ['1.0', '1.10', '1E5', '2.50e-3', '0.0', '9007199254740992', '1e21', '100000000000000000000'])
    expect(new NumberReader().read(usual), usual).toBe(Number(usual))
})

test('whoever wants an object, a text or a usual number refuses the others, and copies leave them alone', () => {
  const value = parseExactly('{"a":9007199254740993}') as { a: unknown } // of this text
  expect(typeof value.a).toBe('function')
  expect([Number.isInteger(value.a), Array.isArray(value.a), Object.keys(value.a as object)]).toEqual([
    false,
    false,
    [],
  ])
  expect(JSON.stringify({ ...value, b: [value.a] })).toBe('{"a":9007199254740993,"b":[9007199254740993]}')
  expect(`${String(value.a)}`).toBe('9007199254740993')
  expect(withDoubles({ ...value, b: ['x', new ExactNumber('1e400')] })).toEqual({ a: 2 ** 53, b: ['x', Infinity] })
  expect(() => structuredClone(value)).toThrow() // instead of sending something else to another thread
  expect(isLargeJson(Array.from({ length: 300 }, () => new ExactNumber('1'.repeat(1_000))))).toBe(true)
})

test('a shape that wants another number says that it was one', () => {
  const { error } = z.object({ count: z.int() }).safeParse(parseExactly('{"count":9007199254740993}'))
  expect(error && sentenceOf(error, 'given')).toBe(
    'given.count is not valid: Invalid input: expected number, received a number that a double would change.',
  )
})

test('two values are the same JSON when their numbers are, in any order of keys', () => {
  const same = (one: string, other: string): boolean => isSameJson(parseExactly(one), parseExactly(other))
  expect(same('{"a":9007199254740993,"b":[1]}', '{"b":[1.0],"a":9007199254740993}')).toBe(true)
  expect(same('[9007199254740993]', '[9007199254740992]')).toBe(false)
  expect(same('[9007199254740993]', '[9007199254740995]')).toBe(false)
  expect(same('[9007199254740993]', '["9007199254740993"]')).toBe(false)
})

test('many numbers that are the same are one in memory, and too many others are refused, but not in what was stored', async () => {
  const same = parseExactly(`[${'-0,'.repeat(1_000)}-0]`) as unknown[] // of this text
  expect(new Set(same).size).toBe(1)
  const others = Array.from({ length: 20_001 }, (_, at) => `1.${at}e400`)
  expect(() => readInlineAnswer(`[${others.join()}]`)).toThrow('more values than may be read')
  expect(readInlineAnswer(`[${others.slice(1).join()}]`)).toHaveLength(20_000)
  const body = `[${Array.from({ length: 50_001 }, (_, at) => `1.${at}e400`).join()}]`
  await expect(readInPieces(Buffer.from(body), most)).rejects.toThrow(
    'more than 50000 numbers that a double would change',
  )
  expect(await readStored(body)).toHaveLength(50_001)
})

test('a number that is longer than any that is kept is refused in words, in small and large bodies', async () => {
  const long = '1'.repeat(1_025)
  const sentence = 'The JSON has a number of more than 1024 characters. Send it as text, or with fewer digits.'
  expect(() => parseJson(Buffer.from(`[${long}]`))).toThrow(sentence)
  await expect(readInPieces(Buffer.from(`[${long}]`), most)).rejects.toThrow(sentence)
  expect(canonical(JSON.stringify(parseJson(Buffer.from(`[${long.slice(1)}]`))))).toBe(canonical(`[${long.slice(1)}]`))
})

test('texts without such numbers are not read twice', () => {
  const usual = [
    '{"id":"chatcmpl-019ab7e1-23e4-7e00-9e1e","created":1763000000,"choices":[{"index":0,"delta":{"content":"a 2 b e 3"}}]}',
    '{"at":"2026-11-27T00:45:43.123456Z","n":-1,"f":-0.5,"g":0.123456789,"h":[0,-0.25]}',
  ]
  for (const text of usual) expect(mayHaveUnusualNumbers(text), text).toBe(false)
  for (const number of nasty)
    for (const text of [number, `[${number}]`, `{"a": ${number}}`, `[1,${number}\n]`, `[\t${number},2]`])
      expect(mayHaveUnusualNumbers(text), text).toBe(true)
})
