/**
 * One HTTP request to an upstream, and its answer as it comes. The hot path of the gateway: one object per request is
 * undici's handler and the reader's source at once; there is no Node stream between, and no closure per chunk.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { log } from '#src/platform/log.ts'
import { JoinedPieces } from '../joined-pieces.ts'
import type { UpstreamTarget } from './model.ts'
import { brokenAnswer, upstreamError } from './upstream-errors.ts'
import { connectionsMax, originOf, type Origin } from './upstream-origins.ts'

/** The default time limits until an answer begins, and between two of its bytes. */
const firstByteSecondsDefault = 120
const silenceSecondsDefault = 120
/** An answer that is not streamed begins only when all of it is generated: as long as OpenAI's own client waits. */
const wholeAnswerSecondsDefault = 600
/** The maximum duration of one answer, however steadily it arrives. */
const answerMsMax = 60 * 60 * 1000
/** The maximum sizes: of a streamed answer, and of another one. */
const streamBytesMax = 64 * 1024 * 1024
const wholeBytesMax = 16 * 1024 * 1024
/** Backpressure: how much is buffered for a reader that is slower than the upstream, which then has to wait. */
const queuedBytesMax = 256 * 1024
/** After the reader has all it needs, the response may so end by itself, and its connection be used again. */
const drainMs = 1_000
const drainBytesMax = 64 * 1024
/** Smaller chunks are joined, and only so many are taken in one turn of the event loop: one read may have 300,000 of one byte. */
const smallBytes = 4 * 1024
const smallAtOnce = 20_000

/** The request. `headers` are alternating names and values. */
export type UpstreamPost = { path: string; headers: string[]; body: string | Buffer }

/**
 * Sends a request. Wait for `begun` of the response first.
 * @param stream whether a stream is expected, which may be longer than other answers.
 * @throws BerthError upstream_overloaded; the signal's reason when it is aborted.
 */
export function postUpstream(
  target: UpstreamTarget,
  post: UpstreamPost,
  stream: boolean,
  signal: AbortSignal,
): UpstreamResponse {
  signal.throwIfAborted()
  const origin = originOf(target.baseUrl)
  if (origin.open >= connectionsMax)
    throw upstreamError(
      target,
      'upstream_overloaded',
      `Too many requests to the upstream ${target.slug} are open. Try again in a few seconds.`,
    )
  const response = new UpstreamResponse(target, origin, signal, stream ? streamBytesMax : wholeBytesMax)
  origin.pool.dispatch(
    {
      path: `${origin.path}${post.path}`,
      method: 'POST',
      headers: post.headers,
      body: post.body,
      headersTimeout:
        (target.firstByteSeconds ?? (stream ? firstByteSecondsDefault : wholeAnswerSecondsDefault)) * 1000,
      bodyTimeout: (target.silenceSeconds ?? silenceSecondsDefault) * 1000,
    },
    response,
  )
  return response
}

/** An upstream's answer. Read it with `shift` and `more`, and end it with `finish` or `leave`. */
export class UpstreamResponse implements Dispatcher.DispatchHandler {
  status = 0
  headers: IncomingHttpHeaders = {}
  /**
   * Resolves when the status and the headers are there, whatever they say.
   * @throws BerthError upstream_error, upstream_timeout; the signal's reason when it is aborted.
   */
  readonly begun: Promise<unknown>
  readonly #target: UpstreamTarget
  readonly #origin: Origin
  readonly #signal: AbortSignal
  readonly #startedMs = performance.now()
  #bytesLeft: number
  #controller: Dispatcher.DispatchController | null = null
  #chunks: Buffer[] = []
  /** Small ones behind them as one: an answer in chunks of one byte would cost a piece for each. */
  readonly #last = new JoinedPieces()
  #queuedBytes = 0
  #small = 0
  #isResting = false
  /** The connection has been released. */
  #isClosed = false
  /** The reader has stopped reading. */
  #isLeft = false
  #failure: Error | null = null
  #drainTimer: NodeJS.Timeout | null = null
  #resolve: ((isThere: boolean) => void) | null = null
  #reject: ((error: unknown) => void) | null = null

  /** Made by `postUpstream` only. */
  constructor(target: UpstreamTarget, origin: Origin, signal: AbortSignal, bytesMax: number) {
    this.#target = target
    this.#origin = origin
    this.#signal = signal
    this.#bytesLeft = bytesMax
    origin.open++
    signal.addEventListener('abort', this)
    this.begun = this.#wait()
  }

