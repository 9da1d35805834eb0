/**
 * Reads what a tool server answers before the protocol's library does: in steps, within limits, and as far as it can be
 * understood. The library sees a placeholder for each result, because it would read a large one several times.
 */
import { ReadableStream as EventBytes } from 'node:stream/web'
import { JsonAnswerError, readAnswer } from '#src/platform/json/answers.ts'
import { limits } from '#src/platform/limits.ts'
import { readBeginning, type OutboundFetch } from '../outbound-fetch.ts'
import { OutboundError } from '../outbound.ts'
import { eventsOf, GatheredBytes, type ServerEvent } from './event-bytes.ts'
import { McpAnswerError, McpSessionGone } from './faults.ts'
import { messagesIn, type McpMessage } from './messages.ts'

/** By this header a request says to the reader which of those that are waited for it is; it is not sent. */
export const requestHeader = 'berth-request'

const errorBytesMax = 64 * 1024
/** Questions of a server (it may ask whether we are there) that are answered in one connection. */
const askedMax = 100
/** A longer id of an event could not be sent back. */
const eventIdForm = /^[\x21-\x7e]{1,1024}$/
const mediaTypeForm = /^[\w.+-]{1,80}\/[\w.+-]{1,80}$/

/** What became of a request: the result, or why there is none. */
type Outcome = { result: unknown } | { error: Error }

type Waited = { method: string; outcome: Outcome | null }

/** Reads the answers in one connection. Nothing more is read of one that broke a limit: `broken` then has the reason. */
export class McpAnswers {
  readonly broken = new AbortController()
  readonly #fetch: OutboundFetch
  readonly #bytesMax: number
  readonly #waited = new Map<number, Waited>()
  #bytes = 0
  #asked = 0

  constructor(fetch: OutboundFetch, bytesMax: number) {
    this.#fetch = fetch
    this.#bytesMax = bytesMax
  }

  /** Notes that this request is about to be sent. */
  expect(id: number, method: string): void {
    this.#waited.set(id, { method, outcome: null })
  }

  /** The result of a request that was answered. @throws McpAnswerError, McpServerError */
  take(id: number): unknown {
    const outcome = this.#waited.get(id)?.outcome
    this.#waited.delete(id)
    if (!outcome) throw new McpAnswerError('The server did not answer.')
    if ('error' in outcome) throw outcome.error
    return outcome.result
  }

  /** Whether a request is still without an answer; then it ends with this reason. */
  end(id: number): boolean {
    const waited = this.#waited.get(id)
    if (!waited || waited.outcome) return false
    waited.outcome = {
      error: new McpAnswerError(`The server’s answer to ${waited.method} ended before it was complete.`),
    }
    return true
  }

  readonly fetch: OutboundFetch = async (url, init) => {
    const headers = new Headers(init?.headers)
    const given = headers.get(requestHeader)
    const id = given === null ? null : Number(given)
    headers.delete(requestHeader)
    // Servers say what concerns a call in the answer to it; a stream for everything else would only keep them busy.
    if (init?.method === 'GET' && !headers.has('last-event-id')) return new Response(null, { status: 405 })
    try {
      return await this.#ask(url, { ...init, headers }, id)
    } catch (error) {
      if (id !== null && !this.#waited.get(id)?.outcome) this.#waited.delete(id)
      throw error
    }
  }

  async #ask(url: string | URL, init: RequestInit & { headers: Headers }, id: number | null): Promise<Response> {
    const response = await this.#fetch(url, init)
    const type = response.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
    if (!response.ok) return this.#refusalOf(response, { id, type, hasSession: init.headers.has('mcp-session-id') })
    if (response.body && type === 'text/event-stream')
      return withBody(response, EventBytes.from(this.#readEvents(response.body, id)) as ReadableStream<BodyPiece>)
    if (id === null) return withBody(response, (await readBeginning(response, errorBytesMax)).text || null)
    return this.#readWhole(response, id, type)
  }

  /** An answer as one JSON text. */
  async #readWhole(response: Response, id: number, type: string): Promise<Response> {
    const method = this.#methodOf(id)
    if (type !== 'application/json') {
      const { text } = await readBeginning(response, 1)
      throw new McpAnswerError(
        text === ''
          ? `The server did not answer ${method}: its response with status ${response.status} is empty.`
          : `The server’s answer to ${method} is ${mediaTypeForm.test(type) ? type : 'of no known type'}, which is neither JSON nor an event stream.`,
      )
    }
    const gathered = new GatheredBytes()
    for await (const chunk of response.body ?? []) {
      this.#count(chunk)
      gathered.add(chunk)
    }
    const messages = await this.#read(gathered.take(), id)
    if (!this.#waited.get(id)?.outcome)
      throw new McpAnswerError(`The server’s answer to ${method} has no message with the id of the request.`)
    return withBody(response, JSON.stringify(messages))
  }

  /** The same events with placeholders. */
  async *#readEvents(body: ReadableStream<Uint8Array>, id: number | null): AsyncGenerator<BodyPiece> {
    try {
      for await (const event of eventsOf(this.#counted(body))) {
        const isMessage = event.name === null || event.name === '' || event.name === 'message'
        const messages = isMessage && event.data?.length ? await this.#read(event.data, id) : []
        const text = writeEvent(event, messages)
        if (text !== '') yield Buffer.from(text)
      }
    } catch (error) {
      if (error instanceof McpAnswerError || error instanceof OutboundError) this.broken.abort(error)
      throw error
    }
  }

  async *#counted(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      this.#count(chunk)
      yield chunk
    }
  }

