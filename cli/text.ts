/** Text of others, so that it does nothing to the terminal that shows it. */
import { stripVTControlCharacters } from 'node:util'

/** What moves, hides or turns text around: control characters, marks of direction, and what has no width. */
const acting = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g
/** Sequences that only colour. */
const colour = /(\u001b\[[0-9;:]*m)/

/** One line of it: escape sequences are left out, and what is left of control characters is shown (`\n`, `\u202e`). */
export function lineOf(value: string): string {
  return stripVTControlCharacters(value).replace(acting, shown)
}

/** Several lines of it, as `lineOf`; ends of lines and tabs stay. */
export function linesOf(value: string): string {
  return stripVTControlCharacters(value).replace(acting, (one) => (one === '\n' || one === '\t' ? one : shown(one)))
}

/** What a program printed, for a terminal: with its colours and carriage returns, without all else that acts. */
export function printedOf(value: string): string {
  return value
    .split(colour)
    .map((piece, index) =>
      index % 2 === 1
        ? piece
        : stripVTControlCharacters(piece).replace(acting, (one) => ('\n\t\r'.includes(one) ? one : shown(one))),
    )
    .join('')
}

/** JSON whose texts do nothing either: the same value, with escapes. */
export function jsonOf(value: unknown, indent?: number): string {
  return (JSON.stringify(value, null, indent) ?? 'null').replace(acting, (one) =>
    one === '\n' ? one : `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** How many columns it takes; letters of East Asia and pictures take two. */
export function widthOf(value: string): number {
  let width = 0
  for (const char of value) if (!/\p{Mark}/u.test(char)) width += isWide(char.codePointAt(0) ?? 0) ? 2 : 1
  return width
}

function isWide(code: number): boolean {
  return (
    (code >= 0x1100 && code <= 0x115f) ||
    (code >= 0x2e80 && code <= 0xa4cf) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xfe30 && code <= 0xfe6f) ||
    (code >= 0xff00 && code <= 0xff60) ||
    (code >= 0x1f300 && code <= 0x1faff) ||
    (code >= 0x20000 && code <= 0x3fffd)
  )
}

function shown(char: string): string {
  const usual: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }
  return usual[char] ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
}
