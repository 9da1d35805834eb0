/**
 * An upstream's answer as events, whatever its wire format: requested, checked, and read in the batches in which it
 * arrives.
 */
import { JsonAnswerError, readAnswer, readInlineAnswer } from '#src/platform/json/answers.ts'
import { bodyText } from '#src/platform/json/text.ts'
import { limits } from '#src/platform/limits.ts'
import { AnswerEvents, type AnswerReader, type MakeReader } from './answer-events.ts'
import { EventStream, EventStreamError } from './event-streams.ts'
import { objectOf, type Values } from './json-values.ts'
import { WholeAnswer, type ModelAnswer, type ModelEvent, type ModelRequest, type UpstreamTarget } from './model.ts'
import { brokenAnswer, errorIn, refusedByStatus, refusedInAnswer } from './upstream-errors.ts'
import { postUpstream, type UpstreamPost, type UpstreamResponse } from './upstream-http.ts'

/** A request to an upstream: its body is serialized as JSON. `headers` are alternating names and values. */
export type UpstreamQuestion = { path: string; headers: string[]; body: object }

/** How much of the body of an error is read, and for how long. */
const errorBytesMax = 64 * 1024
const errorMs = 5_000

/**
 * Posts the request and reads the answer with the format's reader.
 * @throws BerthError by the upstream's status; see model.ts.
 */
export async function askOverHttp(
  target: UpstreamTarget,
  request: ModelRequest,
  question: UpstreamQuestion,
  makeReader: MakeReader,
  signal: AbortSignal,
): Promise<ModelAnswer> {
  const response = await begin(target, question, request.stream, signal)
  const events = new AnswerEvents(target, request)
  const reader = makeReader(target, events)
  if (request.stream && typeOf(response).startsWith('text/event-stream'))
    return new StreamedAnswer(target, response, reader, events)
  return answerOfWhole(target, request, response, reader, events)
}

/**
 * Posts a request whose answer is one JSON object.
 * @throws BerthError by the upstream's status; see model.ts.
 */
export async function askForJson(
  target: UpstreamTarget,
  question: UpstreamQuestion,
  signal: AbortSignal,
): Promise<Values> {
  return readBody(target, await begin(target, question, false, signal))
}

/** Posts the request; resolves when the upstream has accepted it. @throws BerthError by its status. */
async function begin(
  target: UpstreamTarget,
  question: UpstreamQuestion,
  stream: boolean,
  signal: AbortSignal,
): Promise<UpstreamResponse> {
  const body = bodyText(question.body)
  const post: UpstreamPost = { ...question, body: typeof body === 'string' ? body : await body }
  const response = postUpstream(target, post, stream, signal)
  await response.begun
  const { status, headers } = response
  if (status < 200 || status > 299) throw refusedByStatus(target, status, headers, await errorBody(response, signal))
  return response
}

function typeOf({ headers }: UpstreamResponse): string {
  return headers['content-type']?.toLowerCase() ?? ''
}

async function errorBody(response: UpstreamResponse, signal: AbortSignal): Promise<string> {
  const timer = setTimeout(() => response.leave(), errorMs)
  try {
    return (await response.whole(errorBytesMax)).toString()
  } catch (error) {
    if (signal.aborted) throw error
    return '' // only the status is known
  } finally {
    clearTimeout(timer)
    response.finish()
  }
}

/** An answer that is not streamed. If a stream was requested it is an error, whose message is used if it has one. */
async function answerOfWhole(
  target: UpstreamTarget,
  request: ModelRequest,
  response: UpstreamResponse,
  reader: AnswerReader,
  events: AnswerEvents,
): Promise<ModelAnswer> {
  const body = await readBody(target, response)
  if (request.stream) throw brokenAnswer(target, 'answered with a content type that was not requested')
  reader.whole(body)
  if (!events.hasEnded) throw brokenAnswer(target, 'sent something that is not an answer')
  return new WholeAnswer(events.take())
}

