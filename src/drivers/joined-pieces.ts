/** Small pieces of a stream as one: so they are written by the turn of the event loop, and not each by itself. */

const roomBytes = 16 * 1024
const largeBytes = 4 * 1024

/** Gathers pieces into one; a single piece is not copied. */
export class JoinedPieces {
  #only: Buffer | null = null
  #room: Buffer | null = null
  #bytes = 0

  /** How many bytes it has. */
  get bytes(): number {
    return this.#bytes
  }

  /** Takes these bytes of a buffer, which nobody changes before they are taken out. */
  add(piece: Buffer, from = 0, to = piece.length): void {
    const bytes = this.#bytes + to - from
    if (this.#bytes === 0) this.#only = piece.subarray(from, to)
    else {
      const room = this.#roomFor(bytes)
      // A call of copy() takes longer than a few bytes.
      if (to - from > 16) piece.copy(room, this.#bytes, from, to)
      else for (let at = from, into = this.#bytes; at < to; ) room[into++] = piece[at++] ?? 0
    }
    this.#bytes = bytes
  }

  /** Everything that came; null when that is nothing. */
  take(): Buffer | null {
    const joined = this.#only ?? this.#room?.subarray(0, this.#bytes) ?? null
    this.#only = null
    this.#room = null
    this.#bytes = 0
    return joined
  }

  #roomFor(bytes: number): Buffer {
    const before = this.#only ?? this.#room
    if (before === this.#room && before && before.length >= bytes) return before
    const room = Buffer.allocUnsafe(Math.max(roomBytes, bytes * 2))
    before?.copy(room, 0, 0, this.#bytes)
    this.#only = null
    this.#room = room
    return room
  }
}

/** Has what comes within a turn of the event loop written together. */
export class JoinedWrites {
  readonly #write: (joined: Buffer) => void
  readonly #pieces = new JoinedPieces()
  #isDue = false

  constructor(write: (joined: Buffer) => void) {
    this.#write = write
  }

  /** Takes a piece: it is written with what came before it, at the latest behind this turn. */
  add(piece: Buffer): void {
    if (piece.length >= largeBytes) {
      this.flush()
      return this.#write(piece)
    }
    this.#pieces.add(piece)
    if (this.#pieces.bytes >= roomBytes) return this.flush()
    if (this.#isDue) return
    this.#isDue = true
    setImmediate(() => {
      this.#isDue = false
      this.flush()
    })
  }

  /** Writes what has come. */
  flush(): void {
    const joined = this.#pieces.take()
    if (joined) this.#write(joined)
  }
}
