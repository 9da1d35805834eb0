/**
 * Bodies that come in many small pieces: chunks, frames and TLS records of a few bytes. Each piece costs this thread as much as
 * a large one, so what they cost is limited by their number: who sends many of them waits, one connection after another.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { smallPieceLimits } from '#src/platform/limits/small-pieces.ts'
import { JoinedWrites } from './joined-pieces.ts'

/** The limits of small pieces; smaller in tests. */
export type PieceLimits = Record<keyof typeof smallPieceLimits, number>

/** Has this called with the size of each piece that comes, whether anybody reads it yet or not. Unit: bytes. */
export function watchPieces(body: Readable, note: (bytes: number) => void): void {
  const push = body.push.bind(body)
  body.push = (piece: Buffer | null, encoding) => {
    if (piece !== null) note(piece.length)
    return push(piece, encoding)
  }
}

/** Has what comes of a body within a turn of the event loop read as one piece: each piece that is kept takes a hundred bytes more. */
export function joinPieces(body: Readable): void {
  const push = body.push.bind(body)
  const joined = new JoinedWrites((bytes) => push(bytes))
  body.push = (piece: Buffer | null) => {
    if (piece) joined.add(piece)
    else {
      joined.flush()
      push(null)
    }
    return body.readableLength < body.readableHighWaterMark
  }
}

/** Who waits because of its small pieces. */
export type Waiting = {
  /** Whether it has sent none yet, as far as is known; these and the others have every second turn. */
  readonly isNew: boolean
  /** Whether it is over, and needs no turn. */
  readonly isGone: boolean
  onTurn(): void
}

/** Connections of one process that wait because of their small pieces. */
export type PieceTurns = {
  /** Lets a connection whose first bytes were these be read: at once, or when it is its turn; one that is gone by then is not. */
  begin(socket: Pick<Socket, 'destroyed'>, bytes: Buffer, read: () => void): void
  /** Watches a request's body, and reads no more of its connection while it has to wait. */
  watch(request: IncomingMessage): void
  /** Whether a body in chunks is being read of a connection. */
  isChunked(socket: Socket): boolean
  /** Has a connection wait for its turn. */
  wait(one: Waiting): void
  /** The same for one from which so many small pieces were read: their time passes before anybody's turn. */
  pay(pieces: number, one: Waiting): void
}

/** Begins without any. */
export function createPieceTurns(limits: PieceLimits): PieceTurns {
  const [fresh, many] = [new Set<Waiting>(), new Set<Waiting>()]
  const msOf = (pieces: number): number => (pieces / limits.smallPiecesPerSecond) * secondMs
  /** Pieces beyond what each may have at once, of which the time has not passed yet. */
  let owed = 0
  const owe = (pieces: number): void => void (owed = Math.min(owed + pieces, limits.smallPiecesPerSecond)) // a second's, however many owe
  /** Of each connection, how many bodies in chunks are not read to their end: one, or more that are pipelined. */
  const chunked = new WeakMap<Socket, number>()
  let paidMs = 0
  let isTurning = false
  let wasNew = false

  function takeNext(): Waiting | null {
    for (const crowd of wasNew ? [many, fresh] : [fresh, many])
      for (const one of crowd) {
        crowd.delete(one)
        if (!one.isGone) return one
      }
    return null
  }
  /** Lets the one that has waited longest go on, after the time that those before it take. */
  function turn(): void {
    const nowMs = performance.now()
    owed = Math.max(0, owed - ((nowMs - paidMs) / secondMs) * limits.smallPiecesPerSecond)
    paidMs = nowMs
    if (owed >= 1) return void setTimeout(turn, msOf(owed)).unref()
    const next = takeNext()
    isTurning = next !== null
    if (!next) return
    wasNew = next.isNew
    setImmediate(turn) // it is read before
    next.onTurn()
  }
  function wait(one: Waiting): void {
    ;(one.isNew ? fresh : many).add(one)
    if (isTurning) return
    isTurning = true
    paidMs = performance.now()
    setImmediate(turn)
  }

  return {
    wait,
    pay(pieces, one) {
      wait(one)
      owe(pieces)
    },
    isChunked: (socket) => (chunked.get(socket) ?? 0) > 0,
    begin(socket, bytes, read) {
      if (hasManyPieces(bytes, limits.smallPiecesAtOnce)) wait(new UnreadConnection(socket, read))
      else read()
    },
    watch(request) {
      const body = new WatchedBody(request, limits, wait)
      if (request.headers['transfer-encoding'] !== undefined) {
        const { socket } = request
        chunked.set(socket, (chunked.get(socket) ?? 0) + 1)
        request.once('close', () => chunked.set(socket, (chunked.get(socket) ?? 1) - 1))
        body.wait() // so that not many begin within one turn
      }
      watchPieces(request, (size) => {
        if (size < limits.smallPieceBytes && body.note()) owe(1)
      })
    },
  }
}

