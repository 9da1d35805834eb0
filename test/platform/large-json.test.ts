/** JSON of many MiB: read and written in steps, exactly as at once. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseExactly } from '#src/platform/json/numbers.ts'
import { hasManyParts } from '#src/platform/json/parts.ts'
import { readInPieces, type Json } from '#src/platform/json/pieces.ts'
import { isLargeJson, writeInPieces } from '#src/platform/json/text.ts'
import { checkJson, parseJson } from '#src/platform/json/body.ts'
import { sha256, sha256InSteps } from '#src/platform/secrets.ts'

const most = { parts: 1_000_000, numbers: 1_000_000 }
const read = (text: string): Promise<Json> => readInPieces(Buffer.from(text), most)

/** The longest time in which nothing else ran while the work was done, by this process's own processor time. Unit: ms. */
async function longestStep(work: () => Promise<unknown>): Promise<number> {
  let isOver = false
  let longestMs = 0
  let before = process.threadCpuUsage()
  const look = (): void => {
    const { user, system } = process.threadCpuUsage(before)
    longestMs = Math.max(longestMs, (user + system) / 1000)
    before = process.threadCpuUsage()
    if (!isOver) setImmediate(look)
  }
  look()
  await work()
  isOver = true
  return longestMs
}

describe('a large body', () => {
  test('is read as JSON.parse reads it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 5 }), fc.integer({ min: 0, max: 3 }), async (value, indent) => {
        const text = JSON.stringify(value, null, indent)
        fc.pre(!text.includes('"__proto__"')) // which is dropped; see below
        expect(await read(text)).toEqual(JSON.parse(text))
      }),
      { numRuns: 300 },
    )
  })

  test('is refused exactly where JSON.parse refuses it', async () => {
    const pieces = [
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"',
      '1',
      '-',
      '0',
      '.5',
      'e3',
      'true',
      'nul',
      ' ',
      '\n',
      '\\',
      '\\u00e9',
      '\t',
      '1e',
      '""',
      '\u0001',
      'null',
      '"\\x"',
      '"b\\n"',
    ]
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 8 }), async (parts) => {
        const text = parts.join('')
        const outcome = await read(text).then(
          (value) => JSON.stringify(value),
          () => 'refused',
        )
        let expected: string
        try {
          expected = JSON.stringify(parseExactly(text))
        } catch {
          expected = 'refused'
        }
        expect(outcome, text).toBe(expected)
      }),
      { numRuns: 3_000 },
    )
  })

  test.each<[string, string, string]>([
    ['NUL', '["\\u0000"]', 'NUL'],
    ['half a character', '["\\ud83d"]', 'surrogate'],
    ['half a character at a seam', `["${'a'.repeat(128 * 1024 - 6)}\\ud83dx"]`, 'surrogate'],
    ['65 levels', '['.repeat(65) + ']'.repeat(65), '64 levels'],
    ['too many parts', `[${'[],'.repeat(11)}0]`, 'more than 10 objects'],
    ['too many numbers', `[${'0,'.repeat(21)}0]`, 'more than 20 numbers'],
    ['a number that never ends', `[${'1'.repeat(5_000)}]`, 'more than 1024 characters'],
  ])('with %s is refused with a sentence', async (_what, text, sentence) => {
    const few = text.startsWith('[[],') || text.startsWith('[0,') ? { parts: 10, numbers: 20 } : most
    await expect(readInPieces(Buffer.from(text), few)).rejects.toThrow(sentence)
  })

  test('drops __proto__ and keeps characters whole at every seam', async () => {
    expect(Object.keys((await read('{"__proto__": {"a": 1}, "b": 2}')) as object)).toEqual(['b'])
    for (const character of ['😀', 'é', '日', '\\ud83d\\ude00', '\\n', '\\"']) {
      for (let before = 0; before < 7; before++) {
        const text = `"${'x'.repeat(before)}${character.repeat(40_000)}"`
        expect((await read(text)) === JSON.parse(text), `${character} after ${before}`).toBe(true)
      }
    }
  })

  const bytes = 32 * 1024 * 1024
  const filled = (piece: string): string => piece.repeat(Math.floor((bytes - 64) / Buffer.byteLength(piece)))
  test.each<[string, () => string]>([
    ['one text', () => `"${filled('a')}"`],
    ['escapes', () => `"${filled('\\u0041')}"`],
    ['line ends', () => `"${filled('\\n')}"`],
    ['quotes', () => `"${filled('\\"')}"`],
    ['emoji', () => `"${filled('😀')}"`],
    ['spaces', () => `${filled(' ')}1`],
    ['brackets', () => `[${filled('[],')}0]`],
    ['open brackets', () => filled('[')],
    ['braces', () => `[${filled('{},')}0]`],
    ['numbers', () => `[${filled('0,')}0]`],
    ['texts', () => `[${filled('"abc",')}0]`],
    ['keys', () => `{${Array.from({ length: 90_000 }, (_, i) => `"k${i}":"v"`).join(',')}}`],
    ['shapes', () => `[${Array.from({ length: 30_000 }, (_, i) => `{"k${i}":0,"z${i}":1}`).join(',')}]`],
  ])('of 32 MiB of %s lets everything else go on', async (_what, make) => {
    const body = Buffer.from(make())
    const steps: number[] = []
    for (let time = 0; time < 3; time++)
      steps.push(
        await longestStep(() =>
          readInPieces(body, { parts: 200_000, numbers: 300_000 }).catch((error: Error) =>
            expect(error.message).toMatch(/more than|nested|not valid/),
          ),
        ),
      )
    expect(Math.min(...steps)).toBeLessThan(50)
  })
})

describe('a large value', () => {
  test('is written as JSON.stringify writes it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 5 }), async (value) => {
        expect(Buffer.concat(await writeInPieces(value)).toString()).toBe(JSON.stringify(value))
      }),
      { numRuns: 300 },
    )
    for (const piece of ['a', '"', '\n', '😀', 'x😀', '\ud83d']) {
      const value = { text: [piece.repeat(100_000)], no: undefined, none: null }
      expect(Buffer.concat(await writeInPieces(value)).toString() === JSON.stringify(value), piece).toBe(true)
    }
  })

  test('of 32 MiB lets everything else go on', async () => {
    const value = { text: '\n'.repeat(32 * 1024 * 1024) }
    const steps: number[] = []
    for (let time = 0; time < 3; time++) steps.push(await longestStep(() => writeInPieces(value)))
    expect(Math.min(...steps)).toBeLessThan(50)
  })

  test('is one of many texts or parts', () => {
    expect(
      [{ a: 'x' }, { a: ['x'.repeat(300_000)] }, Array.from({ length: 50_000 }, () => 0)].map((value) =>
        isLargeJson(value),
      ),
    ).toEqual([false, true, true])
  })
})

test('a message with many parts is recognised without reading its texts', () => {
  expect(
    [`{"a":"${'[,:{'.repeat(100)}\\""}`, '[1,2,3,4,5]', `["${',\\"'.repeat(50)}",1]`].map((text) =>
      hasManyParts(Buffer.from(text), 4),
    ),
  ).toEqual([false, true, false])
})

test('a digest in steps is the digest', async () => {
  const bytes = Buffer.alloc(9 * 1024 * 1024, 'abc')
  expect(await sha256InSteps(bytes)).toEqual(sha256(bytes))
  expect(await sha256InSteps(Buffer.alloc(0))).toEqual(sha256(''))
})

test('a body that is read at once has the same checks', () => {
  expect(() => parseJson('["\\u0000"]') && checkJson(['\0'])).toThrow('NUL')
})
