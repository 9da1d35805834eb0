/**
 * Reads what a target answers: HTTP/1.1 from a server that may be anybody's, so that it is checked strictly, and what does not
 * hold to the protocol is an error. The bytes of a body pass as they came, without being copied.
 */
import { isHopByHop, namedByConnection } from '#src/drivers/hop-by-hop.ts'
import { ingressLimits as limits } from '#src/platform/limits/ingress.ts'

/** The beginning of an answer. `headers`: names and values in turn, without those that are for one connection only. */
export type AnswerHead = {
  status: number
  reason: string
  headers: readonly string[]
  /** How long the body is: in bytes, as long as its chunks, or until the connection ends. */
  length: number | 'chunked' | 'close'
  keepsAlive: boolean
}

/** Who takes an answer. */
export type AnswerTaker = {
  /** An answer to HEAD has no body. */
  readonly isHead: boolean
  /** Whether the request was one for another protocol, so that the answer may be 101. */
  readonly isUpgrade: boolean
  /** The target may be sent the body: 100 Continue. */
  goOn(): void
  begin(head: AnswerHead): void
  /** @returns false when no more is wanted for now */
  piece(bytes: Buffer): boolean
  end(): void
}

/** A target that does not speak HTTP as it should. */
export class BadAnswer extends Error {
  override name = 'BadAnswer'
}

const headEnd = Buffer.from('\r\n\r\n')
const [cr, lf] = [13, 10]
const tokenPattern = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const statusPattern = /^HTTP\/1\.([01]) ([1-5][0-9]{2})(?: |$)/
const nothing = Buffer.alloc(0)

type State = 'head' | 'length' | 'close' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailer' | 'done' | 'upgraded'

/** The answers on one connection, one after the other. */
export class AnswerReader {
  #state: State = 'done'
  #taker: AnswerTaker | null = null
  #held: Buffer = nothing
  #left = 0
  #notices = 0
  #trailerBytes = 0
  #lastText = ''
  #lastHead: AnswerHead | null = null
  /** What came behind an answer: bytes of another protocol, or such as nobody asked for. */
  rest: Buffer = nothing

  /** Expects an answer. */
  expect(taker: AnswerTaker): void {
    this.#taker = taker
    this.#state = 'head'
    this.#notices = 0
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
    return this.#state === 'head' && this.#held.length === 0 && this.#notices === 0
  }

