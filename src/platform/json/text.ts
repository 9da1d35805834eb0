/**
 * Serializes large values as JSON in steps, so that the event loop is not blocked. The result is that of
 * JSON.stringify.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ExactNumber } from './numbers.ts'

/** A value with more text than this is large. Unit: characters. */
const largeLength = 256 * 1024
const textPieceLength = 64 * 1024
const chunkLength = 128 * 1024
const stepMs = 8

/**
 * Whether a value takes long to serialize, estimated from its texts and its number of parts. It looks no further than
 * necessary.
 */
export function isLargeJson(value: unknown, length = largeLength): boolean {
  return measure(value, length) <= 0
}

/** The approximate length of a value as JSON, estimated from its texts and its number of parts. Unit: characters. */
export function roughLength(value: unknown): number {
  return Number.MAX_SAFE_INTEGER - measure(value, Number.MAX_SAFE_INTEGER)
}

const partLength = 16

function measure(value: unknown, left: number): number {
  if (typeof value === 'string') return left - value.length
  if (typeof value !== 'object' || value === null)
    return left - (value instanceof ExactNumber ? String(value).length : partLength)
  let rest = left - partLength
  if (Array.isArray(value)) {
    for (const item of value) if ((rest = measure(item, rest)) <= 0) return rest
    return rest
  }
  for (const key in value)
    if ((rest = measure((value as Record<string, unknown>)[key], rest - key.length)) <= 0) return rest
  return rest
}

/** The JSON of a body; for a large one as bytes, serialized in steps. */
export function bodyText(value: unknown): string | Promise<Buffer> {
  return isLargeJson(value) ? largeText(value) : JSON.stringify(value)
}

/** The same for a body of at most about `most` characters; null for a longer one. */
export function boundedText(value: unknown, most: number): string | Promise<Buffer> | null {
  if (!isLargeJson(value)) return JSON.stringify(value)
  return isLargeJson(value, most) ? null : largeText(value)
}

async function largeText(value: unknown): Promise<Buffer> {
  return Buffer.concat(await writeInPieces(value))
}

/** Writes JSON in chunks of UTF-8. Undefined properties are left out. */
export async function writeInPieces(value: unknown): Promise<Buffer[]> {
  const chunks: Buffer[] = []
  let text = ''
  let untilMs = performance.now() + stepMs
  for (const piece of textOf(value)) {
    text += piece
    if (text.length < chunkLength) continue
    chunks.push(Buffer.from(text))
    text = ''
    if (performance.now() < untilMs) continue
    await nextTurn()
    untilMs = performance.now() + stepMs
  }
  if (text !== '') chunks.push(Buffer.from(text))
  return chunks
}

function* textOf(value: unknown): Generator<string> {
  if (typeof value === 'string' && value.length > textPieceLength) return yield* textOfText(value)
  if (typeof value !== 'object' || value === null) return yield JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) {
    yield '['
    for (let index = 0; index < value.length; index++) {
      if (index > 0) yield ','
      yield* textOf(value[index])
    }
    return yield ']'
  }
  let before = '{'
  for (const [key, one] of Object.entries(value)) {
    if (one === undefined) continue
    yield `${before}${JSON.stringify(key)}:`
    yield* textOf(one)
    before = ','
  }
  yield before === '{' ? '{}' : '}'
}

function* textOfText(text: string): Generator<string> {
  yield '"'
  for (let start = 0; start < text.length; ) {
    let end = Math.min(text.length, start + textPieceLength)
    const last = text.charCodeAt(end - 1)
    if (last >= 0xd800 && last <= 0xdbff && end < text.length) end++ // surrogate pairs stay together
    yield JSON.stringify(text.slice(start, end)).slice(1, -1)
    start = end
  }
  yield '"'
}
