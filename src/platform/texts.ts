/** Small things about texts. Trimming does without regular expressions, which would scan the same characters again from every position. */

/** A number and its noun: `1 VM`, `2 VMs`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
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