  /** Takes what has come. @returns false when no more is wanted for now. @throws BadAnswer */
  take(bytes: Buffer): boolean {
    let piece = this.#held.length > 0 ? Buffer.concat([this.#held, bytes]) : bytes
    this.#held = nothing
    let wantsMore = true
    while (piece.length > 0) {
      const before = this.#state
      const used: number = this.#step(piece, (part) => {
        if (this.#taker?.piece(part) === false) wantsMore = false
      })
      if (used < 0) {
        this.#held = piece
        return wantsMore
      }
      piece = used === piece.length ? nothing : piece.subarray(used)
      if (this.isDone && piece.length > 0) {
        this.rest = before === 'done' ? Buffer.concat([this.rest, piece]) : piece
        return wantsMore
      }
    }
    return wantsMore
  }

  /** The connection has ended. @throws BadAnswer when the answer had not */
  end(): void {
    if (this.#state === 'close') return this.#finish()
    if (!this.isDone) throw new BadAnswer('the answer broke off')
  }

  /** Reads a part; -1 when it needs more than there is. */
  #step(piece: Buffer, give: (part: Buffer) => void): number {
    switch (this.#state) {
      case 'head':
        return this.#head(piece)
      case 'length':
      case 'chunk': {
        const part = piece.length <= this.#left ? piece : piece.subarray(0, this.#left)
        this.#left -= part.length
        give(part)
        if (this.#left === 0) {
          if (this.#state === 'length') this.#finish()
          else this.#state = 'chunk-end'
        }
        return part.length
      }
      case 'close':
        give(piece)
        return piece.length
      case 'chunk-end':
        if (piece.length < 2) return -1
        if (piece[0] !== cr || piece[1] !== lf) throw new BadAnswer('a chunk is longer than it says')
        this.#state = 'chunk-size'
        return 2
      case 'chunk-size':
        return this.#chunkSize(piece)
      case 'trailer':
        return this.#trailer(piece)
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
    const taker = this.#taker as AnswerTaker // `expect` set it before the state was `head`
    let head = text === this.#lastText ? this.#lastHead : null
    if (!head) {
      head = readHead(text)
      this.#lastText = text
      this.#lastHead = head
    }
    if (head.status < 200) {
      this.#notice(head, taker)
    } else {
      const hasBody = !taker.isHead && head.status !== 204 && head.status !== 304
      this.#state =
        !hasBody || head.length === 0
          ? 'done'
          : head.length === 'chunked'
            ? 'chunk-size'
            : head.length === 'close'
              ? 'close'
              : 'length'
      this.#left = typeof head.length === 'number' ? head.length : 0
      taker.begin(head)
      if (this.#state === 'done') this.#finish()
    }
    return at + headEnd.length
  }

  /** 100 lets the body come; 101 changes the protocol; others are for one connection, and are left out. */
  #notice(head: AnswerHead, taker: AnswerTaker): void {
    if (++this.#notices > limits.answerNoticesMax) throw new BadAnswer('there are too many notices before the answer')
    if (head.status === 100) taker.goOn()
    if (head.status !== 101) return
    if (!taker.isUpgrade) throw new BadAnswer('the protocol was changed without being asked')
    this.#state = 'upgraded'
    taker.begin(head)
  }

  #chunkSize(piece: Buffer): number {
    const at = piece.indexOf(lf)
    if (at > limits.chunkLineBytes || (at < 0 && piece.length > limits.chunkLineBytes))
      throw new BadAnswer('the size of a chunk is too long')
    if (at < 0) return -1
    this.#left = readChunkSize(piece, at)
    this.#trailerBytes = 0
    this.#state = this.#left === 0 ? 'trailer' : 'chunk'
    return at + 1
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
    const taker = this.#taker
    this.#taker = null
    this.#state = 'done'
    taker?.end()
  }
}

/** The size of a chunk in the line that ends at this byte, without its extensions. */
function readChunkSize(piece: Buffer, at: number): number {
  if (piece[at - 1] !== cr) throw new BadAnswer('the size of a chunk does not end as it should')
  const digitsMax = 12
  let size = 0
  let index = 0
  for (; index < at - 1; index++) {
    const digit = hexDigit(piece[index] ?? 0)
    if (digit < 0) break
    if (index === digitsMax) throw new BadAnswer('a chunk is too large')
    size = size * 16 + digit
  }
  const next = piece[index]
  const isExtended = next === 0x3b || next === 0x20 || next === 0x09
  if (index === 0 || (index < at - 1 && !isExtended)) throw new BadAnswer('the size of a chunk is no number')
  return size
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  const letter = code | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}

function readHead(text: string): AnswerHead {
  const lines = text.split('\r\n')
  const first = lines[0] ?? ''
  const [begin, minor, status] = statusPattern.exec(first) ?? []
  if (begin === undefined || hasControls(first)) throw new BadAnswer('this is no HTTP')
  if (lines.length - 1 > limits.answerHeadersMax) throw new BadAnswer('there are too many headers')
  const read: HeadParts = { headers: [], length: null, isChunked: false, connection: '' }
  for (let at = 1; at < lines.length; at++) readLine(lines[at] ?? '', read)
  if (read.isChunked && (read.length !== null || minor === '0')) throw new BadAnswer('its length is said twice')
  const connection = read.connection.toLowerCase()
  const named = namedByConnection(connection)
  return {
    status: Number(status),
    reason: first.slice(begin.length),
    headers: named ? withoutNamed(read.headers, named) : read.headers,
    length: read.isChunked ? 'chunked' : (read.length ?? 'close'),
    keepsAlive: minor === '1' && !/\bclose\b/.test(connection),
  }
}

/** Whether a text has characters that no header has; the tabulator is one that it may have. */
function hasControls(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if ((code < 0x20 && code !== 0x09) || code === 0x7f) return true
  }
  return false
}

type HeadParts = { headers: string[]; length: number | null; isChunked: boolean; connection: string }

function readLine(line: string, read: HeadParts): void {
  const colon = line.indexOf(':')
  const name = colon < 0 ? '' : line.slice(0, colon)
  const value = line.slice(colon + 1).trim()
  if (!tokenPattern.test(name) || hasControls(value)) throw new BadAnswer('a header is not as it should be')
  const lower = name.toLowerCase()
  if (lower === 'content-length') {
    if (read.length !== null || !/^[0-9]{1,15}$/.test(value)) throw new BadAnswer('its length is no number')
    read.length = Number(value)
  } else if (lower === 'transfer-encoding') {
    if (read.isChunked || value.toLowerCase() !== 'chunked') throw new BadAnswer('its transfer encoding is unknown')
    read.isChunked = true
    return
  } else if (lower === 'connection') {
    read.connection += `${value},`
    return
  } else if (isHopByHop(lower)) return
  read.headers.push(name, value)
}

function withoutNamed(headers: readonly string[], named: ReadonlySet<string>): string[] {
  return headers.filter((_, at) => !named.has((headers[at - (at % 2)] ?? '').toLowerCase()))
}
