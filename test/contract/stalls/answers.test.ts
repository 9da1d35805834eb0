/**
 * No answer of a service that Berth asks holds who reads it, in any shape of JSON and in chunks of one byte: tool servers,
 * where people sign in for them, models, the code host, an authority of certificates, issuers of keys, the DNS. A process of
 * its own reads them with the code by which web and workers do. The particular ones of models and tool servers are in test/contract/answers.test.ts.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { certificateLimits } from '#src/platform/limits/certificates.ts'
import { codeHostLimits } from '#src/platform/limits/code-host.ts'
import { connectorLimits } from '#src/platform/limits/connectors.ts'
import { limits } from '#src/platform/limits.ts'
import { startCommand } from '../../support/command.ts'
import { largeDnsNames, startLargeDns } from '../../support/dns/large-answers.ts'
import { jsonShapes } from '../../support/stalls/shapes.ts'
import { stallMsMax } from '../../support/stalls/watched-process.ts'

const megabyte = 1024 * 1024
const spareBytes = 1024
/** Of what is answered in chunks of one byte: more than is read between two turns of the event loop. */
const dribbledBytes = 1024 * 1024

/** Who answers, with the most that is read of it. `url` is what was asked; `value` is JSON of the size that is left. */
type Answerer = { bytes: number; body: (value: string, url: string) => string; type?: string }
const event = (data: string): string => `data: ${data}\n\n`
const result = (value: string): string => `{"jsonrpc":"2.0","id":ID,"result":${value}}`
const answerers: Readonly<Record<string, Answerer>> = {
  tools: { bytes: limits.mcpListingBytes, body: (value) => result(`{"tools":${value}}`) },
  tool: { bytes: limits.mcpAnswerBytes, body: (value) => result(`{"content":${value}}`) },
  'sign-in-place': {
    bytes: connectorLimits.signInBytes,
    body: (value, url) =>
      `{"resource":${JSON.stringify(url)},"authorization_servers":[${JSON.stringify(url)}],"scopes_supported":${value}}`,
  },
  'sign-in-client': { bytes: 64 * 1024, body: (value) => `{"client_id":"a","redirect_uris":${value}}` },
  'sign-in-token': {
    bytes: connectorLimits.signInBytes,
    body: (value) => `{"access_token":"a","token_type":"bearer","scope":${value}}`,
  },
  'refreshed-token': { bytes: 128 * 1024, body: (value) => `{"access_token":"a","scope":${value}}` },
  'code-host': { bytes: codeHostLimits.answerBytes, body: (value) => value },
  authority: { bytes: certificateLimits.answerBytes, body: (value) => `{"newOrder":"a","meta":${value}}` },
  keys: { bytes: 256 * 1024, body: (value) => `{"keys":${value}}` },
  'keys.in-a-key': { bytes: 256 * 1024, body: (value) => `{"keys":[{"kty":"RSA","kid":"a","key_ops":${value}}]}` },
  embeddings: { bytes: 4 * megabyte, body: (value) => `{"data":[{"index":0,"embedding":${value}}]}` },
  'openai-compatible': { bytes: 16 * megabyte, body: (value) => `{"choices":[{"message":{"content":${value}}}]}` },
  openai: { bytes: 4 * megabyte, body: (value) => `{"status":"completed","output":${value}}` },
  anthropic: { bytes: 4 * megabyte, body: (value) => `{"stop_reason":"end_turn","content":${value}}` },
  'openai-compatible.stream': { bytes: megabyte, body: event, type: 'text/event-stream' },
  'openai.stream': {
    bytes: megabyte,
    body: (value) => event(`{"type":"response.completed","response":{"output":${value}}}`),
    type: 'text/event-stream',
  },
  'anthropic.stream': {
    bytes: megabyte,
    body: (value) => event(`{"type":"message_start","message":{"usage":${value}}}`),
    type: 'text/event-stream',
  },
}
const shapes = Object.entries(jsonShapes)

