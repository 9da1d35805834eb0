/**
 * A socket that hands out its data in small slices: a thousand requests of sixty bytes fit into one chunk of a socket, and
 * take a second to answer. Slices are small enough that each takes a few milliseconds, and the event loop runs between
 * them.
 */
import { Socket } from 'node:net'

const sliceBytesMin = 512
const sliceBytesMax = 16 * 1024
/** The longest time to work in one turn of the event loop. */
const turnMs = 5

/** The socket; used like any other. */
export class PacedSocket extends Socket {
  #waiting: (Buffer | null)[] = []
  #sliceBytes = sliceBytesMin
  #wantsMore = true
  #isGiving = false

  /** Data that was read from the system; `null` is the end. Returns whether more may be read immediately. */
  override push(piece: Buffer | null): boolean {
    this.#waiting.push(piece)
    if (!this.#isGiving) this.#give()
    return !this.#isGiving && this.#wantsMore
  }

  /** The reader wants more: pending data comes first. */
  override _read(sizeBytes: number): void {
    this.#wantsMore = true
    if (!this.#isGiving) super._read(sizeBytes)
  }

  #give(): void {
    this.#isGiving = true
    const begunMs = performance.now()
    while (this.#waiting.length > 0 && !this.destroyed) {
      const sliceBegunMs = performance.now()
      if (sliceBegunMs - begunMs > turnMs) {
        setImmediate(() => {
          this.#give()
          if (!this.#isGiving && this.#wantsMore && !this.destroyed) super._read(sliceBytesMax)
        })
        return
      }
      this.#wantsMore = super.push(this.#nextSlice())
      const isSlow = performance.now() - sliceBegunMs > turnMs
      this.#sliceBytes = Math.min(
        Math.max(isSlow ? this.#sliceBytes / 2 : this.#sliceBytes * 2, sliceBytesMin),
        sliceBytesMax,
      )
    }
    this.#isGiving = false
  }

  #nextSlice(): Buffer | null {
    const [first] = this.#waiting
    if (!first || first.length <= this.#sliceBytes) return this.#waiting.shift() ?? null
    this.#waiting[0] = first.subarray(this.#sliceBytes)
    return first.subarray(0, this.#sliceBytes)
  }
}
