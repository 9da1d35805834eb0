/**
 * Parses large JSON in steps, so that the event loop is not blocked: JSON.parse takes seconds for 32 MiB of brackets.
 * The result is that of parseExactly, with limits on the number of parts.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { isOfNumber, NumberReader, type ExactNumber } from './numbers.ts'
import { code } from './parts.ts'
import { notJson, prototypeKey, tooMany } from './refusals.ts'

/** Any JSON value, with plain objects. */
export type Json = null | boolean | number | ExactNumber | string | Json[] | { [key: string]: Json }

/**
 * How many objects, lists, keys and texts one body may have, and how many other values.
 * @property refusesUnknownKeys a key `__proto__` is refused instead of dropped.
 * @property keys how many one object may have; as many as one of a body unless said.
 * @property depth how deep they may be nested; 64 levels unless said.
 * @property unusualNumbers how many numbers may be such that a double would change them; as many as of one body unless said.
 * @property anyText texts may hold what cannot be stored: NUL and halves of surrogate pairs.
 */
export type JsonLimits = {
  parts: number
  numbers: number
  refusesUnknownKeys?: boolean
  keys?: number
  depth?: number
  anyText?: boolean
  unusualNumbers?: number
}

/** How long a step may take, ms; checked after so many tokens or so much text. */
const stepMs = 8
const tokensBetweenLooks = 256
const textPieceBytes = 128 * 1024
const numberBytesMax = 2048 // longer than any that is kept
/** A longer token is parsed in a step of its own. */
const longTokenBytes = 4096
/** To join a longer text ends a step: 22 million characters of two bytes take 28 ms. */
const longTextLength = 2 * 1024 * 1024

type List = { list: Json[]; object: null; key: ''; keys: 0 }
type Fields = { list: null; object: Record<string, Json>; key: string; keys: number }
type Expected = 'value' | 'value or ]' | 'key' | 'key or }' | 'colon' | 'comma' | 'end'

const literals: readonly [string, Json][] = [
  ['true', true],
  ['false', false],
  ['null', null],
]

/** Reads valid UTF-8. @throws BerthError invalid_request, and request_too_large naming the limit that is met. */
export async function readInPieces(bytes: Buffer, most: JsonLimits): Promise<Json> {
  const reader = new PieceReader(bytes, most)
  while (!reader.step()) await nextTurn()
  return reader.value
}

/** Reads valid UTF-8 in one step, for what must be read at once. @throws as readInPieces. */
export function readAtOnce(bytes: Buffer, most: JsonLimits): Json {
  const reader = new PieceReader(bytes, most)
  while (!reader.step());
  return reader.value
}

class PieceReader {
  value: Json = null
  readonly #bytes: Buffer
  readonly #most: JsonLimits
  readonly #open: (List | Fields)[] = []
  readonly #reader: NumberReader
  #at = 0
  #expected: Expected = 'value'
  #parts = 0
  #numbers = 0
  /** A text was just joined that takes as long as a step. */
  #joinedLong = false
  /** The text read so far; half a character at its end is kept separately until the rest arrives. */
  #text: { whole: string; half: string } | null = null

  constructor(bytes: Buffer, most: JsonLimits) {
    this.#bytes = bytes
    this.#most = most
    this.#reader = new NumberReader(most.unusualNumbers)
  }

