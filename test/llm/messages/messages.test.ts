/** `POST /v1/messages` over HTTP: what upstreams are sent, who answers, how it fails, and what is recorded. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { findOne, sql } from '#src/platform/postgres.ts'
import { makeKey } from '../../support/makers.ts'
import { startChatWorld, type ChatWorld } from '../chat-world.ts'

let world: ChatWorld
beforeAll(async () => {
  world = await startChatWorld()
})
afterAll(() => world.stop())
afterEach(() => world.mock.forget())

const path = '/v1/messages'
const countPath = '/v1/messages/count_tokens'
const messages = [{ role: 'user', content: 'Hello there' }]
const body = { model: 'test/signed', max_tokens: 100, messages }
type Message = { id: string; content: Record<string, unknown>[]; usage: Record<string, unknown>; stop_reason: string }
const jsonOf = async <Body>(answer: Promise<Response>): Promise<Body> => {
  const known = await answer
  expect(known.status).toBe(200)
  return (await known.json()) as Body
}
const told = async (answering: Promise<Response>): Promise<string> => {
  const answer = await answering
  const { error, ...rest } = (await answer.json()) as { error: Record<string, string> }
  expect(rest).toEqual({ type: 'error', request_id: answer.headers.get('request-id') })
  expect(error).toEqual({
    type: expect.any(String),
    message: expect.stringMatching(/\w{4}/),
    code: expect.any(String),
    service_id: expect.any(String),
  })
  return `${answer.status} ${error['type']} ${error['code']} ${error['service_id']}`
}

describe('an upstream of Anthropic’s format', () => {
  test('is sent the request as it was written, and the answer comes back as it was', async () => {
    const written = {
      ...body,
      system: [{ type: 'text', text: 'Be short.', cache_control: { type: 'ephemeral' } }],
      top_k: 5,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Read this', cache_control: { type: 'ephemeral' } },
            { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' }, context: 'c' },
          ],
        },
      ],
    }
    world.mock.script({
      parts: [
        { reasoning: 'Hm.', signature: 'c2ln' },
        { text: 'One.' },
        { tool: 'a', id: 't1', arguments: '{"b":[1]}' },
      ],
      cacheReadTokens: 2,
      cacheWriteTokens: 1,
    })
    const answer = await jsonOf<Message>(world.post(path, written))
    expect(world.mock.requests).toMatchObject([
      { path: '/v1/messages', headers: { 'anthropic-version': '2023-06-01' }, format: 'messages' },
    ])
    expect(world.mock.requests[0]?.body).toEqual({ ...written, model: 'mock-signed', stream: false })
    expect(answer.content).toEqual([
      { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
      { type: 'text', text: 'One.', citations: [] },
      { type: 'tool_use', id: 't1', name: 'a', input: { b: [1] }, caller: { type: 'direct' } },
    ])
    expect(answer.stop_reason).toBe('tool_use')
    expect(answer.usage).toMatchObject({ cache_read_input_tokens: 2, cache_creation_input_tokens: 1 })
  })

  test('says which stop sequence it met, streamed and whole', async () => {
    const stopped = { parts: [{ text: 'a' }], finish: 'stop_sequence', stopSequence: 'END' }
    world.mock.script(stopped, stopped)
    const asked = { ...body, stop_sequences: ['END'] }
    expect(await jsonOf(world.post(path, asked))).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: 'END' })
    expect(await (await world.post(path, { ...asked, stream: true })).text()).toContain('"stop_sequence":"END"')
  })
})

describe('an upstream of another format', () => {
  const tools = [{ name: 'weather', input_schema: { type: 'object' } }]
  test('is asked in its own words, without a stream too', async () => {
    const played = {
      parts: [
        { reasoning: 'Hm.', id: 'rs_1', encrypted: 'ZW5j' },
        { tool: 'weather', id: 't1', arguments: '{}' },
      ],
    }
    world.mock.script(played, played)
    const asked = { ...body, max_tokens: 3000, system: 'Be short.', tools, tool_choice: { type: 'any' } }
    const sealed = await jsonOf<Message>(
      world.post(path, { ...asked, model: 'test/sealed', thinking: { type: 'enabled', budget_tokens: 1024 } }),
    )
    expect(sealed.content.map(({ type }) => type)).toEqual(['thinking', 'tool_use'])
    const plain = await jsonOf<Message>(world.post(path, { ...asked, model: 'test/plain' }))
    expect(plain.content.map(({ type }) => type)).toEqual(['thinking', 'tool_use']) // it thinks unasked, and needs nothing back
    expect(plain.content[0]).toEqual({ type: 'thinking', thinking: 'Hm.', signature: '' })
    expect(world.mock.requests.map(({ format }) => format)).toEqual(['responses', 'chat'])
    expect(world.mock.requests[0]?.body).toMatchObject({ tool_choice: 'required', reasoning: { effort: 'low' } })
    expect(world.mock.requests[1]?.body).toMatchObject({
      stream: false,
      tool_choice: 'required',
      messages: [
        { role: 'system', content: 'Be short.' },
        { role: 'user', content: 'Hello there' },
      ],
    })
  })

  test('takes over when the one before it fails, and is left out where it would drop a field', async () => {
    const broken = { status: 503, body: '{}' }
    world.mock.script(broken, broken, { parts: [{ text: 'From the second.' }] })
    const answer = await world.post(path, { ...body, model: 'test/mixed' })
    expect([answer.status, answer.headers.get('x-berth-upstream'), answer.headers.get('x-berth-failed')]).toEqual([
      200,
      'anthropic',
      'openai upstream_overloaded, openai upstream_overloaded',
    ])
    expect(world.mock.requests.map(({ format }) => format)).toEqual(['responses', 'responses', 'messages'])
    world.mock.forget()
    expect((await world.post(path, { ...body, model: 'test/mixed', top_k: 3 })).status).toBe(200)
    expect(world.mock.requests.map(({ format }) => format)).toEqual(['messages'])
  })
})

describe('a caller is refused in Anthropic’s envelope', () => {
  test.each([path, countPath])('on %s', async (at) => {
    const { key } = await makeKey(world.berth, world.owner, { scopes: ['models:read'] })
    const viewer = await world.berth.token('victor', 'acme', 'viewer')
    const refused = (given: unknown, options?: Parameters<ChatWorld['post']>[2]): Promise<string> =>
      told(world.post(at, given, options))
    expect(await refused(body, { token: null })).toBe('401 authentication_error key_missing gateway')
    expect(await refused(body, { token: 'svc_live_ak_x.y' })).toBe('401 authentication_error key_invalid gateway')
    expect(await refused(body, { token: key })).toBe('403 permission_error missing_scope gateway')
    expect(await refused(body, { token: viewer })).toBe('403 permission_error missing_scope gateway')
    expect(await refused('{"model":')).toBe('400 invalid_request_error invalid_parameter gateway')
    expect(await refused('')).toBe('400 invalid_request_error invalid_parameter gateway')
    expect(await refused({ ...body, model: 'x' })).toMatch(
      /^400 invalid_request_error (?:unsupported_model|invalid_parameter) gateway$/,
    )
    expect(await refused({ model: 'test/signed', messages: 5 })).toMatch(/^400 invalid_request_error /)
  })

  test('for what its organization cannot pay, and for what its upstream refuses', async () => {
    expect(await told(world.post(path, { ...body, model: 'test/dear' }))).toBe(
      '402 billing_error insufficient_credits gateway',
    )
    const refusal = { type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long: 2 > 1.' } }
    const json = { 'content-type': 'application/json' }
    world.mock.script({ status: 400, headers: json, body: JSON.stringify(refusal) })
    expect(await told(world.post(path, body))).toBe('400 invalid_request_error context_length_exceeded anthropic')
    const unauthorized = { status: 401, headers: json, body: '{}' }
    world.mock.script(unauthorized, unauthorized)
    const upstreams = world.post(countPath, { model: 'test/signed', messages })
    expect(await told(upstreams)).toBe('502 api_error upstream_error anthropic')
  })
})

describe('arguments of a tool that are nested too deep', () => {
  const deep = `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`
  const tools = [{ name: 'x', input_schema: { type: 'object' } }]

  test('come as the text that they are, instead of failing an answer that was paid', async () => {
    world.mock.script({ parts: [{ tool: 'x', id: 't1', arguments: deep }], finish: 'tool_calls' })
    const { content } = await jsonOf<Message>(world.post(path, { ...body, model: 'test/plain', tools }))
    expect(content).toMatchObject([{ type: 'tool_use', input: { invalid_arguments: deep } }])
  })

  test('go to an upstream that wants objects as a text too, from a chat', async () => {
    const calls = [{ id: 't1', type: 'function', function: { name: 'x', arguments: deep } }]
    const chat = [
      ...messages,
      { role: 'assistant', tool_calls: calls },
      { role: 'tool', tool_call_id: 't1', content: '' },
    ]
    expect((await world.post('/v1/chat/completions', { model: 'test/signed', messages: chat })).status).toBe(200)
    expect(JSON.stringify(world.mock.requests[0]?.body['messages'])).toContain('"input":{"invalid_arguments":')
  })

  test('of an upstream that sends objects are its fault', async () => {
    const answer = `{"content":[{"type":"tool_use","id":"t1","name":"x","input":${deep}}],"stop_reason":"tool_use"}`
    for (let tries = 0; tries < 2; tries++)
      world.mock.script({ status: 200, headers: { 'content-type': 'application/json' }, body: answer })
    expect(await told(world.post(path, { ...body, tools }))).toBe('502 api_error upstream_error anthropic')
  })
})

describe('a stream', () => {
  test.each([
    ['cuts', [{ text: 'half' }, { cut: true }]],
    ['sends an error', [{ text: 'half' }, { error: { type: 'overloaded_error', message: 'Overloaded' } }]],
  ] as const)('whose provider %s ends with the event error', async (_name, parts) => {
    world.mock.script({ parts })
    const answer = await world.post(path, { ...body, stream: true })
    const events = (await answer.text()).split('\n\n')
    expect(events.at(-2)).toMatch(/^event: error\ndata: \{"type":"error","error":\{.*"service_id":"anthropic"\}/)
    expect(events.at(-2)).toContain(answer.headers.get('x-request-id'))
    expect(events.join('')).toContain('"text":"half"')
  })

  test('of a reader that leaves is ended at its upstream', async () => {
    world.mock.script({ parts: [{ text: 'half' }, { hang: true }] })
    const leaving = new AbortController()
    const answer = await world.post(path, { ...body, stream: true }, { signal: leaving.signal })
    await answer.body?.getReader().read()
    leaving.abort()
    const asked = await world.mock.request(0)
    await asked.ended
    expect(asked.outcome).toBe('aborted')
  })

  test('and a body are repeated under their Idempotency-Key', async () => {
    for (const stream of [true, false]) {
      const headers = { 'idempotency-key': `messages-${stream}` }
      const first = await (await world.post(path, { ...body, stream }, { headers })).text()
      const second = await world.post(path, { ...body, stream }, { headers })
      expect(second.headers.get('idempotent-replayed')).toBe('true')
      expect(await second.text()).toBe(first)
      expect((await world.post(path, { ...body, stream, max_tokens: 7 }, { headers })).status).toBe(409)
    }
    expect(world.mock.requests).toHaveLength(2)
  })
})

test('the ledger has each answer by its id, and no count', async () => {
  const { db } = world.berth.services
  const rows = async (): Promise<number> =>
    (await findOne<{ count: number }>(db, sql`select count(*)::int as count from inference_requests`))?.count ?? 0
  const { id } = await jsonOf<Message>(world.post(path, body))
  const query = `{ node(id: "${id.replace('msg_', 'infreq_')}") { ... on InferenceRequest { route status model { id } } } }`
  const { body: found } = await world.berth.ask(query, { token: world.owner })
  expect(found.data).toMatchObject({
    node: { route: 'MESSAGES', status: 'COMPLETED', model: { id: 'test/signed' } },
  })
  const before = await rows()
  expect(await jsonOf(world.post(countPath, { model: 'test/signed', messages }))).toMatchObject({ input_tokens: 3 })
  expect(await jsonOf(world.post(countPath, { model: 'test/plain', messages }))).toMatchObject({ input_tokens: 3 })
  expect(await rows()).toBe(before)
})
