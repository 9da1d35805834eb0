/** One request and its answer: between a client, over HTTP/1.1 or HTTP/2, and a connection to a target. */
import type { Duplex } from 'node:stream'
import { JoinedWrites } from '#src/drivers/joined-pieces.ts'
import type { AnswerHead } from './answer-heads.ts'
import type { ResponseHandler } from './answers.ts'
import { endAnswer, endEarly, flushHead, writeHead, writePiece } from './client-answers.ts'
import { ingressLimits } from './limits.ts'
import type { Incoming, Outgoing } from './messages.ts'
import { answerSeconds } from './metrics.ts'
import type { ReadRequest } from './requests.ts'
import { SimpleRequest } from './simple/requests.ts'
import type { TargetRefusal } from './targets.ts'

/** What an exchange tells whoever began it. */
export type ExchangeEnds = {
  /** The target could not answer: a page says why. */
  refuse(exchange: Exchange, refusal: TargetRefusal | Late): void
  /** It is over, in whatever way; called once. */
  over(exchange: Exchange): void
}

/** What took too long: the target to answer, or the client to send its body. */
export type Late = 'late-answer' | 'late-body'

/** The connection to a target, as an exchange uses it. */
export type Carrier = {
  readonly stream: Duplex
  /** Ends it: what was begun on it cannot be finished. */
  destroy(): void
  /** The request has been sent. */
  sent(): void
  /** More of the answer is wanted again. */
  resume(): void
}

/** The limits of an exchange; shorter in tests. */
export type ExchangeLimits = Pick<
  typeof ingressLimits,
  | 'answerSeconds'
  | 'silenceSeconds'
  | 'stalledSeconds'
  | 'uploadWindowSeconds'
  | 'uploadBytesPerSecondMin'
  | 'waitingSeconds'
>

const retried = new Set(['GET', 'HEAD', 'OPTIONS'])

/** A request on its way. */
export class Exchange implements ResponseHandler {
  readonly request: Incoming
  readonly answer: Outgoing
  readonly read: ReadRequest
  readonly isHead: boolean
  readonly isUpgrade = false
  /** When it began to wait for a connection. */
  readonly begunMs = performance.now()
  /** Whether the client, or somebody for it, has ended it. */
  isOver = false
  /** Whether the answer has come to its end. */
  isAnswered = false
  isRetried = false
  /** What the answer's headers get besides the target's, such as a cookie of ours. */
  extraHeaders: readonly string[] = []
  readonly #ends: ExchangeEnds
  #carrier: Carrier | null = null
  #heldHead: AnswerHead | null = null
  #hasBegun = false
  #isUploaded: boolean
  #expectsContinue: boolean
  #uploadedMs = 0
  #windowMs = 0
  #windowBytes = 0
  #uploadHeldMs = 0
  #stalledMs = 0
  #heardMs = 0

