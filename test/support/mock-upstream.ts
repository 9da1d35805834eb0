/**
 * A model provider for tests: a real HTTP server that speaks the three wire formats, plays scripted answers with every
 * fault an upstream may have, and counts what it was sent and what it has sent, as estimates.ts does.
 *
 * Paths: `/v1/chat/completions`, `/v1/messages`, `/v1/responses`, `/v1/embeddings` (so `baseUrl` is `${mock.url}/v1`, and the same for all).
 * What it answers: the next of `script(…)`; else what the model's name asks for (see `namedAnswer`); else
 * `Mock answer to: <the last user text>` in words, with exact usage.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll } from 'vitest'
import { tokensOf } from '#src/drivers/models/estimates.ts'
import { formatOf, type WireFormat, type WireWriter } from './mock-upstream/formats.ts'
import { sentTokens, lastUserText } from './mock-upstream/requests.ts'

/** One thing that an answer does, in order. A list of strings comes in as many chunks. */
export type MockPart =
  | { text: string | readonly string[] }
  | { reasoning: string | readonly string[]; id?: string; signature?: string; encrypted?: string }
  | { redacted: string }
  | { tool: string; id?: string; arguments: string | readonly string[] }
  /** Everything before has been sent; goes on when the promise is settled, or when the caller has gone. */
  | { wait: Promise<unknown> }
  | { pauseMs: number }
  /** Sends nothing more until the caller disconnects. */
  | { hang: true }
  /** Closes the connection in the middle. */
  | { cut: true }
  /** Ends the answer properly, but without finish reason, usage and last frame. */
  | { stop: true }
  /** An error in the stream, as this format writes it. */
  | { error: { type: string; message: string; code?: string | number } }
  /** Bytes as they are. */
  | { raw: string | Buffer }
  /** That many bytes of one letter, without a line break. */
  | { flood: number }

/** An answer. With `parts` they are played; with only a `status` it is `body` as it stands. */
export type MockAnswer = {
  status?: number
  headers?: Readonly<Record<string, string>>
  body?: string
  parts?: readonly MockPart[]
  /** The headers are sent after this; `never` hangs before them. */
  before?: Promise<unknown> | 'never'
  finish?: string | null
  /** Which stop sequence ended it, in Anthropic's format. */
  stopSequence?: string
  /** `exact` (default) reports what was counted; `none` reports nothing. */
  usage?: 'exact' | 'none'
  cacheReadTokens?: number
  cacheWriteTokens?: number
}

/** A request that it received, and its state. Counts grow while it is answered. */
export type MockRequest = {
  format: WireFormat
  path: string
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: Readonly<Record<string, unknown>>
  bodyText: string
  model: string
  /** Tokens of the texts that were sent to us, by estimates.ts; and of what we have sent. Output includes reasoning. */
  inputTokens: number
  outputTokens: number
  reasoningTokens: number
  characters: number
  reasoningCharacters: number
  /** How it ended: `null` while it is open. */
  outcome: 'answered' | 'aborted' | 'cut' | null
  /** When the caller disconnected before the end, as `performance.now()`. */
  abortedAtMs: number | null
  /** Resolves when it has ended, in any way. */
  ended: Promise<void>
}

export type MockUpstream = {
  /** `http://127.0.0.1:<port>`. */
  url: string
  port: number
  /** Every request since the start, or since `forget()`. */
  requests: MockRequest[]
  /** Connections that were opened to it. */
  readonly connections: number
  /** Puts answers into the queue; each is played once, in order. */
  script(...answers: MockAnswer[]): void
  /** The request number `index` (from 0), as soon as it is there. */
  request(index: number): Promise<MockRequest>
  /** Clears the counts and the script. */
  forget(): void
  close(): Promise<void>
}

/** The mock upstream of a test file, closed after its tests. */
export async function mockOfFile(): Promise<MockUpstream> {
  const mock = await startMockUpstream()
  afterAll(() => mock.close())
  return mock
}

