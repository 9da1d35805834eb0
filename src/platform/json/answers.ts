/**
 * JSON responses of other services: large ones are parsed in steps, so that the event loop is not blocked, and one with
 * too many parts is refused before it is parsed.
 */
import { isUtf8 } from 'node:buffer'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { BerthError } from '#src/platform/errors.ts'
import { mayHaveUnusualNumbers, parseExactly } from './numbers.ts'
import { hasManyParts } from './parts.ts'
import { readAtOnce, readInPieces, type JsonLimits } from './pieces.ts'
import { limits } from '#src/platform/limits.ts'

/** How many numbers of one text that is parsed at once may be such that a double would change them. */
const unusualNumbersMax = 20_000

const sentences = {
  not_json: 'the answer is not valid JSON',
  too_many_parts: 'the answer has more values than may be read',
  too_deep: 'the answer is nested deeper than may be read',
} as const

/** The answer cannot be read: it is not JSON, has too many parts, or is nested too deep. */
export class JsonAnswerError extends Error {
  readonly reason: 'not_json' | 'too_many_parts' | 'too_deep'
  constructor(reason: JsonAnswerError['reason'], cause?: unknown) {
    super(sentences[reason], { cause })
    this.name = 'JsonAnswerError'
    this.reason = reason
  }
}

/** The limits of an answer. */
export type AnswerLimits = Pick<JsonLimits, 'parts' | 'numbers'>

/** Reads a whole answer. @throws JsonAnswerError */
export async function readAnswer(bytes: Buffer, most: AnswerLimits): Promise<unknown> {
  if (bytes.length <= limits.jsonInlineBytes) return readInlineAnswer(bytes.toString())
  await nextTurn() // it was assembled just now, which is a step of its own
  if (!isUtf8(bytes)) throw new JsonAnswerError('not_json')
  await nextTurn()
  try {
    return await readInPieces(bytes, { ...most, depth: limits.answerDepth, anyText: true })
  } catch (error) {
    throw unreadable(error)
  }
}

function unreadable(error: unknown): JsonAnswerError {
  const isTooMuch = error instanceof BerthError && error.code === 'request_too_large'
  return new JsonAnswerError(isTooMuch ? 'too_many_parts' : 'not_json', error)
}

/**
 * Parses an answer of at most 1 MiB at once, after counting its commas, colons and brackets.
 * @throws JsonAnswerError
 */
export function readInlineAnswer(text: string, partsMax: number = limits.answerEventParts): unknown {
  if (text.length > limits.jsonInlineBytes && hasManyParts(Buffer.from(text), partsMax))
    throw new JsonAnswerError('too_many_parts')
  if (isTooDeep(text)) throw new JsonAnswerError('too_deep')
  try {
    if (text.length <= limits.jsonInlineBytes || !mayHaveUnusualNumbers(text)) return parseExactly(text)
    return readAtOnce(Buffer.from(text), {
      parts: partsMax,
      numbers: partsMax,
      keys: partsMax,
      depth: limits.answerDepth,
      anyText: true,
      unusualNumbers: unusualNumbersMax,
    })
  } catch (error) {
    throw unreadable(error)
  }
}

/**
 * Whether a text is nested too deep: JSON.parse would read it, but what walks its value by calling itself would run out
 * of stack. Most texts are too short for that, or have too few brackets.
 */
function isTooDeep(text: string): boolean {
  if (text.length < 2 * limits.answerDepth || !hasManyBrackets(text)) return false
  let depth = 0
  let isInText = false
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (isInText) {
      if (character === '\\') at++
      else if (character === '"') isInText = false
    } else if (character === '"') isInText = true
    else if (character === '[' || character === '{') {
      if (++depth > limits.answerDepth) return true
    } else if (character === ']' || character === '}') depth--
  }
  return false
}

function hasManyBrackets(text: string): boolean {
  let left: number = limits.answerDepth
  for (const bracket of '[{')
    for (let at = text.indexOf(bracket); at >= 0 && left >= 0; at = text.indexOf(bracket, at + 1)) left--
  return left < 0
}