/** The whole answer, which is a JSON object and no error. @throws BerthError upstream_error, or what the error says. */
async function readBody(target: UpstreamTarget, response: UpstreamResponse): Promise<Values> {
  const type = typeOf(response)
  if (!/[/+]json\b/.test(type)) {
    response.leave()
    throw brokenAnswer(target, `answered with ${type ? 'a content type that was not requested' : 'content of no type'}`)
  }
  const bytes = await response.whole()
  let value: unknown
  try {
    value =
      bytes.length <= limits.jsonInlineBytes // most are, and nothing is to be waited for
        ? readInlineAnswer(bytes.toString())
        : await readAnswer(bytes, { parts: limits.answerParts, numbers: limits.answerNumbers })
  } catch (error) {
    throw unreadable(target, error)
  }
  const body = objectOf(value)
  if (!body) throw brokenAnswer(target, 'sent something that is not an answer')
  const error = errorIn(body)
  if (error) throw refusedInAnswer(target, error)
  return body
}

/** JSON of one event that an upstream sent. @throws BerthError upstream_error. */
export function parseJson(target: UpstreamTarget, text: string): unknown {
  try {
    return readInlineAnswer(text)
  } catch (error) {
    throw unreadable(target, error)
  }
}

function unreadable(target: UpstreamTarget, error: unknown): unknown {
  if (!(error instanceof JsonAnswerError)) return error
  return brokenAnswer(
    target,
    {
      not_json: 'sent something that is not JSON',
      too_many_parts: 'sent more values than an answer may have',
      too_deep: 'sent values that are nested too deep',
    }[error.reason],
  )
}

const isOver: IteratorResult<readonly ModelEvent[]> = { value: undefined, done: true }

/** A stream's events. Can be iterated once; one `next` at a time. */
class StreamedAnswer implements AsyncIterableIterator<readonly ModelEvent[], undefined> {
  readonly #target: UpstreamTarget
  readonly #response: UpstreamResponse
  readonly #reader: AnswerReader
  readonly #events: AnswerEvents
  readonly #stream: EventStream
  #isOver = false
  /** Thrown by `next` after everything before it was returned. */
  #failure: unknown = null

  constructor(target: UpstreamTarget, response: UpstreamResponse, reader: AnswerReader, events: AnswerEvents) {
    this.#target = target
    this.#response = response
    this.#reader = reader
    this.#events = events
    this.#stream = new EventStream(this)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** The stream's sink. */
  event(data: string): void {
    if (!this.#events.hasEnded) this.#reader.event(data)
  }

  async next(): Promise<IteratorResult<readonly ModelEvent[], undefined>> {
    if (this.#failure !== null) throw this.#over(this.#failure)
    while (!this.#isOver) {
      try {
        await this.#read()
      } catch (error) {
        this.#failure =
          error instanceof EventStreamError
            ? brokenAnswer(this.#target, `sent something that cannot be read: ${error.message}`)
            : error
        this.#response.leave()
      }
      const batch = this.#events.take()
      if (this.#events.hasEnded) {
        this.#isOver = true
        this.#failure = null
      }
      if (batch.length > 0) return { value: batch, done: false }
      if (this.#failure !== null) throw this.#over(this.#failure)
    }
    return isOver
  }

  return(): Promise<IteratorResult<readonly ModelEvent[], undefined>> {
    if (!this.#isOver) this.#response.leave()
    this.#isOver = true
    this.#failure = null
    return Promise.resolve(isOver)
  }

  #over(failure: unknown): unknown {
    this.#isOver = true
    this.#failure = null
    return failure
  }

  /** Everything that has arrived; waits if there is nothing. */
  async #read(): Promise<void> {
    if (!(await this.#response.more())) {
      this.#stream.end()
      if (!this.#events.hasEnded) this.#reader.close()
      if (!this.#events.hasEnded) throw brokenAnswer(this.#target, 'cut off its answer')
      return
    }
    for (let chunk = this.#response.shift(); chunk; chunk = this.#response.shift()) this.#stream.push(chunk)
    if (this.#events.hasEnded) this.#response.finish()
  }
}