  /** The next chunk that is already here. */
  shift(): Buffer | undefined {
    const chunk = this.#chunks.shift() ?? this.#last.take()
    if (chunk === null) return undefined
    this.#queuedBytes -= chunk.length
    if (this.#queuedBytes === 0 && this.#controller?.paused && !this.#isResting) this.#controller.resume()
    return chunk
  }

  /** Waits for a chunk: false when there will be none. @throws like `begun`. */
  more(): Promise<boolean> {
    if (this.#queuedBytes > 0) return Promise.resolve(true)
    if (this.#failure !== null) return Promise.reject(this.#failure)
    if (this.#hasEnded) return Promise.resolve(false)
    return this.#wait()
  }

  /** The whole body, at most so many bytes of it. @throws like `more`. */
  async whole(bytesMax = wholeBytesMax): Promise<Buffer> {
    const pieces = new JoinedPieces()
    while (pieces.bytes < bytesMax && (this.#queuedBytes > 0 || (!this.#hasEnded && (await this.more()))))
      for (let piece = this.shift(); piece; piece = this.shift()) pieces.add(piece)
    return pieces.take() ?? Buffer.alloc(0)
  }

  /** Whether it ended normally; what was not read is still available. */
  get #hasEnded(): boolean {
    return this.#isClosed && this.#failure === null
  }

  /** The reader has what it needs; the rest, which should be nothing, is read so that the connection can be reused. */
  finish(): void {
    this.#forget()
    if (this.#isClosed || this.#isLeft) return
    this.#isLeft = true
    this.#bytesLeft = drainBytesMax
    this.#drainTimer = setTimeout(() => this.#abort(new Error('the upstream does not end its answer')), drainMs).unref()
    if (this.#controller?.paused) this.#controller.resume()
  }

  /** The reader stops before the end: the upstream notices immediately. */
  leave(): void {
    this.#fail(new Error('the reader has disconnected'))
  }

  /** The caller's signal. */
  handleEvent(): void {
    this.#fail(this.#signal.reason as Error) // a timeout's error, or the abort reason of the caller
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#failure !== null) this.#abort(this.#failure)
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return
    this.status = status
    this.headers = headers
    this.#wake(true)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytesLeft -= chunk.length
    if (this.#bytesLeft < 0)
      return this.#isLeft
        ? this.#abort(new Error('the upstream does not end its answer'))
        : this.#fail(brokenAnswer(this.#target, 'sent a longer answer than allowed'))
    if (this.#isLeft) return
    if (performance.now() - this.#startedMs > answerMsMax)
      return this.#fail(
        upstreamError(
          this.#target,
          'upstream_timeout',
          `The upstream ${this.#target.slug} did not end its answer in time.`,
        ),
      )
    if (chunk.length < smallBytes) {
      this.#last.add(chunk)
      if (++this.#small % smallAtOnce === 0) this.#rest(controller)
    } else {
      const before = this.#last.take()
      if (before) this.#chunks.push(before)
      this.#chunks.push(chunk)
    }
    this.#queuedBytes += chunk.length
    if (this.#queuedBytes > queuedBytesMax) controller.pause()
    this.#wake(true)
  }

  onResponseEnd(): void {
    this.#close()
    this.#wake(this.#queuedBytes > 0)
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#close()
    if (this.#failure !== null || this.#isLeft) return
    this.#failure = this.#describe(error)
    if (this.#queuedBytes === 0) this.#throw(this.#failure)
  }

  /** Lets others go on before the next chunks are parsed. */
  #rest(controller: Dispatcher.DispatchController): void {
    this.#isResting = true
    controller.pause()
    setImmediate(() => {
      this.#isResting = false
      if (!this.#isClosed && controller.paused && this.#queuedBytes <= queuedBytesMax) controller.resume()
    })
  }

  #wait(): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  #wake(isThere: boolean): void {
    const resolve = this.#resolve
    this.#resolve = this.#reject = null
    resolve?.(isThere)
  }

  #throw(error: Error): void {
    const reject = this.#reject
    this.#resolve = this.#reject = null
    reject?.(error)
  }

  #forget(): void {
    this.#chunks = []
    this.#last.take()
    this.#queuedBytes = 0
  }

  /** Ends the request from our side. Unread data is dropped. */
  #fail(error: Error): void {
    if (this.#failure !== null || this.#isClosed) return
    this.#failure = error
    this.#forget()
    this.#abort(error)
    this.#throw(error)
  }

  #abort(error: unknown): void {
    this.#close()
    this.#controller?.abort(error instanceof Error ? error : new Error('the request was aborted'))
  }

  #close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#origin.open--
    this.#signal.removeEventListener('abort', this)
    if (this.#drainTimer) clearTimeout(this.#drainTimer)
  }

  #describe(error: Error & { code?: string }): Error {
    const { slug } = this.#target
    const code = error.code ?? error.name
    log.warn({ upstream: slug, code, answered: this.status }, 'an upstream failed')
    if (/TIMEOUT/.test(code))
      return upstreamError(
        this.#target,
        'upstream_timeout',
        `The upstream ${slug} ${this.status === 0 ? 'did not answer in time' : 'stopped in the middle of its answer'}. Try again.`,
      )
    if (/^HPE_|HEADERS_OVERFLOW/.test(code)) return brokenAnswer(this.#target, 'sent something that is not HTTP')
    if (this.status > 0) return brokenAnswer(this.#target, 'cut off its answer')
    return brokenAnswer(
      this.#target,
      code === 'UND_ERR_SOCKET' || code === 'ECONNRESET'
        ? 'closed the connection without an answer'
        : 'cannot be reached',
    )
  }
}