  constructor(request: Incoming, answer: Outgoing, read: ReadRequest, ends: ExchangeEnds) {
    this.request = request
    this.answer = answer
    this.read = read
    this.isHead = request.method === 'HEAD'
    this.#ends = ends
    this.#isUploaded = read.body === 'none'
    this.#expectsContinue = read.expectsContinue
    answer.on('close', () => this.#closed())
  }

  /** Whether it may be sent once more, on another connection: nothing has come back, and doing it twice does no harm. */
  get canRetry(): boolean {
    return !this.isRetried && this.read.body === 'none' && retried.has(this.request.method ?? '')
  }

  /** Whether the client has sent everything. */
  get isUploaded(): boolean {
    return this.#isUploaded
  }

  /** Sends the request on this connection. */
  sendOn(carrier: Carrier): void {
    this.#carrier = carrier
    const { head, body } = this.read
    carrier.stream.write(`${head}\r\n`, 'latin1')
    this.#heardMs = performance.now()
    if (body === 'none') {
      this.#uploadedMs = this.#heardMs
      carrier.sent()
    } else this.#sendBody(carrier, body)
  }

  #sendBody(carrier: Carrier, body: 'length' | 'chunked'): void {
    const { request } = this
    const { stream } = carrier
    if (request instanceof SimpleRequest) return // it has no body
    this.#windowMs = performance.now()
    const writes = new JoinedWrites((joined) => {
      if (this.#carrier !== carrier || stream.destroyed) return
      if (body === 'chunked') {
        stream.cork()
        stream.write(`${joined.length.toString(16)}\r\n`, 'latin1')
        stream.write(joined)
        stream.write('\r\n', 'latin1')
        stream.uncork()
      } else stream.write(joined)
      if (!stream.writableNeedDrain || this.#isUploaded) return
      request.pause()
      this.#uploadHeldMs = performance.now()
    })
    request.on('data', (piece: Buffer) => {
      if (this.#carrier !== carrier) return
      this.#windowBytes += piece.length
      writes.add(piece)
    })
    request.once('end', () => {
      writes.flush()
      this.#isUploaded = true
      this.#uploadedMs = performance.now()
      if (this.#carrier !== carrier || stream.destroyed) return
      if (body === 'chunked') stream.write('0\r\n\r\n', 'latin1')
      carrier.sent()
    })
  }

  /** The target takes more of the body. */
  drained(): void {
    if (this.#uploadHeldMs === 0) return
    this.#uploadHeldMs = 0
    this.#windowMs = performance.now()
    this.#windowBytes = 0
    if (!(this.request instanceof SimpleRequest)) this.request.resume()
  }

  onContinue(): void {
    if (!this.#expectsContinue || this.#hasBegun || this.isOver) return
    this.#expectsContinue = false
    this.answer.writeContinue()
  }

  onHeaders(head: AnswerHead): void {
    this.#heldHead = head // so that a short answer is written at once, with its headers
    answerSeconds.observe((performance.now() - this.begunMs) / 1000)
  }

  onData(bytes: Buffer): boolean {
    if (this.isOver) return true
    const { answer } = this
    this.#heardMs = performance.now()
    const held = this.#heldHead
    if (held) {
      this.#flushHead(held)
      if (held.length === bytes.length) {
        this.isAnswered = true
        endAnswer(answer, bytes)
        return true
      }
    }
    if (writePiece(answer, bytes)) return true
    const isStalled = this.#stalledMs > 0
    this.#stalledMs = this.#heardMs
    if (isStalled) return false // more of what was read before
    answer.once('drain', () => {
      this.#stalledMs = 0
      this.#carrier?.resume()
    })
    return false
  }

  onEnd(): void {
    if (this.isOver || this.isAnswered) return
    this.isAnswered = true
    if (this.#heldHead) this.#flushHead(this.#heldHead)
    endAnswer(this.answer)
  }

  /** What has come for now is to be passed on. */
  flush(): void {
    if (!this.#heldHead || this.isOver) return
    this.#flushHead(this.#heldHead)
    flushHead(this.answer)
  }

  #flushHead(head: AnswerHead): void {
    this.#heldHead = null
    this.#hasBegun = true
    if (!this.#isUploaded) endEarly(this.request, this.answer)
    writeHead(this.answer, head.status, head.reason, head.headers, this.extraHeaders)
  }

  /** The target could not answer, or broke off. */
  fail(refusal: TargetRefusal | Late): void {
    if (this.isOver || this.isAnswered) return
    this.#carrier = null
    if (this.#hasBegun) return this.cut()
    this.#heldHead = null
    this.isAnswered = true
    this.#ends.refuse(this, refusal)
  }

  /** Ends the connection to the client: what was begun cannot be finished. */
  cut(): void {
    cutAnswer(this.answer)
  }

  /** It is on no connection any more. */
  leave(): void {
    this.#carrier = null
  }

  /** What is wrong now, if anything is. */
  look(nowMs: number, limits: ExchangeLimits): 'fine' | 'cut' | Late {
    if (this.#stalledMs > 0) return nowMs - this.#stalledMs > limits.stalledSeconds * 1000 ? 'cut' : 'fine'
    if (this.#hasBegun) {
      const last = Math.max(this.#heardMs, this.#windowMs)
      return nowMs - last > limits.silenceSeconds * 1000 ? 'cut' : 'fine'
    }
    if (this.#isUploaded) return nowMs - this.#uploadedMs > limits.answerSeconds * 1000 ? 'late-answer' : 'fine'
    if (this.#uploadHeldMs > 0) return nowMs - this.#uploadHeldMs > limits.answerSeconds * 1000 ? 'late-answer' : 'fine'
    return this.#isUploadSlow(nowMs, limits) ? 'late-body' : 'fine'
  }

  #isUploadSlow(nowMs: number, { uploadWindowSeconds, uploadBytesPerSecondMin }: ExchangeLimits): boolean {
    if (nowMs - this.#windowMs < uploadWindowSeconds * 1000) return false
    if (this.#windowBytes < uploadWindowSeconds * uploadBytesPerSecondMin) return true
    this.#windowMs = nowMs
    this.#windowBytes = 0
    return false
  }

  #closed(): void {
    if (this.isOver) return
    this.isOver = true
    const carrier = this.#carrier
    this.#carrier = null
    if (carrier && !(this.isAnswered && this.#isUploaded)) carrier.destroy()
    this.#ends.over(this)
  }
}

/** Ends the connection of an answer that cannot be finished; over HTTP/2 its stream. */
export function cutAnswer(answer: Outgoing): void {
  if ('stream' in answer && answer.stream) answer.stream.destroy(new Error('the answer broke off'))
  else answer.destroy()
}
