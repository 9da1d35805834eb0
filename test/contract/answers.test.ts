/**
 * No answer holds a process: models, tool servers and a search engine answer with the most that they may, in the
 * shapes that take longest to read, and a process of its own reads them as a worker does and tells how long its event
 * loop was held. What held it is repeated there, so that a loaded machine fails nothing by accident.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startCommand } from '../support/command.ts'
import { freePort } from '../support/ports.ts'
import { stallMsMax } from '../support/stalls/watched-process.ts'

const megabyte = 1024 * 1024

/** The longest text that fits, of these pieces. */
const filled = (bytes: number, piece: string): string => piece.repeat(Math.floor(bytes / Buffer.byteLength(piece)))
const inChat = (message: string): string => `{"choices":[{"index":0,"finish_reason":"stop","message":${message}}]}`
const chatText = (bytes: number, piece: string): string =>
  inChat(`{"role":"assistant","content":"${filled(bytes - 100, piece)}"}`)
const brackets = (bytes: number): string => `[${filled(bytes - 10, '[],')}0]`
const tokens = (bytes: number): string =>
  `[${filled(bytes - 200, '{"token":"a","logprob":-1,"bytes":[97],"top_logprobs":[]},')}{"token":"a","logprob":-1,"bytes":[97],"top_logprobs":[]}]`
const event = (data: string): string => `data: ${data}\n\n`
const ended = `${event('{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}')}data: [DONE]\n\n`

/** Of models: what is answered, by the name that the address has. */
const models: Readonly<Record<string, { body: () => string; says: RegExp }>> = {
  'openai-compatible.text': { body: () => chatText(15 * megabyte, 'a'), says: /^2 events/ },
  'openai-compatible.wide': { body: () => chatText(15 * megabyte, 'é\\n'), says: /^2 events/ },
  'openai-compatible.escapes': { body: () => chatText(15 * megabyte, '\\u0041'), says: /^2 events/ },
  'openai-compatible.brackets': {
    body: () => inChat(`{"content":${brackets(15 * megabyte)}}`),
    says: /more values than an answer may have/,
  },
  'openai-compatible.open': { body: () => filled(15 * megabyte, '['), says: /not JSON/ },
  'openai-compatible.probabilities': {
    body: () =>
      `{"choices":[{"finish_reason":"stop","message":{"content":"a"},"logprobs":{"content":${tokens(4 * megabyte)}}}]}`,
    says: /^2 events/,
  },
  'openai-compatible.arguments': {
    body: () =>
      inChat(`{"tool_calls":[{"id":"a","function":{"name":"a","arguments":{"a":"${filled(15 * megabyte, 'a')}"}}}]}`),
    says: /more tool arguments than/,
  },
  'openai-compatible.nothings': {
    body: () => inChat(`{"content":"a","reasoning_details":[${filled(1.9 * megabyte, '1,')}1]}`),
    says: /^\d+ events/,
  },
  'openai.probabilities': {
    body: () =>
      `{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"a","logprobs":${tokens(4 * megabyte)}}]}]}`,
    says: /^\d+ events/,
  },
  'openai.items': {
    body: () => `{"status":"completed","output":[${filled(2 * megabyte, '{},')}{}]}`,
    says: /more than 1024 items/,
  },
  'anthropic.blocks': {
    body: () => `{"content":[${filled(2 * megabyte, '{},')}{}],"stop_reason":"end_turn"}`,
    says: /more than 1024 blocks/,
  },
  'anthropic.input': {
    body: () =>
      `{"content":[{"type":"tool_use","id":"a","name":"a","input":{"a":"${filled(15 * megabyte, '\\n')}"}}],"stop_reason":"tool_use"}`,
    says: /more tool arguments than/,
  },
  'openai-compatible.stream-text': {
    body: () =>
      filled(12 * megabyte, event(`{"choices":[{"index":0,"delta":{"content":"${filled(megabyte - 200, '\\n')}"}}]}`)) +
      ended,
    says: /^\d+ events/,
  },
  'openai-compatible.stream-brackets': {
    body: () => event(brackets(megabyte - 100)) + ended,
    says: /more values than an answer may have/,
  },
  'openai-compatible.stream-small': {
    body: () => filled(8 * megabyte, event('{"choices":[{"index":0,"delta":{"content":"a"}}]}')) + ended,
    says: /^\d+ events/,
  },
  'openai-compatible.stream-lines': {
    body: () => filled(8 * megabyte, 'data: \n\n') + ended,
    says: /events|ended without/,
  },
}

const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(5 * megabyte - 8)]).toString('base64')
const image = `{"type":"image","mimeType":"image/png","data":"${png}"}`
const toolText = (bytes: number, piece: string): string =>
  `{"content":[{"type":"text","text":"${filled(bytes, piece)}"}]}`

