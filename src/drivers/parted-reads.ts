/**
 * What comes on a connection, given on in parts where it may be many chunks: a server parses everything that it reads at once
 * within one turn of the event loop, and one turn reads from every connection that has something.
 */
import type { Socket } from 'node:net'
import type { PieceTurns, Waiting } from './small-pieces.ts'

type Turns = Pick<PieceTurns, 'wait' | 'isChunked'>

const lf = 10
/** Of a part that may be many chunks: a chunk has two. */
const linesPerPiece = 2

/**
 * Has a connection of an HTTP server read in parts of at most so many small chunks, each in its turn. Call it when the server
 * has the connection.
 */
export function readInParts(socket: Socket, turns: Turns, piecesAtOnce: number): void {
  const reader = new PartedReader(socket, turns, piecesAtOnce * linesPerPiece)
  socket.push = (bytes: Buffer | null) => reader.take(bytes)
  const read = socket._read.bind(socket)
  socket._read = (size) => {
    if (!reader.holds) read(size)
  }
  reader.readOn = () => read(0)
  // Node's server reads past the stream until somebody has listened to it.
  const listener = (): void => undefined
  socket.on('data', listener).off('data', listener)
}

class PartedReader implements Waiting {
  readonly isNew = false
  /** Has the connection itself read again. */
  readOn: () => void = () => undefined
  readonly #socket: Socket
  readonly #turns: Turns
  readonly #linesMax: number
  readonly #push: (bytes: Buffer | null) => boolean
  #rest: Buffer | null = null
  #hasEnded = false

  constructor(socket: Socket, turns: Turns, linesMax: number) {
    this.#socket = socket
    this.#turns = turns
    this.#linesMax = linesMax
    this.#push = socket.push.bind(socket)
  }

  /** Whether something was read that is not given on yet. */
  get holds(): boolean {
    return this.#rest !== null
  }

  get isGone(): boolean {
    return this.#socket.destroyed
  }

  /** Takes what was read; null at its end. @returns whether more may be read now */
  take(bytes: Buffer | null): boolean {
    if (this.#rest) {
      if (bytes) this.#rest = Buffer.concat([this.#rest, bytes])
      else this.#hasEnded = true
      return false
    }
    if (!bytes || bytes.length < this.#linesMax) return this.#push(bytes)
    const end = endOfPart(bytes, this.#linesMax)
    if (end === bytes.length || !this.#mayBeChunks(bytes)) return this.#push(bytes)
    this.#rest = bytes
    this.#turns.wait(this)
    return false
  }

  /** Lines of a body whose length is known cost nothing. */
  #mayBeChunks(bytes: Buffer): boolean {
    return this.#turns.isChunked(this.#socket) || bytes.toString('latin1').toLowerCase().includes('transfer-encoding')
  }

  onTurn(): void {
    if (this.#socket.isPaused()) return void this.#socket.once('resume', () => this.#turns.wait(this))
    const rest = this.#rest ?? Buffer.alloc(0)
    const end = endOfPart(rest, this.#linesMax)
    this.#rest = end < rest.length ? rest.subarray(end) : null
    this.#push(rest.subarray(0, end))
    if (this.#rest) return this.#turns.wait(this)
    if (this.#hasEnded) this.#push(null)
    else if (!this.#socket.destroyed) this.readOn()
  }
}

/** Where the part ends that has so many lines: at the end of what there is, if it has no more. */
function endOfPart(bytes: Buffer, linesMax: number): number {
  let at = -1
  for (let lines = 0; lines < linesMax; lines++) {
    at = bytes.indexOf(lf, at + 1)
    if (at < 0) return bytes.length
  }
  return at + 1
}
