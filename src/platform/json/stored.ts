/** JSON that we stored: it was limited before, so it is read whatever it has. */
import { limits } from '#src/platform/limits.ts'
import { parseExactly } from './numbers.ts'
import { readInPieces, type JsonLimits } from './pieces.ts'

const unlimited: JsonLimits = {
  parts: Infinity,
  numbers: Infinity,
  keys: Infinity,
  depth: Infinity,
  unusualNumbers: Infinity,
  anyText: true,
}

/** Reads it, in steps where it is large. */
export async function readStored(text: string | Buffer): Promise<unknown> {
  if (text.length <= limits.jsonInlineBytes) return parseExactly(text.toString())
  return readInPieces(Buffer.from(text), unlimited)
}