/** Starts one on a free port (or the wanted one) of 127.0.0.1. */
export async function startMockUpstream(wantedPort = 0): Promise<MockUpstream> {
  const requests: MockRequest[] = []
  const script: MockAnswer[] = []
  const waiting: (() => void)[] = []
  const server = createServer((incoming, response) => {
    const pieces: Buffer[] = []
    incoming
      .on('data', (piece: Buffer) => pieces.push(piece))
      .on('end', () => {
        const request = readRequest(incoming, Buffer.concat(pieces).toString())
        requests.push(request)
        for (const wake of waiting.splice(0)) wake()
        void answer(request, script.shift() ?? namedAnswer(request), response)
      })
  })
  let connections = 0
  server.on('connection', () => connections++)
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(wantedPort, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // it listens on TCP
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    get connections() {
      return connections
    },
    script: (...answers) => void script.push(...answers),
    async request(index) {
      while (requests.length <= index) await new Promise<void>((resolve) => waiting.push(resolve))
      return requests[index]! // the loop has seen it
    },
    forget() {
      requests.length = 0
      script.length = 0
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function readRequest(incoming: IncomingMessage, bodyText: string): MockRequest {
  const path = incoming.url ?? ''
  const body = JSON.parse(bodyText || '{}') as Record<string, unknown>
  const format = formatOf(path)
  return {
    format: format.name,
    path,
    headers: incoming.headers,
    body,
    bodyText,
    model: String(body['model']),
    inputTokens: sentTokens(format.name, body),
    outputTokens: 0,
    reasoningTokens: 0,
    characters: 0,
    reasoningCharacters: 0,
    outcome: null,
    abortedAtMs: null,
    ended: Promise.resolve(),
  }
}

const lateMs = 250
/**
 * What a model's name asks for, for callers that cannot script: `mock-words-40` says 40 words in 40 chunks,
 * `mock-slow-40` the same with 5 ms between them, `mock-reason`, `mock-tool` (calls the first tool with `{}`),
 * `mock-401`, `mock-429`, `mock-500` … (that status), `mock-hang`, `mock-hang-later`, `mock-cut`, `mock-garbage`,
 * `mock-html`, `mock-no-usage`, `mock-error` (an error in the stream), `mock-long-line`, `mock-large`, `mock-late`.
 */
function namedAnswer({ model, body }: MockRequest): MockAnswer {
  const [, name = '', number = ''] = /^mock-([a-z-]*?)-?(\d*)$/.exec(model) ?? []
  const words = (count: number): string[] => Array.from({ length: count }, (_, at) => `word${at} `)
  const plain: MockPart = { text: `Mock answer to: ${lastUserText(body)}`.split(/(?<= )/) }
  const faults: Readonly<Record<string, () => MockAnswer>> = {
    words: () => ({ parts: [{ text: words(Number(number)) }] }),
    slow: () => ({ parts: words(Number(number)).flatMap((word) => [{ text: word }, { pauseMs: 5 }]) }),
    reason: () => ({
      parts: [
        { reasoning: ['Let me ', 'think.'], id: 'rs_1', signature: 'c2lnbmF0dXJl', encrypted: 'ZW5jcnlwdGVk' },
        plain,
      ],
    }),
    tool: () => ({ parts: [{ tool: firstTool(body), arguments: ['{', '}'] }] }),
    hang: () => ({ before: 'never' }),
    'hang-later': () => ({ parts: [plain, { hang: true }] }),
    cut: () => ({ parts: [plain, { cut: true }] }),
    garbage: () => ({ parts: [{ raw: 'data: {"choices":[{"del\u0000\n\ndata: not json\n\n' }] }),
    html: () => ({ status: 200, headers: { 'content-type': 'text/html' }, body: '<html>It works!</html>' }),
    'no-usage': () => ({ parts: [plain], usage: 'none' }),
    error: () => ({ parts: [plain, { error: { type: 'overloaded_error', message: 'Overloaded' } }] }),
    'long-line': () => ({ parts: [{ raw: 'data: ' }, { flood: 100 * 1024 * 1024 }] }),
    large: () => ({
      headers: { 'content-type': 'application/json' },
      parts: [{ raw: '{"a":"' }, { flood: 100 * 1024 * 1024 }],
    }),
    late: () => ({ before: pause(lateMs), parts: [plain] }),
  }
  if (name === '' && number !== '') return statusAnswer(Number(number))
  return faults[name]?.() ?? { parts: [plain] }
}

function statusAnswer(status: number): MockAnswer {
  return {
    status,
    headers: { 'content-type': 'application/json', ...(status === 429 ? { 'retry-after': '7' } : {}) },
    body: JSON.stringify({ error: { type: 'mock_error', message: `The mock answers ${status}.` } }),
  }
}

function firstTool({ tools }: Readonly<Record<string, unknown>>): string {
  const [tool] = (tools ?? []) as { name?: string; function?: { name: string } }[]
  return tool?.function?.name ?? tool?.name ?? 'tool'
}

async function answer(request: MockRequest, script: MockAnswer, response: ServerResponse): Promise<void> {
  const gone = new Promise<void>((resolve) => response.on('close', () => resolve()))
  request.ended = gone.then(() => {
    if (request.outcome !== null) return
    request.outcome = 'aborted'
    request.abortedAtMs = performance.now()
  })
  if (script.before) await Promise.race([script.before === 'never' ? gone : script.before, gone])
  if (response.destroyed) return
  if (script.status !== undefined && !script.parts) {
    request.outcome = 'answered'
    response.writeHead(script.status, { ...script.headers }).end(script.body ?? '')
    return
  }
  const stream = request.body['stream'] === true
  const writer = formatOf(request.path).writer(request, script)
  response.writeHead(script.status ?? 200, {
    'content-type': stream ? 'text/event-stream' : 'application/json',
    ...script.headers,
  })
  if (stream) {
    response.flushHeaders()
    if (script.status === undefined) response.write(writer.start())
  }
  for (const part of script.parts ?? []) {
    if (await play(part, request, writer, response, stream, gone)) return
  }
  request.outcome = 'answered'
  response.end(stream ? writer.end() : JSON.stringify(writer.whole()))
}

/** Plays one part; true when the answer is over. */
async function play(
  part: MockPart,
  request: MockRequest,
  writer: WireWriter,
  response: ServerResponse,
  stream: boolean,
  gone: Promise<void>,
): Promise<boolean> {
  if (response.destroyed) return true
  if ('hang' in part) await gone
  else if ('wait' in part) await Promise.race([part.wait, gone])
  else if ('pauseMs' in part) await Promise.race([pause(part.pauseMs), gone])
  else if ('raw' in part) response.write(part.raw)
  else if ('flood' in part) await flood(part.flood, response, gone)
  else if ('cut' in part) {
    request.outcome = 'cut'
    // What was written is flushed first, or the test would test something else.
    response.write('', () => response.socket?.end(() => response.destroy()))
    await gone
  } else if ('stop' in part) {
    request.outcome = 'answered'
    response.end()
    return true
  } else if ('error' in part) {
    if (stream) response.write(writer.error(part.error))
    else {
      request.outcome = 'answered'
      response.end(JSON.stringify({ type: 'error', error: part.error }))
    }
    return !stream
  } else {
    for (const { frame, characters, reasoning } of writer.frames(part)) {
      if (response.destroyed) return true
      request.characters += reasoning ? 0 : characters
      request.reasoningCharacters += reasoning ? characters : 0
      request.reasoningTokens = tokensOf(request.reasoningCharacters)
      request.outputTokens = tokensOf(request.characters) + request.reasoningTokens
      if (!stream) continue
      if (!response.write(frame)) await Promise.race([new Promise((resolve) => response.once('drain', resolve)), gone])
      else await new Promise((resolve) => setImmediate(resolve)) // each chunk by itself, as a model makes them
    }
  }
  return response.destroyed
}

async function flood(bytes: number, response: ServerResponse, gone: Promise<void>): Promise<void> {
  const piece = Buffer.alloc(64 * 1024, 'x')
  for (let sent = 0; sent < bytes && !response.destroyed; sent += piece.length) {
    if (!response.write(piece)) await Promise.race([new Promise((resolve) => response.once('drain', resolve)), gone])
  }
}
