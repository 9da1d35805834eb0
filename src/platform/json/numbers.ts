/**
 * The numbers of JSON that Berth only passes on. A double changes some of them: integers above 2⁵³, more than 17 digits,
 * `1e400`, `-0`. Those are kept as they were written; all others are usual numbers.
 */
import { isDeepStrictEqual } from 'node:util'
import { limits } from '#src/platform/limits.ts'
import { notJson, numberTooLong, tooMany } from './refusals.ts'

/** The longest number that is kept as it was written. Unit: characters. */
const numberLengthMax = 1024

declare global {
  interface JSON {
    /** A value that JSON.stringify writes as this text. */
    rawJSON(text: string): unknown
    /** @param reviver gets a number's text as `source`. */
    parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown
  }
}

/**
 * A function, so that whoever walks or copies values passes it on as it is, and whoever wants an object, a text or a
 * usual number refuses it. It answers itself, as some libraries call functions that they find in values.
 */
const Carrier = class {
  constructor() {
    const carrier = (): unknown => carrier
    return Object.setPrototypeOf(carrier, new.target.prototype) as object // the function just above
  }
} as unknown as new () => () => unknown // what its constructor returns

/** A number of JSON that a double would change. JSON.stringify writes it as it was; nothing can be computed with it. */
export class ExactNumber extends Carrier {
  readonly #text: string

  /** @param text a number as JSON writes it. @throws BerthError invalid_request when it is too long. */
  constructor(text: string) {
    super()
    if (text.length > numberLengthMax) throw numberTooLong(numberLengthMax)
    this.#text = text
  }

  toJSON(): unknown {
    return JSON.rawJSON(this.#text)
  }

  override toString(): string {
    return this.#text
  }

  /** The nearest double, for what needs no more than that; infinite for those that are too large. */
  toNumber(): number {
    return Number(this.#text)
  }
}

/** Up to so many digits every decimal number within 1e±300 is the same as its double. */
const digitsSafe = 15
/** How many unusual numbers of one text are remembered: where many are the same, they are one in memory. */
const rememberedMax = 1_000

/** Reads the numbers of one text. */
export class NumberReader {
  readonly #known = new Map<string, ExactNumber>()
  readonly #most: number
  #kept = 0

  /** @param most how many a double may change: each of them takes more memory, and ten times as long, as a usual one. */
  constructor(most: number = limits.unusualNumbers) {
    this.#most = most
  }

  /** A number as JSON writes it. @throws BerthError invalid_request, request_too_large. */
  read(text: string): number | ExactNumber {
    let value: number
    try {
      value = JSON.parse(text) as number // JSON of a number's characters
    } catch {
      throw notJson()
    }
    return this.keep(value, text)
  }

  /** What is to be used instead of a double that was read from this text: itself, if it is the same number. */
  keep(value: number, text: string): number | ExactNumber {
    const size = Math.abs(value)
    if (text.length <= digitsSafe && size > 1e-300 && size < 1e300) return value
    if (String(value) === text) return value
    if (Number.isFinite(value) && !Object.is(value, -0) && isSame(String(value), text)) return value
    if (++this.#kept > this.#most) throw tooMany('numbers that a double would change', this.#most)
    const known = this.#known.get(text)
    if (known) return known
    const number = new ExactNumber(text)
    if (this.#known.size < rememberedMax) this.#known.set(text, number)
    return number
  }
}

/**
 * Like JSON.parse, but keeps every number. Takes no longer where all numbers are usual ones.
 * @throws SyntaxError, and BerthError invalid_request for a number that is too long.
 */
export function parseExactly(text: string): unknown {
  if (!mayHaveUnusualNumbers(text)) return JSON.parse(text) as unknown
  const numbers = new NumberReader()
  return JSON.parse(text, (_key, value: unknown, { source }) =>
    typeof value === 'number' && source !== undefined ? numbers.keep(value, source) : value,
  ) as unknown
}

/** What is to be computed with: the nearest double of a number, infinite for one that is too large; any other value as it is. */
export function computable(value: unknown): unknown {
  return value instanceof ExactNumber ? value.toNumber() : value
}

/** Whether a byte is of a number: a digit, a sign, a dot or an `e`. */
export function isOfNumber(byte: number): boolean {
  return (
    (byte >= 0x30 && byte <= 0x39) || byte === 0x2d || byte === 0x2b || byte === 0x2e || byte === 0x65 || byte === 0x45
  )
}

/** A copy with the nearest doubles, for what cannot know more than those: checks against a schema, other threads. */
export function withDoubles(value: unknown): unknown {
  return replaceExact(value, (number) => number.toNumber())
}

/** Whether two values are the same JSON, whatever the order of their keys. */
export function isSameJson(one: unknown, other: unknown): boolean {
  const comparable = (value: unknown): unknown => replaceExact(value, (number) => [ExactNumber, String(number)]) // unlike any JSON
  return isDeepStrictEqual(comparable(one), comparable(other))
}

function replaceExact(value: unknown, replace: (number: ExactNumber) => unknown): unknown {
  if (value instanceof ExactNumber) return replace(value)
  if (Array.isArray(value)) return value.map((one) => replaceExact(one, replace))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, replaceExact(one, replace)]))
}

/** What an unusual number has, whatever it is: an exponent, 16 digits, or the sign of zero. Long texts mostly do not even have this. */
const unusualDigits = /\d(?:[eE]|[\d.]{15})|-0/
/** The same where numbers are in JSON: behind a colon, a comma, a bracket or a space. */
const unusualNumber = /[:,[ \n\r\t](?:-?\d(?:[\d.]{15}|[\d.]*[eE])|-0(?:\.0+)?(?![\d.]))/
/** A shorter text is looked through once. Unit: characters. */
const longLength = 1024

/**
 * Whether a text of JSON may have a number that a double would change. It may also be a text that looks like one. In the
 * time of a stream's chunk this is a fiftieth.
 */
export function mayHaveUnusualNumbers(text: string): boolean {
  if (/^[-\d]/.test(text)) return true
  return (text.length < longLength || unusualDigits.test(text)) && unusualNumber.test(text)
}

/** Whether two texts are the same decimal number: `1.50`, `15e-1` and `1.5` are. */
function isSame(one: string, other: string): boolean {
  const left = decimalOf(one)
  const right = decimalOf(other)
  return left.digits === right.digits && left.exponent === right.exponent
}

/** A number's digits without zeros at their ends, with the sign, and the power of ten of the last one. */
function decimalOf(text: string): { digits: string; exponent: number } {
  const mark = text.search(/[eE]/)
  const mantissa = mark < 0 ? text : text.slice(0, mark)
  const dot = mantissa.indexOf('.')
  const digits = dot < 0 ? mantissa : mantissa.slice(0, dot) + mantissa.slice(dot + 1)
  const isNegative = digits.startsWith('-')
  let start = isNegative ? 1 : 0
  let end = digits.length
  while (digits[start] === '0') start++
  while (end > start && digits[end - 1] === '0') end--
  if (start === end) return { digits: '', exponent: 0 }
  const exponent = (mark < 0 ? 0 : Number(text.slice(mark + 1))) - (dot < 0 ? 0 : mantissa.length - dot - 1)
  return { digits: (isNegative ? '-' : '') + digits.slice(start, end), exponent: exponent + digits.length - end }
}