  #count({ byteLength }: Uint8Array): void {
    this.#bytes += byteLength
    if (this.#bytes <= this.#bytesMax) return
    const error = new OutboundError('refused', `The host answered with more than ${this.#bytesMax / 1024 / 1024} MiB.`)
    this.broken.abort(error)
    throw error
  }

  /** Keeps the results among these messages. @returns what the library is to see of them. */
  async #read(bytes: Buffer, id: number | null): Promise<object[]> {
    let value: unknown
    try {
      value = await readAnswer(bytes, { parts: limits.mcpAnswerParts, numbers: limits.mcpAnswerNumbers })
    } catch (error) {
      if (!(error instanceof JsonAnswerError)) throw error
      throw unreadable(id === null ? '' : ` to ${this.#methodOf(id)}`, error)
    }
    return messagesIn(value).flatMap((message) => this.#keep(message, id) ?? [])
  }

  #keep(message: McpMessage, of: number | null): object | null {
    if (message.kind === 'other') return null
    if (message.kind === 'asked')
      return ++this.#asked > askedMax ? null : { jsonrpc: '2.0', id: message.id, method: message.method }
    const id = message.id ?? of ?? this.#onlyOne()
    const waited = id === null ? undefined : this.#waited.get(id)
    if (id === null || !waited || waited.outcome) return null
    if (message.kind === 'error') waited.outcome = { error: message.error }
    else if (message.result === undefined)
      waited.outcome = { error: new McpAnswerError(`The server’s answer to ${waited.method} has no result.`) }
    else waited.outcome = { result: message.result }
    return placeholder(id)
  }

  /** The only request without an answer, where there is one. */
  #onlyOne(): number | null {
    const open = [...this.#waited].filter(([, { outcome }]) => outcome === null)
    return open.length === 1 ? (open[0]?.[0] ?? null) : null
  }

  /** A response that is not 2xx: an error of the protocol where it has one for this request, else its status. */
  async #refusalOf(
    response: Response,
    { id, type, hasSession }: { id: number | null; type: string; hasSession: boolean },
  ): Promise<Response> {
    const { status } = response
    const { text } = await readBeginning(response, errorBytesMax)
    if (id === null || status === 401 || status === 403 || (status >= 300 && status < 400))
      return withBody(response, status >= 300 && status < 400 ? null : text)
    if (hasSession && (status === 404 || (status === 400 && /session/i.test(text)))) throw new McpSessionGone()
    if (type === 'application/json') {
      const found = await this.#read(Buffer.from(text), null).catch(() => [])
      if (found.length > 0 && this.#waited.get(id)?.outcome)
        return new Response(JSON.stringify(found), { headers: { 'content-type': 'application/json' } })
    }
    throw new McpAnswerError(`The server answered ${this.#methodOf(id)} with status ${status}.`)
  }

  #methodOf(id: number): string {
    return this.#waited.get(id)?.method ?? 'a request'
  }
}

type BodyPiece = Uint8Array<ArrayBuffer>

/** What the library sees instead of an answer. */
export function placeholder(id: number): { jsonrpc: '2.0'; id: number; result: { kept: number } } {
  return { jsonrpc: '2.0', id, result: { kept: id } }
}

function writeEvent({ id, retryMs, data }: ServerEvent, messages: readonly object[]): string {
  const fields = [
    ...(id !== null && eventIdForm.test(id) ? [`id: ${id}`] : []),
    ...(retryMs !== null && /^\d{1,9}$/.test(retryMs) ? [`retry: ${retryMs}`] : []),
  ]
  const lines = messages.map((message) => `data: ${JSON.stringify(message)}\n\n`)
  if (lines.length === 0) return fields.length === 0 ? '' : `${[...fields, ...(data ? ['data: '] : [])].join('\n')}\n\n`
  return `${fields.map((field) => `${field}\n`).join('')}${lines.join('')}`
}

function unreadable(what: string, { reason }: JsonAnswerError): McpAnswerError {
  return new McpAnswerError(
    reason === 'too_many_parts'
      ? `The server’s answer${what} has more than ${limits.mcpAnswerParts} values in one message, which is the limit.`
      : reason === 'too_deep'
        ? `The server’s answer${what} is nested deeper than ${limits.answerDepth} levels, which is the limit.`
        : `The server’s answer${what} is not valid JSON.`,
  )
}

function withBody({ status, statusText, headers }: Response, body: BodyInit | null): Response {
  return new Response(body, { status, statusText, headers })
}
