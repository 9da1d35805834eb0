/** Fast checks of base64: a regular expression takes 50 ms for 32 MiB, these a few. */

const pieceLength = 256 * 1024
const scratch = Buffer.alloc(pieceLength)
const ending = /^[A-Za-z0-9+/]*={0,2}$/

/** Whether a text has only characters of base64 (not of its URL-safe form), with at most two `=` at its end. */
export function isOfBase64(text: string): boolean {
  let at = 0
  for (; text.length - at > pieceLength; at += pieceLength) {
    const piece = text.slice(at, at + pieceLength)
    // Node's decoder skips what is not base64, so its output is then too short; it also accepts the URL-safe alphabet.
    if (scratch.write(piece, 0, 'base64') !== (pieceLength / 4) * 3 || piece.includes('-') || piece.includes('_'))
      return false
  }
  return ending.test(text.slice(at))
}

/** Whether a text is base64 with its padding. */
export function isBase64(text: string): boolean {
  return text.length % 4 === 0 && isOfBase64(text)
}
