/** Passes messages of the Model Context Protocol between a program that started us and Berth's tool server. */
import type { TokenSource } from '../../src/client/berth.ts'
import { sentenceOf } from '../errors.ts'
import { eventsIn, linesIn, messageBytesMax } from './lines.ts'

/** The limits of the bridge. */
const limits = {
  openMax: 32, // requests at once; more wait in stdin
  requestSeconds: 900,
  lingerSeconds: 30, // for what is under way when stdin ends
} as const
/** What JSON-RPC calls a message that is no JSON, one that is no request, and what went wrong on the way. */
const codes = { parse: -32_700, invalid: -32_600, connection: -32_000 } as const
/** Where a request of newer versions of the protocol says its version. */
const versionKey = 'io.modelcontextprotocol/protocolVersion'
/** Which parameter a header repeats, by the method. */
const namedBy: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
}

/** Where messages go, and as whom. `write` prints a line; `note` is for people. */
export type Bridge = {
  url: URL
  token: TokenSource | undefined
  organization: string | undefined
  write(line: string): Promise<void>
  note(text: string): void
}

type Message = { id?: string | number | null; method?: string; params?: Record<string, unknown> }

/** Passes messages until the input ends, and what was asked is answered. */
export async function passMessages(bridge: Bridge, input: AsyncIterable<Buffer | string>): Promise<void> {
  const passing = new Passing(bridge)
  for await (const line of linesIn(input)) {
    if (line === null) await passing.refuse(null, codes.invalid, `A message has at most ${messageBytesMax} bytes.`)
    else if (line.trim() !== '') await passing.take(line)
  }
  await passing.finish()
}

class Passing {
  readonly #bridge: Bridge
  readonly #open = new Map<Promise<void>, { id: unknown; controller: AbortController }>()
  #version: string | undefined
  #session: string | undefined

  constructor(bridge: Bridge) {
    this.#bridge = bridge
  }

  /** Begins to pass a message; the first of a connection to its end, as its answer says what others need. */
  async take(line: string): Promise<void> {
    const message = messageIn(line)
    if (!message) return this.refuse(null, codes.parse, 'A line must be one message of JSON-RPC.')
    if (message.method === 'notifications/cancelled') this.#cancel(message.params?.['requestId'])
    if (this.#open.size >= limits.openMax) await Promise.race(this.#open.keys())
    const controller = new AbortController()
    const passed: Promise<void> = this.#pass(line, message, controller.signal).finally(() => this.#open.delete(passed))
    this.#open.set(passed, { id: message.id, controller })
    if (message.method === 'initialize') await passed
  }

  /** Answers a request with an error. */
  async refuse(id: string | number | null, code: number, message: string): Promise<void> {
    await this.#bridge.write(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }))
  }

  /** Waits a while for what is under way, and gives up the rest. */
  async finish(): Promise<void> {
    const timer = setTimeout(() => {
      for (const { controller } of this.#open.values()) controller.abort()
    }, limits.lingerSeconds * 1000)
    await Promise.all(this.#open.keys())
    clearTimeout(timer)
  }

  #cancel(id: unknown): void {
    if (id === undefined) return
    for (const one of this.#open.values()) if (one.id === id) one.controller.abort()
  }

  async #pass(line: string, message: Message, cancelled: AbortSignal): Promise<void> {
    const { id, method } = message
    const isRequest = method !== undefined && id !== undefined
    try {
      const signal = AbortSignal.any([cancelled, AbortSignal.timeout(limits.requestSeconds * 1000)])
      let answer = await this.#send(line, message, signal, false)
      if (answer.status === 401 && typeof this.#bridge.token === 'function') {
        await answer.body?.cancel()
        answer = await this.#send(line, message, signal, true)
      }
      this.#session = answer.headers.get('mcp-session-id') ?? this.#session
      await this.#answer(answer, message)
    } catch (error) {
      if (cancelled.aborted) return // nobody waits for it
      const sentence =
        error instanceof TypeError ? `There is no connection to ${this.#bridge.url.origin}.` : sentenceOf(error)
      if (isRequest) await this.refuse(id, codes.connection, sentence)
      else this.#bridge.note(sentence)
    }
  }

  async #send(body: string, message: Message, signal: AbortSignal, wasRefused: boolean): Promise<Response> {
    const { url, token, organization } = this.#bridge
    const bearer = typeof token === 'function' ? await token(wasRefused) : token
    return fetch(url, {
      method: 'POST',
      redirect: 'manual',
      signal,
      body,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(bearer ? { authorization: `Bearer ${bearer}` } : {}),
        ...(organization ? { 'berth-organization': organization } : {}),
        ...(this.#session ? { 'mcp-session-id': this.#session } : {}),
        ...(this.#version ? { 'mcp-protocol-version': this.#version } : {}),
        ...headersOf(message),
      },
    })
  }

  async #answer(answer: Response, { id, method }: Message): Promise<void> {
    const type = answer.headers.get('content-type') ?? ''
    if (answer.ok && answer.body && type.startsWith('text/event-stream')) {
      // Node's bodies are read as bytes.
      for await (const data of eventsIn(answer.body as unknown as AsyncIterable<Buffer>))
        await this.#write(data, method)
      return
    }
    const text = await answer.text()
    if (answer.ok) return text.trim() === '' ? undefined : this.#write(text, method)
    const sentence = sentenceIn(text, answer.status)
    if (id === undefined || id === null || method === undefined) return this.#bridge.note(sentence.message)
    await this.refuse(id, sentence.code, sentence.message)
  }

  async #write(text: string, method: string | undefined): Promise<void> {
    if (method === 'initialize') this.#version = versionIn(text) ?? this.#version
    await this.#bridge.write(text.replaceAll(/[\r\n]/g, ' ')) // within JSON they are spaces only
  }
}

function messageIn(line: string): Message | undefined {
  try {
    const value = JSON.parse(line) as unknown
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** What newer versions of the protocol repeat of a request in its headers. */
function headersOf({ method, params }: Message): Record<string, string> {
  const meta = params?.['_meta']
  const version = typeof meta === 'object' && meta !== null ? (meta as Record<string, unknown>)[versionKey] : undefined
  if (method === undefined || typeof version !== 'string') return {}
  const name = params?.[namedBy[method] ?? '']
  return {
    'mcp-protocol-version': version,
    'mcp-method': method,
    ...(typeof name === 'string' ? { 'mcp-name': headerOf(name) } : {}),
  }
}

function headerOf(text: string): string {
  return /^[!-~]+$/.test(text) && !text.startsWith('=?') ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`
}

function versionIn(text: string): string | undefined {
  const version = (messageIn(text) as { result?: { protocolVersion?: unknown } } | undefined)?.result?.protocolVersion
  return typeof version === 'string' ? version : undefined
}

/** What an answer that is an error says: as JSON-RPC, or as paths of REST do. */
function sentenceIn(text: string, status: number): { code: number; message: string } {
  const { error, message } = (messageIn(text) ?? {}) as { error?: unknown; message?: unknown } // read field by field
  const inner = typeof error === 'object' && error !== null ? (error as { code?: unknown; message?: unknown }) : {}
  const sentence = inner.message ?? message
  return {
    code: typeof inner.code === 'number' ? inner.code : codes.connection,
    message: `${typeof sentence === 'string' ? sentence : `Berth answered with the HTTP status ${status}.`}${status === 401 ? ' Sign in: berth login <address>' : ''}`,
  }
}
