/**
 * How much an answer holds. A model reads it whole, and what is in it was often written by others: whatever that is, an
 * answer has its bound, and what is left out is said. Lengths are those in JSON, where a control character takes six.
 */

/** The longest answer: some 25,000 tokens. Unit: characters. */
export const answerCharactersMax = 100_000
/** What one text within an answer, such as the output of a command, may take of it. Unit: characters of JSON. */
export const textCharactersMax = 40_000
/** What the entries of a list may take of an answer, and leave for what is said of it. Unit: characters of JSON. */
export const entriesCharactersMax = 90_000
/** Texts of an entry that is too long are shortened to this in the end. Unit: characters of JSON. */
const shortestTextCharacters = 100

/** What a UTF-16 unit takes in JSON, without its quotation marks; of a pair each takes one. */
function charactersOf(text: string, at: number): number {
  const unit = text.charCodeAt(at)
  if (unit === 0x22 || unit === 0x5c) return 2
  if (unit < 0x20) return '\b\t\n\f\r'.includes(text.charAt(at)) ? 2 : 6
  return unit >= 0xd800 && unit <= 0xdfff && !isInPair(text, at) ? 6 : 1
}

function isInPair(text: string, at: number): boolean {
  return splits(text, at) || splits(text, at + 1)
}

/** Whether a cut there would part the two halves of a character. */
function splits(text: string, at: number): boolean {
  const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
  const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff
  return isHigh(text.charCodeAt(at - 1)) && isLow(text.charCodeAt(at))
}

/** Where a piece of a text that begins there ends. Unit of what it takes: characters of JSON. */
export function endOfPiece(text: string, from: number, charactersMax = textCharactersMax): number {
  let end = from
  for (let left = charactersMax; end < text.length; end++) {
    left -= charactersOf(text, end)
    if (left < 0) break
  }
  return splits(text, end) && end - 1 > from ? end - 1 : end
}

/** A text that fits, with its end, where what a program prints says the most; what is left out is said. */
export function ending(text: string): string {
  let from = text.length
  for (let left = textCharactersMax; from > 0; from--) {
    left -= charactersOf(text, from - 1)
    if (left < 0) break
  }
  if (from === 0) return text
  const start = splits(text, from) ? from + 1 : from
  return `[${start} characters before this are left out]\n${text.slice(start)}`
}

/** How many of these fit, of which the first always counts: `shortened` makes it fit. */
export function countFitting(entries: readonly unknown[]): number {
  let left = entriesCharactersMax
  const past = entries.findIndex((entry) => (left -= lengthOf(entry) + 1) < 0)
  return past === -1 ? entries.length : Math.max(past, 1)
}

/**
 * An entry that fits: where it is too long, with the beginnings of its texts, which say what is left out; and where even that
 * does not, such as a table of a thousand columns, without its longest fields, whose names are in `left_out`.
 */
export function shortened(entry: unknown): unknown {
  let shown = entry
  for (
    let most = textCharactersMax;
    lengthOf(shown) > entriesCharactersMax && most >= shortestTextCharacters;
    most /= 4
  )
    shown = withShortTexts(entry, Math.floor(most))
  if (lengthOf(shown) <= entriesCharactersMax || !isRecord(shown)) return shown
  const fields = Object.entries(shown).toSorted(([, one], [, other]) => lengthOf(one) - lengthOf(other))
  const count = Math.min(countFitting(fields), fields.length - 1)
  return {
    ...Object.fromEntries(fields.slice(0, count)),
    left_out: fields.slice(count).map(([name]) => beginningOf(name, shortestTextCharacters)),
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function withShortTexts(value: unknown, charactersMax: number): unknown {
  if (typeof value === 'string') return beginningOf(value, charactersMax)
  if (Array.isArray(value)) return value.map((one) => withShortTexts(one, charactersMax))
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withShortTexts(one, charactersMax)]))
}

function beginningOf(text: string, charactersMax: number): string {
  const end = endOfPiece(text, 0, charactersMax)
  return end === text.length ? text : `${text.slice(0, end)}\n[${text.length - end} characters after this are left out]`
}

function lengthOf(value: unknown): number {
  return (JSON.stringify(value) ?? 'null').length
}
