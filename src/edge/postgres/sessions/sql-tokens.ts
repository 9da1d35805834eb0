/** Cuts statements into tokens as Postgres does, as far as names, calls and ends of statements are wanted. Works on bytes, and makes no texts. */

/** What a token is. */
export const tokens = {
  end: 0,
  word: 1,
  quotedName: 2,
  literal: 3,
  opening: 4,
  semicolon: 5,
  dot: 6,
  other: 7,
} as const

/** A place in a text, and the token that was found there last. */
export type Cursor = { text: Buffer; at: number; to: number; start: number }

const kindOf = { other: 0, space: 1, digit: 2, letter: 3 } as const
const kinds = new Uint8Array(256)
for (let byte = 0; byte < 256; byte++) {
  const letter = String.fromCharCode(byte)
  if (/[A-Za-z_\u0080-\u00ff]/.test(letter)) kinds[byte] = kindOf.letter
  else if (/[0-9$]/.test(letter)) kinds[byte] = kindOf.digit
  else if (/\s/.test(letter)) kinds[byte] = kindOf.space
}
const apostrophe = 0x27
const backslash = 0x5c
const dollar = 0x24
const dot = 0x2e
const minus = 0x2d
const newline = 0x0a
const opening = 0x28
const quote = 0x22
const semicolon = 0x3b
const slash = 0x2f
const star = 0x2a
const letterE = 0x65

/** Moves to the next token. @returns what it is; it begins at `cursor.start` and ends before `cursor.at` */
export function nextToken(cursor: Cursor): number {
  const { text, to } = cursor
  skipSpace(cursor)
  const start = (cursor.start = cursor.at)
  if (start >= to) return tokens.end
  const byte = text[start] ?? 0
  const kind = kinds[byte]
  if (kind === kindOf.letter) {
    skipWord(cursor)
    if (text[cursor.at] !== apostrophe || cursor.at >= to) return tokens.word
    // E'…' knows backslashes; B'…', N'…' and X'…' do not, and any other word is one that stands before a text.
    skipQuoted(cursor, apostrophe, cursor.at - start === 1 && (byte | 0x20) === letterE)
    return tokens.literal
  }
  if (byte === apostrophe || byte === quote) {
    skipQuoted(cursor, byte, false)
    return byte === quote ? tokens.quotedName : tokens.literal
  }
  if (byte === dollar && skipDollarQuoted(cursor)) return tokens.literal
  if (kind === kindOf.digit) {
    skipWord(cursor)
    return tokens.literal
  }
  cursor.at++
  if (byte === opening) return tokens.opening
  if (byte === semicolon) return tokens.semicolon
  return byte === dot ? tokens.dot : tokens.other
}

function skipWord(cursor: Cursor): void {
  const { text, to } = cursor
  let { at } = cursor
  while (at < to && (kinds[text[at] ?? 0] ?? 0) >= kindOf.digit) at++
  cursor.at = at
}

/** White space and comments. */
function skipSpace(cursor: Cursor): void {
  const { text, to } = cursor
  for (;;) {
    while (cursor.at < to && kinds[text[cursor.at] ?? 0] === kindOf.space) cursor.at++
    const [one, two] = [text[cursor.at], text[cursor.at + 1]]
    if (one === minus && two === minus) {
      const ends = text.indexOf(newline, cursor.at)
      cursor.at = ends < 0 || ends > to ? to : ends
    } else if (one === slash && two === star) skipComment(cursor)
    else return
    if (cursor.at >= to) return
  }
}

/** A comment in which others may stand. */
function skipComment(cursor: Cursor): void {
  const { text, to } = cursor
  let depth = 0
  while (cursor.at < to) {
    const [one, two] = [text[cursor.at], text[cursor.at + 1]]
    const step = one === slash && two === star ? 1 : one === star && two === slash ? -1 : 0
    depth += step
    cursor.at += step === 0 ? 1 : 2
    if (depth === 0) return
  }
}

/** From the first quote, which is the next byte, to behind the last; a doubled one stands for itself. */
function skipQuoted(cursor: Cursor, by: number, escapes: boolean): void {
  const { text, to } = cursor
  let at = cursor.at + 1
  while (at < to) {
    const byte = text[at]
    if (byte === backslash && escapes) at += 2
    else if (byte !== by) at++
    else if (text[at + 1] === by) at += 2
    else break
  }
  cursor.at = Math.min(at + 1, to)
}

/** A text between two `$tag$`. @returns false where none begins, such as at `$1` */
function skipDollarQuoted(cursor: Cursor): boolean {
  const { text, to } = cursor
  let tagEnds = cursor.at + 1
  if (kinds[text[tagEnds] ?? 0] === kindOf.letter) {
    while (tagEnds < to && text[tagEnds] !== dollar && (kinds[text[tagEnds] ?? 0] ?? 0) >= kindOf.digit) tagEnds++
  }
  if (tagEnds >= to || text[tagEnds] !== dollar) return false
  const tag = text.subarray(cursor.at, tagEnds + 1)
  const ends = text.indexOf(tag, tagEnds + 1)
  cursor.at = ends < 0 || ends > to ? to : ends + tag.length
  return true
}
