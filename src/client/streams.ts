/**
 * Streams as async iterators. One that was cut begins again after the last cursor that it had, so that nothing is missing and
 * nothing comes twice. One whose reader is slow is left, and begun again from there once the reader has caught up.
 */
import { backoffMs, pause } from './chance.ts'
import { BerthError, errorOfGraph } from './errors.ts'
import type { Sockets } from './sockets.ts'

/** The limits of a stream. */
export const streamLimits = {
  waitingMax: 1_000, // values that came and were not read yet
  silentMs: 30_000, // the server says something every 10 s
  attemptsMax: 40, // in a row in which nothing came: some eight minutes
  againMsFirst: 300,
  againMsMax: 15_000,
} as const

/** Where a stream begins, and what ends it. `after` is a cursor: by default it begins at the beginning, or with the state of now. */
export type StreamOptions = { after?: string | undefined; signal?: AbortSignal | undefined }

/** What is read from an answer: a value, its cursor where it has one, and whether it is the last. */
export type Found<Value> = { value: Value; cursor?: string | null; isLast?: boolean }

/** A stream: its document, and how its answers are read. `read` gives undefined for a heartbeat. */
export type Source<Value> = {
  query: string
  variables: Record<string, unknown>
  read(data: unknown): Found<Value> | undefined
  /** False for what has no cursor: it ends with an error when it is cut after its beginning. */
  isResumed?: boolean
}

/**
 * Follows a stream to its end. Aborting ends it without an error.
 * @throws BerthError when it is refused, or when there was no connection for some eight minutes.
 */
export async function* follow<Value>(
  sockets: Sockets,
  { query, variables, read, isResumed = true }: Source<Value>,
  { after, signal }: StreamOptions = {},
): AsyncGenerator<Value, void, undefined> {
  let cursor = after
  let hasBegun = false
  for (let attempt = 0; attempt < streamLimits.attemptsMax; attempt++) {
    const part = new Part(sockets, query, { ...variables, ...(cursor === undefined ? {} : { after: cursor }) }, signal)
    try {
      for (let data = await part.next(); data !== undefined; data = await part.next()) {
        attempt = -1
        hasBegun = true
        const found = read(data)
        if (!found) continue
        cursor = found.cursor ?? cursor
        yield found.value
        if (found.isLast) return
      }
    } finally {
      part.leave()
    }
    if (signal?.aborted || part.outcome === 'ended') return
    if (part.outcome instanceof BerthError) {
      if (part.outcome.code === 'LOG_OVER') return // its last entry was the one that we have
      if (part.outcome.status === 401 && sockets.renew()) continue
      if (isRefusal(part.outcome) || (hasBegun && !isResumed) || attempt + 1 >= streamLimits.attemptsMax)
        throw part.outcome
    }
    if (part.outcome === 'full' && !isResumed)
      throw new BerthError({ code: 'INVALID_REQUEST', message: 'This stream came faster than it was read.' })
    if (part.outcome !== 'full')
      await pause(
        backoffMs(Math.max(attempt, 0), { firstMs: streamLimits.againMsFirst, mostMs: streamLimits.againMsMax }),
        signal,
      )
    if (signal?.aborted) return
  }
}

/** Whether it would be refused again. */
function isRefusal({ code, status }: BerthError): boolean {
  return code !== 'CONNECTION_FAILED' && status !== 429 && status < 500
}

/** A subscription until it ends, for whatever reason. */
class Part {
  /** Why there is no more: the server said so, the reader was too slow, or an error. */
  outcome: 'ended' | 'full' | BerthError | undefined
  readonly #waiting: unknown[] = []
  readonly #signal: AbortSignal | undefined
  readonly #leave: () => void
  readonly #sockets: Sockets
  #timer: ReturnType<typeof setTimeout> | undefined
  #isLeft = false
  #wake: () => void = () => undefined

  constructor(sockets: Sockets, query: string, variables: Record<string, unknown>, signal: AbortSignal | undefined) {
    this.#signal = signal
    this.#sockets = sockets
    signal?.addEventListener('abort', this.#onAbort)
    this.#listen()
    this.#leave = sockets.subscribe(query, variables, {
      next: ({ data, errors }) => {
        const [first] = errors ?? []
        if (first) return this.#end(errorOfGraph(first))
        this.#listen()
        if (this.outcome !== undefined) return
        if (this.#waiting.length >= streamLimits.waitingMax) return this.#end('full')
        this.#waiting.push(data)
        this.#wake()
      },
      end: (error) => this.#end(error ?? 'ended'),
    })
  }

  /** The next answer; undefined when there is none any more. */
  async next(): Promise<unknown> {
    while (this.#waiting.length === 0 && this.outcome === undefined && !this.#signal?.aborted)
      await new Promise<void>((resolve) => (this.#wake = resolve))
    return this.#signal?.aborted ? undefined : this.#waiting.shift()
  }

  /** Ends it. */
  leave(): void {
    if (this.#isLeft) return
    this.#isLeft = true
    clearTimeout(this.#timer)
    this.#signal?.removeEventListener('abort', this.#onAbort)
    this.#leave()
  }

  readonly #onAbort = (): void => this.#wake()

  #listen(): void {
    clearTimeout(this.#timer)
    if (this.#isLeft) return
    this.#timer = setTimeout(() => {
      this.#end(new BerthError({ code: 'CONNECTION_FAILED', message: 'Berth has been silent for too long.' }))
      this.#sockets.terminate() // it looks open, and is not
    }, streamLimits.silentMs)
  }

  #end(outcome: 'ended' | 'full' | BerthError): void {
    clearTimeout(this.#timer)
    this.outcome ??= outcome
    if (outcome === 'full') this.leave()
    this.#wake()
  }
}
