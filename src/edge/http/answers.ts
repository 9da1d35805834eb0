/**
 * Reads what a target answers: HTTP/1.1 from a server that may be anybody's, so that it is checked strictly, and what does not
 * hold to the protocol is an error. The bytes of a body pass as they came, without being copied; only the chunks of one read
 * are joined, so that small ones cost as little as large ones.
 */
import { JoinedPieces } from '#src/drivers/joined-pieces.ts'
import { BadAnswer, readHead, type AnswerHead } from './answer-heads.ts'
import { ingressLimits as limits } from './limits.ts'

/** What is done with an answer as it comes. */
export type ResponseHandler = {
  /** An answer to HEAD has no body. */
  readonly isHead: boolean
  /** Whether the request was one for another protocol, so that the answer may be 101. */
  readonly isUpgrade: boolean
  /** The target may be sent the body: 100 Continue. */
  onContinue(): void
  onHeaders(head: AnswerHead): void
  /** @returns false when no more is wanted for now */
  onData(bytes: Buffer): boolean
  onEnd(): void
}

const headEnd = Buffer.from('\r\n\r\n')
const [cr, lf] = [13, 10]
const nothing = Buffer.alloc(0)

type State = 'head' | 'length' | 'close' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailer' | 'done' | 'upgraded'

/** The answers on one connection, one after the other. */
export class AnswerReader {
  #state: State = 'done'
  #handler: ResponseHandler | null = null
  #held: Buffer = nothing
  readonly #chunks = new JoinedPieces()
  #left = 0
  #informationalCount = 0
  #trailerBytes = 0
  #lastText = ''
  #lastHead: AnswerHead | null = null
  #wantsMore = true
  /** How many small chunks were in what it took last. */
  smallChunks = 0
  /** What came behind an answer: bytes of another protocol, or such as nobody asked for. */
  rest: Buffer = nothing

  /** Expects an answer. */
  expect(handler: ResponseHandler): void {
    this.#handler = handler
    this.#state = 'head'
    this.#informationalCount = 0
  }

  /** Whether the answer has come to its end. */
  get isDone(): boolean {
    return this.#state === 'done' || this.#state === 'upgraded'
  }

  /** Whether another protocol has begun. */
  get isUpgraded(): boolean {
    return this.#state === 'upgraded'
  }

  /** Whether the connection may be used for another request after this answer. */
  get keepsAlive(): boolean {
    return this.#lastHead !== null && this.#lastHead.keepsAlive && this.#lastHead.length !== 'close'
  }

  /** Whether not a byte of it has come. */
  get isUntouched(): boolean {
    return this.#state === 'head' && this.#held.length === 0 && this.#informationalCount === 0
  }

  /** Takes what has come. @returns false when no more is wanted for now. @throws BadAnswer */
  take(bytes: Buffer): boolean {
    const piece = this.#held.length > 0 ? Buffer.concat([this.#held, bytes]) : bytes
    this.#held = nothing
    this.#wantsMore = true
    this.smallChunks = 0
    try {
      this.#read(piece)
    } finally {
      this.#giveChunks()
    }
    return this.#wantsMore
  }

