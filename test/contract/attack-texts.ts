/** Texts that programs are slow to read: repeated pieces at which a search begins again, or that double in a parser. */

/** Each piece fills a text; they are the beginnings of what our own code and its libraries look for. */
export const attackPieces = [
  ' ',
  '\n',
  '\t',
  '"',
  '[',
  '{',
  '(',
  '; at "',
  '<i> ',
  '&nbsp;',
  '\\',
  'a@',
  '.',
  '1',
  '-',
  '/',
  '../',
  '%20',
  ',',
  ':',
  '=',
  '$',
  '\u0001\u001b',
  '😀',
  'e\u0301',
  'aA1 ',
  '0',
] as const

const quotesBytes = 2

/** The piece again and again: at most so many bytes of JSON, quotes and escapes counted. */
export function fillOf(piece: string, jsonBytes: number): string {
  return piece.repeat(timesIn(Buffer.byteLength(JSON.stringify(piece)) - quotesBytes, jsonBytes))
}

/** How often a piece of so many bytes of JSON goes into a text of so many. */
export function timesIn(pieceBytes: number, jsonBytes: number): number {
  return Math.max(1, Math.floor((jsonBytes - quotesBytes) / pieceBytes))
}