const secondMs = 1000
const [headEnd, lf] = ['\r\n\r\n', 10]

/** Whether a request's first bytes may be more chunks than this. */
function hasManyPieces(bytes: Buffer, most: number): boolean {
  let lines = 0
  for (let at = bytes.indexOf(headEnd); at >= 0 && lines <= most; at = bytes.indexOf(lf, at + 1)) lines++
  if (lines <= most) return false
  return bytes.toString('latin1', 0, bytes.indexOf(headEnd)).toLowerCase().includes('transfer-encoding')
}

/** A connection of which nothing is read yet. */
class UnreadConnection implements Waiting {
  readonly isNew = true
  readonly onTurn: () => void
  readonly #socket: Pick<Socket, 'destroyed'>

  constructor(socket: Pick<Socket, 'destroyed'>, read: () => void) {
    this.#socket = socket
    this.onTurn = read
  }

  get isGone(): boolean {
    return this.#socket.destroyed
  }
}

/** A body over HTTP/1.1. */
class WatchedBody implements Waiting {
  readonly #request: IncomingMessage
  readonly #socket: Socket
  readonly #limits: PieceLimits
  readonly #wait: (body: Waiting) => void
  readonly #stay = (): void => void this.#socket.pause()
  /** Small ones, since it went on last, or in this second. */
  #pieces = 0
  #sinceMs = performance.now()
  #waits = false

  constructor(request: IncomingMessage, limits: PieceLimits, wait: (body: Waiting) => void) {
    this.#request = request
    this.#socket = request.socket
    this.#limits = limits
    this.#wait = wait
  }

  get isNew(): boolean {
    return this.#pieces === 0
  }

  get isGone(): boolean {
    return this.#socket.destroyed
  }

  /** A small piece has come. @returns whether it is one too many */
  note(): boolean {
    if (++this.#pieces <= this.#limits.smallPiecesAtOnce) return false
    if (this.#waits) return true
    const nowMs = performance.now()
    if (nowMs - this.#sinceMs > secondMs) {
      this.#sinceMs = nowMs
      this.#pieces = 1
      return false
    }
    this.wait()
    return true
  }

  /** Reads no more of its connection until it is its turn. */
  wait(): void {
    this.#waits = true
    this.#socket.on('resume', this.#stay) // Node's own wish to read more changes nothing
    this.#socket.pause()
    this.#wait(this)
  }

  onTurn(): void {
    const request = this.#request
    const isOver = request.readableEnded || request.destroyed
    if (isOver || request.readableFlowing || request.listenerCount('readable') > 0) return this.#resume()
    // While nobody reads, what came would be kept piece by piece.
    const resumed = (): void => {
      request.off('resume', resumed).off('close', resumed).off('newListener', onListener)
      this.#resume()
    }
    const onListener = (event: string | symbol): void => {
      if (event === 'readable') resumed() // as iterators read
    }
    request.on('resume', resumed).on('close', resumed).on('newListener', onListener)
  }

  #resume(): void {
    if (!this.#waits) return
    this.#waits = false
    this.#pieces = 0
    this.#sinceMs = performance.now()
    this.#socket.off('resume', this.#stay)
    this.#socket.resume()
  }
}
