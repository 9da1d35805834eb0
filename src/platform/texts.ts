/** Small things about texts. Trimming does without regular expressions, which would scan the same characters again from every position. */
import { limits } from './limits.ts'

/** Whether a text may be the name of something: of a person, an organization, a key. */
export function isName(text: string): boolean {
  return text.trim() !== '' && text.length <= limits.nameLength && !text.includes('\0') && text.isWellFormed()
}

/** A number and its noun: `1 VM`, `2 VMs`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** The wire's spelling of a name: `memoryMb` is `memory_mb`. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** The graph's spelling of a name, or of each in a place: `memory_mb` is `memoryMb`. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** The text without this character at its end, however often it is repeated there. */
export function withoutEnding(text: string, character: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === character) end--
  return text.slice(0, end)
}

/** The text without this character at its beginning. */
export function withoutBeginning(text: string, character: string): string {
  let start = 0
  while (text[start] === character) start++
  return text.slice(start)
}

/** A text from outside that Postgres can store, also in JSON: without NUL characters and lone surrogates. */
export function storableText(text: string): string {
  return text.replaceAll('\0', '\u{fffd}').toWellFormed()
}

/** The beginning of a text: so many UTF-16 units at most, and no half character. */
export function startOf(text: string, most: number): string {
  return isHighSurrogate(text.charCodeAt(most - 1)) && most < text.length
    ? text.slice(0, most - 1)
    : text.slice(0, most)
}

/** The end of a text: so many UTF-16 units at most, and no half character. */
export function endOf(text: string, most: number): string {
  const from = Math.max(0, text.length - most)
  return from > 0 && isHighSurrogate(text.charCodeAt(from - 1)) ? text.slice(from + 1) : text.slice(from)
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

/** The beginning of UTF-8 as text: so many bytes at most, and no part of a character that was cut. */
export function startOfUtf8(bytes: Buffer, most: number): string {
  const kept = bytes.subarray(0, most)
  return kept.toString('utf8', 0, bytes.length > most ? kept.length - openBytes(kept) : kept.length)
}

/** How many bytes at the end begin a UTF-8 character without ending it. */
export function openBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes.at(-back) ?? 0
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0
    if (byte < 0x80) return 0
  }
  return 0
}

/** How many bytes at the beginning end a UTF-8 character that began before. */
export function closingBytes(bytes: Buffer): number {
  let count = 0
  while (count < 3 && (bytes[count] ?? 0) >> 6 === 0b10) count++
  return count
}

/** A line in which a program says what went wrong. */
const errorLine = /\b(?:err(?:or)?|fatal|failed|denied|refused)\b/i

/**
 * What matters of a program's output, in whole lines: from the first line that names an error, and the last lines; programs often
 * end in how to use them, or in where their log is. So many UTF-16 units at most; only a line that is longer by itself is cut.
 */
export function relevantLines(output: string, most: number): string {
  const text = output.trim()
  if (text.length <= most) return text
  const lines = text.split('\n')
  const at = lines.findIndex((line) => errorLine.test(line))
  const first = at < 0 ? [] : beginning(lines.slice(at), most / 2, most)
  const rest = lines.slice(at < 0 ? 0 : at + first.length)
  const last = fitting(rest.toReversed(), most - lengthOf(first) - leftOut.length).toReversed()
  if (first.length + last.length === 0) return endOf(text, most)
  return [...first, ...(first.length > 0 && last.length < rest.length ? ['…'] : []), ...last].join('\n')
}

const leftOut = '…\n'

function beginning(lines: readonly string[], room: number, most: number): string[] {
  const fit = fitting(lines, room)
  return fit.length > 0 ? fit : [startOf(lines[0] ?? '', most - leftOut.length)]
}

/** As many of these lines as have room, each with its end. */
function fitting(lines: readonly string[], room: number): string[] {
  const fit: string[] = []
  for (const line of lines) {
    if (lengthOf(fit) + line.length + 1 > room) break
    fit.push(line)
  }
  return fit
}

function lengthOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + line.length + 1, 0)
}