/** Of tool servers: the result of the call, and whether it comes as events. */
const results: Readonly<Record<string, { result: () => string; says: RegExp }>> = {
  'tool.images': { result: () => `{"content":[${image},${image}]}`, says: /^\[image\]\n\[image\] 2/ },
  'tool.images-events': { result: () => `{"content":[${image},${image}]}`, says: /^\[image\]\n\[image\] 2/ },
  'tool.text': { result: () => toolText(15 * megabyte, 'ab'), says: /^abab/ },
  'tool.escapes': { result: () => toolText(15 * megabyte, '\\u0041'), says: /^AAAA/ },
  'tool.lines-events': { result: () => toolText(15 * megabyte, 'x\\n'), says: /^x\nx\n/ },
  'tool.blocks': {
    result: () => `{"content":[${filled(150_000, '{"type":"text","text":"a"},')}{"type":"text","text":"a"}]}`,
    says: /more than 20000 values|^a\na/,
  },
  'tool.brackets': {
    result: () => `{"structuredContent":{"a":${brackets(15 * megabyte)}}}`,
    says: /more than 20000 values/,
  },
  'tool.brackets-events': {
    result: () => `{"structuredContent":{"a":${brackets(15 * megabyte)}}}`,
    says: /more than 20000 values/,
  },
  'tool.rows': {
    result: () => `{"structuredContent":{"rows":[${filled(75_000, '{"a":"b"},')}1]}}`,
    says: /more than 20000 values|rows/,
  },
  'tool.many-events': { result: () => '{"content":[]}', says: /\(no content\)/ },
  'tool.data-lines-events': { result: () => '{"content":[]}', says: /more than 10000 lines/ },
  'tool.other-lines-events': { result: () => '{"content":[]}', says: /\(no content\)/ },
  'tool.comment-lines-events': { result: () => '{"content":[]}', says: /\(no content\)/ },
  'tool.too-large': { result: () => toolText(17 * megabyte, 'a'), says: /more than 16 MiB/ },
}
const listed: Readonly<Record<string, { result: () => string; says: RegExp }>> = {
  'tools.deep': {
    result: () =>
      `{"tools":[{"name":"a","inputSchema":{"type":"object","properties":${'{"a":'.repeat(50)}1${'}'.repeat(50)}}}]}`,
    says: /^1 tools/,
  },
  'tools.long': {
    result: () => `{"tools":[{"name":"a","description":"${filled(900_000, 'a')}","inputSchema":{"type":"object"}}]}`,
    says: /^1 tools/,
  },
  'tools.brackets': {
    result: () => `{"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"a":${brackets(900_000)}}}}]}`,
    says: /more than 20000 values/,
  },
  'tools.brackets-over': {
    result: () =>
      `{"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"a":${brackets(30 * megabyte)}}}}]}`,
    says: /more than 1 MiB/,
  },
  'tools.many': {
    result: () =>
      `{"tools":[${filled(120_000, '{"name":"a","inputSchema":{"type":"object"}},')}{"name":"a","inputSchema":{"type":"object"}}]}`,
    says: /more than 20000 values|\d+ tools/,
  },
}
/** Of a search engine. */
const searches: Readonly<Record<string, { body: () => string; says: RegExp }>> = {
  'search.results': { body: () => `{"results":[${filled(1.5 * megabyte, '{},')}{}]}`, says: /could not be reached/ },
  'search.text': { body: () => `{"results":[{"title":"${filled(1.9 * megabyte, 'a ')}"}]}`, says: /^a a a/ },
}

/** What comes before the result: events, and lines without an empty one. */
const filledNotes: Readonly<Record<string, () => string>> = {
  'tool.many-events': () => filled(4 * megabyte, event('{"jsonrpc":"2.0","method":"notifications/x"}')),
  'tool.data-lines-events': () => filled(15 * megabyte, 'data: a\n'),
  'tool.other-lines-events': () => filled(15 * megabyte, 'a\n'),
  'tool.comment-lines-events': () => filled(15 * megabyte, ':\r'),
}

function answerTool(name: string, body: string, res: ServerResponse): void {
  const { id, method } = JSON.parse(body || '{}') as { id?: number | string; method?: string }
  const reply = (result: string): string => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`
  const send = (text: string): void => void res.writeHead(200, { 'content-type': 'application/json' }).end(text)
  if (id === undefined) return void res.writeHead(202).end()
  if (method === 'initialize')
    return send(
      reply('{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}'),
    )
  if (method === 'tools/list')
    return send(reply(listed[name]?.result() ?? '{"tools":[{"name":"show","inputSchema":{"type":"object"}}]}'))
  if (method !== 'tools/call')
    return send(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":{"code":-32601,"message":"no"}}`)
  const result = reply(results[name]?.result() ?? '{}')
  if (!name.endsWith('-events')) return send(result)
  const notes = filledNotes[name]?.() ?? ''
  res.writeHead(200, { 'content-type': 'text/event-stream' }).end(`${notes}event: message\n${event(result)}`)
}

async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const name = req.url?.split(/[/?]/)[1] ?? ''
  const body = Buffer.concat((await req.toArray()) as Buffer[]).toString()
  if (name.startsWith('tool'))
    return req.method === 'POST' ? answerTool(name, body, res) : void res.writeHead(405).end()
  const type = name.includes('.stream') ? 'text/event-stream' : 'application/json'
  res.writeHead(200, { 'content-type': type }).end(models[name]?.body() ?? searches[name]?.body())
}

let server: Server
let origin: string
beforeAll(async () => {
  const port = await freePort()
  origin = `http://127.0.0.1:${port}`
  server = createServer((req, res) => void answer(req, res).catch(() => res.destroy())).listen(port, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

test('no answer of a model, a tool server or a search engine holds who reads it', async () => {
  const expected = { ...models, ...results, ...listed, ...searches }
  const child = startCommand(['test/contract/answers-child.ts', origin, ...Object.keys(expected)])
  expect(await child.ended, child.lines.join('\n')).toBe(0)
  const told = child.lines
    .filter((line) => line.startsWith('told '))
    .map((line) => JSON.parse(line.slice('told '.length)) as { name: string; stallMs: number; said: string })
  expect(told.map(({ name }) => name)).toEqual(Object.keys(expected))
  const wrong = told.filter(({ name, stallMs, said }) => !(stallMs <= stallMsMax) || !expected[name]?.says.test(said))
  expect(wrong).toEqual([])
}, 300_000)
