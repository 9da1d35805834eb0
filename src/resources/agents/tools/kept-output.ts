/** Keeps the beginning and the end of a process's output, however long it is. */
import { noMasker, type Masker } from '#src/platform/masking.ts'
import { endOf, startOf } from '#src/platform/texts.ts'

/** Of each stream, in characters; more than a result shows. */
const headMax = 40_000
const tailMax = 120_000

/** Keeps the ends of a stream. */
export type KeptOutput = {
  /** @param offset the position of its first byte in the stream: gaps are mentioned in the text. */
  add(offset: number, text: string): void
  text(): string
}

/** Starts keeping a stream. It is masked before it is truncated, because a part of a secret would not be recognized. */
export function keepEnds(masker: Masker = noMasker): KeptOutput {
  const masking = masker.stream()
  let head = ''
  let tail = ''
  let left = 0
  let nextOffset = 0
  const cutTail = (): void => {
    const kept = endOf(tail, tailMax)
    left += tail.length - kept.length
    tail = kept
  }
  const keep = (piece: string): void => {
    const more = tail === '' ? startOf(piece, Math.max(0, headMax - head.length)) : ''
    head += more
    tail += piece.slice(more.length)
    if (tail.length > 2 * tailMax) cutTail() // trimmed only now and then, not for every piece
  }
  return {
    add(offset, text) {
      const missed =
        offset > nextOffset ? `${masking.end().toString()}\n[… ${offset - nextOffset} bytes were not kept …]\n` : ''
      nextOffset = offset + Buffer.byteLength(text)
      keep(missed + masking.push(Buffer.from(text)).toString())
    },
    text() {
      keep(masking.end().toString())
      cutTail()
      return left > 0 ? `${head}\n[… ${left} characters were left out …]\n${tail}` : head + tail
    },
  }
}
