/**
 * JSON responses of other services: large ones are parsed in steps, so that the event loop is not blocked, and one with
 * too many parts is refused before it is parsed.
 */
import { isUtf8 } from 'node:buffer'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { BerthError } from '#src/platform/errors.ts'
import { hasManyParts, readInPieces, type JsonLimits } from './pieces.ts'
import { limits } from '#src/platform/limits.ts'

/** The answer cannot be read: it is not JSON, or has too many parts. */
export class JsonAnswerError extends Error {
  readonly reason: 'not_json' | 'too_many_parts'
  constructor(reason: JsonAnswerError['reason'], cause?: unknown) {
    super(reason === 'not_json' ? 'the answer is not valid JSON' : 'the answer has more values than may be read', {
      cause,
    })
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
    return await readInPieces(bytes, { ...most, anyText: true })
  } catch (error) {
    throw new JsonAnswerError(
      error instanceof BerthError && error.code === 'request_too_large' ? 'too_many_parts' : 'not_json',
      error,
    )
  }
}

/**
 * Parses an answer of at most 1 MiB at once, after counting its commas, colons and brackets.
 * @throws JsonAnswerError
 */
export function readInlineAnswer(text: string, partsMax: number = limits.answerEventParts): unknown {
  if (text.length > limits.jsonInlineBytes && hasManyParts(Buffer.from(text), partsMax))
    throw new JsonAnswerError('too_many_parts')
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new JsonAnswerError('not_json', error)
  }
}
