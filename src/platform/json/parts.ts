/** The bytes that JSON is built of, and how many parts it has, counted without reading it. */

/** Bytes that mean something, by their names. */
export const code = {
  quote: 0x22,
  backslash: 0x5c,
  comma: 0x2c,
  colon: 0x3a,
  openList: 0x5b,
  closeList: 0x5d,
  openObject: 0x7b,
  closeObject: 0x7d,
  u: 0x75,
  space: 0x20,
} as const

/**
 * Whether JSON has more than so many commas, colons and brackets outside of its texts, which is about its number of
 * values. It reads no further than necessary.
 */
export function hasManyParts(bytes: Buffer, most: number): boolean {
  let parts = 0
  let isText = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (isText && byte === code.backslash) at++
    else if (byte === code.quote) isText = !isText
    else if (
      !isText &&
      (byte === code.comma || byte === code.colon || byte === code.openList || byte === code.openObject) &&
      ++parts > most
    )
      return true
  }
  return false
}