  /** Continues until the step's time is over. @returns whether everything is parsed. */
  step(): boolean {
    const untilMs = performance.now() + stepMs
    for (let tokens = 1; ; tokens++) {
      const from = this.#at
      if (this.#text) this.#readText(this.#text)
      else if (isSpace(this.#bytes[this.#at])) this.#skipSpace()
      else if (this.#at < this.#bytes.length)
        this.#readToken(this.#bytes[this.#at]!) // it exists: its position was just checked
      else if (this.#expected === 'end') return true
      else throw notJson()
      if (this.#joinedLong) return (this.#joinedLong = false)
      if ((this.#at - from > longTokenBytes || tokens % tokensBetweenLooks === 0) && performance.now() >= untilMs)
        return false
    }
  }

  #skipSpace(): void {
    const bytes = this.#bytes
    const end = Math.min(bytes.length, this.#at + textPieceBytes)
    while (this.#at < end && isSpace(bytes[this.#at])) this.#at++
  }

  #readToken(byte: number): void {
    const open = this.#open.at(-1)
    switch (this.#expected) {
      case 'value or ]':
        if (byte === code.closeList) return this.#close()
        return this.#readValue(byte)
      case 'value':
        return this.#readValue(byte)
      case 'key or }':
        if (byte === code.closeObject) return this.#close()
        return this.#beginText(byte)
      case 'key':
        return this.#beginText(byte)
      case 'colon':
        return this.#expect(byte === code.colon, 'value')
      case 'comma':
        if (byte === (open?.list ? code.closeList : code.closeObject)) return this.#close()
        return this.#expect(byte === code.comma, open?.list ? 'value' : 'key')
      case 'end':
        throw notJson()
    }
  }

  #expect(isRight: boolean, next: Expected): void {
    if (!isRight) throw notJson()
    this.#at++
    this.#expected = next
  }

  #readValue(byte: number): void {
    if (byte === code.quote) return this.#beginText(byte)
    if (byte === code.openList || byte === code.openObject) {
      this.#countPart()
      const { depth = limits.jsonDepth } = this.#most
      if (this.#open.length >= depth)
        throw new BerthError('invalid_request', `The JSON is nested deeper than ${depth} levels. Send a flatter value.`)
      this.#open.push(
        byte === code.openList
          ? { list: [], object: null, key: '', keys: 0 }
          : { list: null, object: {}, key: '', keys: 0 },
      )
      return this.#expect(true, byte === code.openList ? 'value or ]' : 'key or }')
    }
    if (++this.#numbers > this.#most.numbers) throw tooMany('numbers', this.#most.numbers)
    this.#take(this.#readNumber() ?? this.#readLiteral())
  }

  #readNumber(): number | ExactNumber | undefined {
    let end = this.#at
    const last = Math.min(this.#bytes.length, this.#at + numberBytesMax)
    while (end < last && isOfNumber(this.#bytes[end]!)) end++ // below the length
    if (end === this.#at) return undefined
    const text = this.#bytes.toString('latin1', this.#at, end)
    this.#at = end
    return this.#reader.read(text)
  }

  #readLiteral(): Json {
    for (const [text, value] of literals) {
      if (this.#bytes.toString('latin1', this.#at, this.#at + text.length) !== text) continue
      this.#at += text.length
      return value
    }
    throw notJson()
  }

  #beginText(byte: number): void {
    if (byte !== code.quote) throw notJson()
    this.#countPart()
    this.#at++
    this.#text = { whole: '', half: '' }
  }

  #readText(text: { whole: string; half: string }): void {
    const bytes = this.#bytes
    const start = this.#at
    const stop = start + textPieceBytes
    let end = start
    let hasEscape = false
    while (end < stop && end < bytes.length) {
      const byte = bytes[end]!
      if (byte === code.quote) break
      if (byte < code.space) throw notJson()
      if (byte === code.backslash) {
        hasEscape = true
        end += bytes[end + 1] === code.u ? 6 : 2
      } else end++
    }
    while (end < bytes.length && (bytes[end]! & 0xc0) === 0x80) end++ // a character is not cut in two
    if (end >= bytes.length) throw notJson() // its quote is missing
    const isWhole = bytes[end] === code.quote
    const piece = bytes.toString('utf8', start, end)
    this.#at = isWhole ? end + 1 : end
    this.#addText(text, hasEscape ? (parse(`"${piece}"`) as string) : piece, hasEscape, isWhole) // JSON in quotes is text
    if (!isWhole) return
    this.#text = null
    text.whole.charCodeAt(text.whole.length >> 1) // makes V8 join its pieces now, and not at the first use
    this.#joinedLong = text.whole.length > longTextLength
    this.#takeText(text.whole)
  }

  /** Only escapes can be a NUL or half a character, because the bytes are valid UTF-8. */
  #addText(text: { whole: string; half: string }, piece: string, hasEscape: boolean, isWhole: boolean): void {
    let more = text.half + piece
    text.half = ''
    if (hasEscape && !this.#most.anyText && piece.includes('\0'))
      throw new BerthError(
        'invalid_request',
        'A text holds the character NUL (\\u0000), which cannot be stored. Remove it.',
      )
    const last = more.charCodeAt(more.length - 1)
    if (!isWhole && last >= 0xd800 && last <= 0xdbff) {
      text.half = more.slice(-1)
      more = more.slice(0, -1)
    }
    if (!this.#most.anyText && !more.isWellFormed())
      throw new BerthError(
        'invalid_request',
        'A text holds half of a surrogate pair, so it is not Unicode. Send whole characters.',
      )
    text.whole += more
  }

  #takeText(text: string): void {
    const open = this.#open.at(-1)
    if (!open?.object || (this.#expected !== 'key' && this.#expected !== 'key or }')) return this.#take(text)
    if (++open.keys > (this.#most.keys ?? limits.jsonKeys))
      throw tooMany('keys in one object', this.#most.keys ?? limits.jsonKeys) // listing them takes long
    open.key = text
    if (text === '__proto__' && this.#most.refusesUnknownKeys) throw prototypeKey()
    this.#expected = 'colon'
  }

  #take(value: Json): void {
    const open = this.#open.at(-1)
    if (!open) this.value = value
    else if (open.list) open.list.push(value)
    else if (open.key !== '__proto__') open.object[open.key] = value // such a key is harmless until it is copied by assignment
    this.#expected = open ? 'comma' : 'end'
  }

  #close(): void {
    const closed = this.#open.pop()
    this.#at++
    this.#take(closed?.list ?? closed?.object ?? null)
  }

  #countPart(): void {
    if (++this.#parts > this.#most.parts) throw tooMany('objects, lists, keys and texts', this.#most.parts)
  }
}

function isSpace(byte: number | undefined): boolean {
  return byte === code.space || byte === 0x0a || byte === 0x0d || byte === 0x09
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw notJson()
  }
}