const chat = '{"choices":[{"index":0,"delta":{"content":"a"}}]}'
const anthropicText = (text: string): string =>
  event(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":${text}}}`)
const anthropicStream = (deltas: string): string =>
  event('{"type":"message_start","message":{"usage":{"input_tokens":1,"output_tokens":1}}}') +
  event('{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}') +
  deltas +
  event('{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}') +
  event('{"type":"message_stop"}')
const vectorOf = (embedding: unknown): string =>
  `{"data":[${Array.from({ length: 341 }, (_, index) => JSON.stringify({ index, embedding })).join()}]}`
/** What is a good answer, as large as it may be, or comes in chunks of one byte; and what becomes of it. */
const particular: Readonly<Record<string, Answerer & { says: RegExp }>> = {
  'embeddings.full-of-numbers': {
    bytes: 0,
    body: () => vectorOf(Array.from({ length: 1536 }, (_, at) => Math.sin(at))),
    says: /^341$/,
  },
  'embeddings.full-of-bytes': {
    bytes: 0,
    body: () => vectorOf(Buffer.alloc(1536 * 4).toString('base64')),
    says: /^341$/,
  },
  'tools.dribble': {
    bytes: dribbledBytes,
    body: (value) => result(`{"tools":[{"name":"a","inputSchema":{"type":"object"},"description":${value}}]}`),
    says: /^1 tools/,
  },
  'tool.dribble': {
    bytes: dribbledBytes,
    body: (value) => result(`{"content":[{"type":"text","text":${value}}]}`),
    says: /^aaaa/,
  },
  'tool.dribble-events': {
    bytes: dribbledBytes,
    body: (value) => event(result(`{"content":[{"type":"text","text":${value}}]}`)),
    type: 'text/event-stream',
    says: /^aaaa/,
  },
  'authority.dribble': {
    bytes: certificateLimits.answerBytes,
    body: (value) => `{"newOrder":${value}}`,
    says: /^null/,
  },
  'code-host.dribble': { bytes: dribbledBytes, body: (value) => value, says: /"status":200,"body":"aaaa/ },
  'openai-compatible.dribble': {
    bytes: dribbledBytes,
    body: (value) => `{"choices":[{"index":0,"finish_reason":"stop","message":{"content":${value}}}]}`,
    says: /^2 events/,
  },
  'openai.dribble': {
    bytes: dribbledBytes,
    body: (value) =>
      `{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":${value}}]}]}`,
    says: /^2 events/,
  },
  'anthropic.dribble': {
    bytes: dribbledBytes,
    body: (value) => `{"stop_reason":"end_turn","content":[{"type":"text","text":${value}}]}`,
    says: /^2 events/,
  },
  'openai.stream-dribble': {
    bytes: 0,
    body: () =>
      `${event('{"type":"response.output_text.delta","output_index":0,"delta":"a"}').repeat(4000)}${event('{"type":"response.completed","response":{"status":"completed"}}')}`,
    type: 'text/event-stream',
    says: /^4\d{3} events/,
  },
  'openai.stream-dribbled-line': {
    bytes: 900 * 1024,
    body: (value) =>
      `${event(`{"type":"response.output_text.delta","output_index":0,"delta":${value}}`)}${event('{"type":"response.completed","response":{"status":"completed"}}')}`,
    type: 'text/event-stream',
    says: /^\d events/,
  },
  'anthropic.stream-dribble': {
    bytes: 0,
    body: () => anthropicStream(anthropicText('"a"').repeat(4000)),
    type: 'text/event-stream',
    says: /^4\d{3} events/,
  },
  'anthropic.stream-dribbled-line': {
    bytes: 900 * 1024,
    body: (value) => anthropicStream(anthropicText(value)),
    type: 'text/event-stream',
    says: /^\d events/,
  },
  'openai-compatible.stream-dribble': {
    bytes: 0,
    body: () =>
      `${event(chat).repeat(4000)}${event('{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}')}${event('[DONE]')}`,
    type: 'text/event-stream',
    says: /^\d{4} events/,
  },
  'openai-compatible.stream-dribbled-line': {
    bytes: 900 * 1024,
    body: (value) =>
      `${event(`{"choices":[{"index":0,"delta":{"content":${value}},"finish_reason":"stop"}]}`)}${event('[DONE]')}`,
    type: 'text/event-stream',
    says: /^\d events/,
  },
}

/** What is answered to all who ask as this one. It is kept while that is the same: tool servers are asked several times. */
let made: { name: string; body: string; type: string } | null = null
function bodyOf(name: string): { body: string; type: string } {
  if (made?.name === name) return made
  const one = particular[name]
  const at = name.lastIndexOf('.')
  const { bytes, body, type = 'application/json' } = one ?? answerers[name.slice(0, at)]! // names are made of both
  const shape = one ? (size: number) => `"${'a'.repeat(size)}"` : shapes[Number(name.slice(at + 1))]![1] // likewise
  made = { name, type, body: body(shape(bytes - Math.min(bytes, spareBytes)), `${origin}/${name}`) }
  return made
}

/** Of an answer that is held: all but its last byte is sent; and that may be. */
let sent = Promise.withResolvers<void>()
let go = Promise.withResolvers<void>()

async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const asked = Buffer.concat((await req.toArray()) as Buffer[]).toString()
  if (req.url === '/sent') return void sent.promise.then(() => res.end())
  if (req.url === '/go') {
    go.resolve()
    ;[sent, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    return void res.end()
  }
  const isHeld = req.url?.includes('/held/') ?? false
  const name = /\/((?:[a-z-]+\.)+[a-z\d-]+)/.exec(req.url ?? '')?.[1]
  if (name === undefined) return void res.writeHead(404).end()
  let { body, type } = bodyOf(name)
  if (req.url?.startsWith('/small/')) body = body.replace(/a{1000,}/, 'aaaa')
  if (name.startsWith('sign-in-place') && !req.url?.includes('oauth-protected-resource')) {
    if (req.method === 'POST') return void res.writeHead(401).end()
    body = body.replace(
      /^\{.*?"scopes/s,
      () =>
        `{"issuer":"${origin}/${name}","authorization_endpoint":"${origin}/a","token_endpoint":"${origin}/t","response_types_supported":["code"],"scopes`,
    )
  }
  if (/^tools?\./.test(name)) {
    const { id, method } = JSON.parse(asked || '{}') as { id?: number; method?: string }
    if (req.method !== 'POST') return void res.writeHead(405).end()
    if (id === undefined) return void res.writeHead(202).end()
    if (method === 'initialize') {
      type = 'application/json'
      body = result(
        '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}',
      )
    }
    body = body.replace('"id":ID', () => `"id":${id}`)
  }
  if (!name.includes('dribble')) return void res.writeHead(200, { 'content-type': type }).end(body)
  const head = `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n`
  const chunks = (text: string): string => text.replaceAll(/[^]/g, '1\r\n$&\r\n')
  const end = (rest: string): void => void res.socket?.end(`${chunks(rest)}0\r\n\r\n`)
  res.socket?.write(head)
  if (!isHeld || body.length < dribbledBytes / 2) return end(body)
  res.socket?.write(chunks(body.slice(0, -1)), () => sent.resolve())
  await go.promise
  end(body.slice(-1))
}

let server: Server
let origin: string
beforeAll(async () => {
  server = createServer((req, res) => void answer(req, res).catch(() => res.destroy())).listen(0, '127.0.0.1')
  await once(server, 'listening')
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

type Told = { name: string; stallMs: number; said: string }
async function read(names: readonly string[], dns = ''): Promise<Told[]> {
  const child = startCommand(['test/contract/answers-child.ts', origin, ...names], { BERTH_DNS_SERVERS: dns })
  expect(await child.ended, child.lines.join('\n')).toBe(0)
  const told = child.lines.flatMap((line) =>
    line.startsWith('told ') ? [JSON.parse(line.slice('told '.length)) as Told] : [],
  )
  expect(told.map(({ name }) => name)).toEqual(names)
  return told
}

test('no answer holds who reads it, in any shape', async () => {
  const names = Object.keys(answerers).flatMap((who) => shapes.map((_, at) => `${who}.${at}`))
  const held = (await read(names)).filter(({ stallMs }) => stallMs > stallMsMax)
  expect(held.map((one) => ({ ...one, shape: shapes[Number(one.name.split('.').at(-1))]?.[0] }))).toEqual([])
}, 240_000)

test('nor when it is good and large, or comes in chunks of one byte, and it is understood', async () => {
  const told = await read(Object.keys(particular))
  expect(told.filter(({ name, stallMs, said }) => stallMs > stallMsMax || !particular[name]?.says.test(said))).toEqual(
    [],
  )
}, 120_000)

test('what is kept of an answer in chunks of one byte is at most ten times its size', async () => {
  const times: number[] = []
  for (const name of Object.keys(particular).filter((one) => /\.dribble/.test(one) && !one.startsWith('authority'))) {
    const child = startCommand(['--expose-gc', 'test/contract/answers-child.ts', origin, `held/${name}`]) // one has nothing of another
    expect(await child.ended, child.lines.join('\n')).toBe(0)
    const line = child.lines.find((one) => one.startsWith('kept ')) ?? ''
    times.push(Number(line.slice('kept '.length)) / dribbledBytes)
  }
  expect(times.filter((one) => !(one > 0.5 && one <= 10))).toEqual([])
}, 120_000)

test('nor does an answer of the DNS', async () => {
  const dns = await startLargeDns()
  onTestFinished(dns.stop)
  const told = await read(
    largeDnsNames.map((name) => `dns.${name}`),
    dns.address,
  )
  expect(told.filter(({ stallMs }) => stallMs > stallMsMax)).toEqual([])
  expect(dns.asked()).toBeGreaterThanOrEqual(largeDnsNames.length)
}, 120_000)
