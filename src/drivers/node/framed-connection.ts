/**
 * A connection on which an end is said: each piece comes behind its length, and a piece of nothing is the end. Where the process at
 * the other end dies, Linux ends the connection too, and what was cut would look whole.
 */
import { Duplex } from 'node:stream'

const headBytes = 4

/** Frames what is written, and reads what was framed. Bytes pass with backpressure both ways; each direction ends by itself. */
export class FramedConnection extends Duplex {
  readonly #under: Duplex
  #head = Buffer.alloc(0)
  /** Of the piece that is being read; null between two. Unit: bytes. */
  #left: number | null = null
  #hasEnded = false

  /** @param under whose errors are handled by whoever made it. */
  constructor(under: Duplex) {
    super({ allowHalfOpen: true })
    this.#under = under
    under.on('data', (bytes: Buffer) => {
      if (!this.#take(bytes)) under.pause()
    })
    under.once('end', () => {
      if (!this.#hasEnded) this.destroy()
    })
    under.once('close', () => {
      // What has ended both ways destroys itself, behind the last byte that is still to be read.
      if (!this.#hasEnded || !this.writableFinished) this.destroy()
    })
  }

  override _read(): void {
    this.#under.resume()
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (bytes.length === 0) return done() // a piece of nothing would be the end
    this.#under.cork()
    this.#under.write(headOf(bytes.length))
    this.#under.write(bytes, done)
    this.#under.uncork()
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#under.end(headOf(0), done)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#under.destroy()
    done(error)
  }

  /** @returns whether more may come now. */
  #take(bytes: Buffer): boolean {
    let isWanted = true
    for (let at = 0; at < bytes.length; ) {
      if (this.#left === null) {
        const missing = headBytes - this.#head.length
        this.#head = Buffer.concat([this.#head, bytes.subarray(at, at + missing)])
        at += missing
        if (this.#head.length < headBytes) break
        this.#left = this.#head.readUInt32BE(0)
        this.#head = Buffer.alloc(0)
        if (this.#left > 0) continue
        this.#hasEnded = true
        this.push(null)
        return true
      }
      const piece = bytes.subarray(at, at + this.#left)
      at += piece.length
      this.#left = this.#left === piece.length ? null : this.#left - piece.length
      isWanted = this.push(piece)
    }
    return isWanted
  }
}

function headOf(length: number): Buffer {
  const head = Buffer.alloc(headBytes)
  head.writeUInt32BE(length)
  return head
}