  #read(piece: Buffer): void {
    for (let at = 0; at < piece.length; ) {
      if (this.isDone) {
        const rest = piece.subarray(at)
        this.rest = this.rest.length > 0 ? Buffer.concat([this.rest, rest]) : rest
        return
      }
      const used = this.#step(piece, at)
      if (used < 0) {
        this.#held = piece.subarray(at)
        return
      }
      at += used
    }
  }

  #give(part: Buffer): void {
    if (this.#handler?.onData(part) === false) this.#wantsMore = false
  }

  #giveChunks(): void {
    const joined = this.#chunks.take()
    if (joined) this.#give(joined)
  }

  /** The connection has ended. @throws BadAnswer when the answer had not */
  end(): void {
    if (this.#state === 'close') return this.#finish()
    if (!this.isDone) throw new BadAnswer('the answer broke off')
  }

  /** Reads a part that begins there. @returns how many bytes; -1 when it needs more than there are */
  #step(piece: Buffer, from: number): number {
    const bytes = piece.length - from
    switch (this.#state) {
      case 'head':
        return this.#head(from === 0 ? piece : piece.subarray(from))
      case 'length': {
        const used = Math.min(bytes, this.#left)
        this.#left -= used
        this.#give(piece.subarray(from, from + used))
        if (this.#left === 0) this.#finish()
        return used
      }
      case 'chunk': {
        const used = Math.min(bytes, this.#left)
        this.#left -= used
        this.#chunks.add(piece, from, from + used)
        if (this.#left === 0) this.#state = 'chunk-end'
        return used
      }
      case 'close':
        this.#give(piece.subarray(from))
        return bytes
      case 'chunk-end':
        if (bytes < 2) return -1
        if (piece[from] !== cr || piece[from + 1] !== lf) throw new BadAnswer('a chunk is longer than it says')
        this.#state = 'chunk-size'
        return 2
      case 'chunk-size':
        return this.#chunkSize(piece, from)
      case 'trailer':
        return this.#trailer(piece.subarray(from))
      default:
        return 0
    }
  }

  #head(piece: Buffer): number {
    const at = piece.indexOf(headEnd)
    if (at > limits.answerHeadBytes || (at < 0 && piece.length > limits.answerHeadBytes))
      throw new BadAnswer('the headers are too large')
    if (at < 0) return -1
    const text = piece.toString('latin1', 0, at)
    const handler = this.#handler as ResponseHandler // `expect` set it before the state was `head`
    let head = text === this.#lastText ? this.#lastHead : null
    if (!head) {
      head = readHead(text)
      this.#lastText = text
      this.#lastHead = head
    }
    if (head.status < 200) {
      this.#informational(head, handler)
    } else {
      const hasBody = !handler.isHead && head.status !== 204 && head.status !== 304
      this.#state =
        !hasBody || head.length === 0
          ? 'done'
          : head.length === 'chunked'
            ? 'chunk-size'
            : head.length === 'close'
              ? 'close'
              : 'length'
      this.#left = typeof head.length === 'number' ? head.length : 0
      handler.onHeaders(head)
      if (this.#state === 'done') this.#finish()
    }
    return at + headEnd.length
  }

  /** 100 lets the body come; 101 changes the protocol; others are for one connection, and are left out. */
  #informational(head: AnswerHead, handler: ResponseHandler): void {
    if (++this.#informationalCount > limits.informationalMax)
      throw new BadAnswer('there are too many informational responses before the answer')
    if (head.status === 100) handler.onContinue()
    if (head.status !== 101) return
    if (!handler.isUpgrade) throw new BadAnswer('the protocol was changed without being asked')
    this.#state = 'upgraded'
    handler.onHeaders(head)
  }

  #chunkSize(piece: Buffer, from: number): number {
    const end = Math.min(piece.length, from + limits.chunkLineBytes + 1)
    let at = from
    while (at < end && piece[at] !== lf) at++
    if (at === end) {
      if (end - from > limits.chunkLineBytes) throw new BadAnswer('the size of a chunk is too long')
      return -1
    }
    this.#left = readChunkSize(piece, from, at)
    if (this.#left < limits.smallPieceBytes) this.smallChunks++
    this.#trailerBytes = 0
    this.#state = this.#left === 0 ? 'trailer' : 'chunk'
    return at + 1 - from
  }

  /** Trailers are left out. */
  #trailer(piece: Buffer): number {
    const at = piece.indexOf(lf)
    const length = at < 0 ? piece.length : at + 1
    if (this.#trailerBytes + length > limits.trailerBytes) throw new BadAnswer('the trailers are too long')
    if (at < 0) return -1
    if (at === 0 || piece[at - 1] !== cr) throw new BadAnswer('a trailer does not end as it should')
    this.#trailerBytes += length
    if (at === 1) this.#finish()
    return length
  }

  #finish(): void {
    this.#giveChunks()
    const handler = this.#handler
    this.#handler = null
    this.#state = 'done'
    handler?.onEnd()
  }
}

/** The size of a chunk in the line between these bytes, without its extensions. */
function readChunkSize(piece: Buffer, from: number, at: number): number {
  if (at === from || piece[at - 1] !== cr) throw new BadAnswer('the size of a chunk does not end as it should')
  const digitsMax = 12
  let size = 0
  let index = from
  for (; index < at - 1; index++) {
    const digit = hexDigit(piece[index] ?? 0)
    if (digit < 0) break
    if (index - from === digitsMax) throw new BadAnswer('a chunk is too large')
    size = size * 16 + digit
  }
  const next = piece[index]
  const isExtended = next === 0x3b || next === 0x20 || next === 0x09
  if (index === from || (index < at - 1 && !isExtended)) throw new BadAnswer('the size of a chunk is no number')
  return size
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  const letter = code | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}
