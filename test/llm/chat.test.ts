/** The chat routes over HTTP: who is let in, what is answered and what is refused, on a real Berth before a provider that fails on request. */
import { once } from 'node:events'
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { endApiKey } from '#src/resources/identity/api-keys.ts'
import { setPlan } from '#src/resources/llm/billing.ts'
import { idsOf, makeKey } from '../support/makers.ts'
import { until } from '../support/until.ts'
import { startChatWorld, type ChatWorld } from './chat-world.ts'

let world: ChatWorld
beforeAll(async () => {
  world = await startChatWorld()
})
afterAll(() => world.stop())
afterEach(() => world.mock.forget())

const messages = [{ role: 'user', content: 'Hello there' }]
const uiMessages = [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Hello there' }] }]
const body = { model: 'test/plain', messages }
type Told = {
  error: { type: string; code: string; message: string; param: null; request_id: string; service_id: string }
}
const told = async (answer: Response): Promise<string> => {
  const { error } = (await answer.json()) as Told
  expect(error).toEqual({
    type: expect.any(String),
    code: expect.any(String),
    message: expect.any(String),
    param: null,
    request_id: answer.headers.get('x-request-id'),
    service_id: expect.any(String),
  })
  return `${answer.status} ${error.type} ${error.code} ${error.service_id}`
}
const keyWith = (
  rest: { scopes?: readonly string[]; expiresAt?: string } = {},
): Promise<{ key: string; keyId: string }> => makeKey(world.berth, world.owner, rest)

describe('an answer', () => {
  test('that is not streamed is one body of the documented shape, without reasoning', async () => {
    world.mock.script({ parts: [{ reasoning: 'secret thought', signature: 's' }, { text: 'Hi.' }] })
    const answer = await world.post('/v1/chat/completions', { ...body, model: 'test/signed' })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    const text = await answer.text()
    expect(text).not.toContain('thought')
    expect(JSON.parse(text)).toEqual({
      id: expect.stringMatching(/^chatcmpl-[0-9a-z]{26}$/),
      object: 'chat.completion',
      created: expect.any(Number),
      model: 'test/signed',
      speed: 'standard',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hi.', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: {
        prompt_tokens: expect.any(Number),
        completion_tokens: expect.any(Number),
        total_tokens: expect.any(Number),
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        prompt_tokens_details: { cached_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: expect.any(Number) },
      },
    })
  })

  test('names the upstream that answered, the remaining rate limit, and its request id twice', async () => {
    for (const answer of [
      await world.post('/v1/chat/completions', body),
      await world.post('/v1/chat/completions', { ...body, stream: true }),
      await world.post('/v1/chat', { model: 'test/plain', messages: uiMessages }),
    ]) {
      const { headers } = answer
      expect([headers.get('x-berth-upstream'), headers.get('x-berth-attempts'), headers.get('x-berth-failed')]).toEqual(
        ['local', '1', null],
      )
      expect(headers.get('x-request-id')).toMatch(/^req_/)
      expect(headers.get('request-id')).toBe(headers.get('x-request-id'))
      expect(headers.get('ratelimit-limit')).toBe('600')
      expect(Number(headers.get('ratelimit-remaining'))).toBeLessThan(600)
      await answer.text()
    }
  })

  test('that is streamed has the headers of a stream, and on /v1/chat both marks of a UI message stream', async () => {
    const chunks = await world.post('/v1/chat/completions', { ...body, stream: true })
    expect(Object.fromEntries(chunks.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    })
    expect(chunks.headers.get('x-sdk-ui-message-stream')).toBeNull()
    const text = await chunks.text()
    expect(text).not.toContain('retry:')
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true)
    const ui = await world.post('/v1/chat', { model: 'test/plain', messages: uiMessages })
    expect(Object.fromEntries(ui.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'x-sdk-ui-message-stream': 'v1',
      'x-vercel-ai-ui-message-stream': 'v1',
    })
    expect((await ui.text()).endsWith('data: [DONE]\n\n')).toBe(true)
  })

  test('of a person’s token is given to a member, and of x-api-key to a key', async () => {
    expect((await world.post('/v1/chat/completions', body, { token: world.owner })).status).toBe(200)
    expect(
      (await world.post('/v1/chat/completions', body, { token: null, headers: { 'x-api-key': world.key } })).status,
    ).toBe(200)
    const viewer = await world.berth.token('victor', 'acme', 'viewer')
    expect(await told(await world.post('/v1/chat/completions', body, { token: viewer }))).toBe(
      '403 permission_error missing_scope gateway',
    )
  })

  test('from another upstream says what failed before', async () => {
    world.mock.script(
      { status: 503, body: '{}' },
      { status: 503, body: '{}' },
      { parts: [{ text: 'From the spare.' }] },
    )
    const answer = await world.post('/v1/chat/completions', { ...body, model: 'test/doubled' })
    expect(answer.status).toBe(200)
    expect([
      answer.headers.get('x-berth-upstream'),
      answer.headers.get('x-berth-attempts'),
      answer.headers.get('x-berth-failed'),
    ]).toEqual(['spare', '3', 'local upstream_overloaded, local upstream_overloaded'])
  })
})

describe('a caller is refused', () => {
  test('without a key, with a wrong, an expired or a revoked one, and with one that lacks the scope', async () => {
    const expired = await keyWith({ expiresAt: '2020-01-01T00:00:00.000Z' })
    const revoked = await keyWith()
    await endApiKey(world.berth.services.db, idsOf(world.owner).organizationId, revoked.keyId)
    const scoped = await keyWith({ scopes: ['models:read'] })
    const outcomes: Record<string, string> = {
      none: '',
      wrong: `${world.key}x`,
      garbage: 'x.y.z',
      expired: expired.key,
      revoked: revoked.key,
      scoped: scoped.key,
    }
    for (const path of ['/v1/chat/completions', '/v1/chat']) {
      const answers = Object.fromEntries(
        await Promise.all(
          Object.entries(outcomes).map(
            async ([name, token]) =>
              [name, await told(await world.post(path, body, { token: token || null }))] as const,
          ),
        ),
      )
      expect(answers).toEqual({
        none: '401 authentication_error key_missing gateway',
        wrong: '401 authentication_error key_invalid gateway',
        garbage: '401 authentication_error key_invalid gateway',
        expired: '401 authentication_error key_expired gateway',
        revoked: '401 authentication_error key_revoked gateway',
        scoped: '403 permission_error missing_scope gateway',
      })
    }
    expect(world.mock.requests).toEqual([])
  })

  test('before their body is read', async () => {
    const answer = await world.post('/v1/chat/completions', 'x'.repeat(8 * 1024 * 1024), { token: null })
    expect(await answer.clone().text()).toContain('`npm run -s key`') // a newcomer is told what to send
    expect(await told(answer)).toBe('401 authentication_error key_missing gateway')
  })

  test('while its organization’s large bodies have 512 MiB, before one more is read', async () => {
    await world.post('/v1/chat/completions', body) // the key is known from here on, so all are let in at once
    const declare = (): ClientRequest => {
      const asking = httpRequest(`${world.berth.url}/llm/v1/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${world.key}`,
          'content-type': 'application/json',
          'content-length': 32 * 1024 * 1024,
          expect: '100-continue',
        },
      })
      asking.on('error', () => undefined).flushHeaders()
      return asking
    }
    const holding = Array.from({ length: 16 }, declare)
    await Promise.all(holding.map((one) => once(one, 'continue')))
    const refused = declare()
    const [answer] = (await once(refused, 'response')) as [IncomingMessage]
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([429, '1'])
    expect(await world.post('/v1/chat/completions', body).then(({ status }) => status)).toBe(200) // a small one passes
    for (const one of [...holding, refused]) one.destroy()
    await until(
      'their room is free again',
      async () =>
        (await world.post('/v1/chat/completions', { ...body, user: 'x'.repeat(16 * 1024 * 1024) })).status === 200,
    )
  })

  test('after 600 requests in a minute, with Retry-After', async () => {
    const { key } = await keyWith()
    const [sent, aMinute] = [800, 600]
    const began = performance.now()
    const asked = await Promise.all(
      Array.from({ length: sent }, async () => {
        const answer = await world.post('/v1/chat/completions', { model: 'test/plain' }, { token: key })
        return { answer, text: await answer.text() }
      }),
    )
    const limited = asked.filter(({ answer }) => answer.status === 429)
    const cameBack = ((performance.now() - began) / 60_000) * aMinute // while they were asked
    expect(sent - limited.length).toBeGreaterThanOrEqual(aMinute)
    expect(sent - limited.length).toBeLessThanOrEqual(aMinute + cameBack + 1)
    expect(limited.length).toBeGreaterThan(0)
    const [{ answer, text } = { answer: undefined, text: '' }] = limited
    expect((JSON.parse(text) as Told).error).toMatchObject({ type: 'rate_limit_error', code: 'key_rate_limited' })
    expect(Number(answer?.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(answer?.headers.get('ratelimit-remaining')).toBe('0')
    expect((await world.post('/v1/chat/completions', body)).status).toBe(200) // another key has a minute of its own
  })

  test('when the organization has no plan, or no credits for a model that costs', async () => {
    const answer = await world.post('/v1/chat/completions', { ...body, model: 'test/dear' })
    expect(answer.headers.get('x-should-retry')).toBe('false')
    expect(await told(answer)).toBe('402 billing_error insufficient_credits gateway')
    const poor = await world.berth.token('paula', 'poor', 'owner')
    await setPlan(world.berth.services.db, idsOf(poor).organizationId, null)
    expect(
      await told(await world.post('/v1/chat', { model: 'berth/demo', messages: uiMessages }, { token: poor })),
    ).toBe('402 billing_error no_active_plan gateway')
  })
})

describe('a request is refused', () => {
  test.each<[string, unknown, string]>([
    ['/v1/chat/completions', '{"model":', '400 invalid_request_error invalid_parameter gateway'],
    ['/v1/chat/completions', '"\\ud800"', '400 invalid_request_error invalid_parameter gateway'],
    [
      '/v1/chat/completions',
      JSON.stringify({ ...body, user: '\0' }),
      '400 invalid_request_error invalid_parameter gateway',
    ],
    [
      '/v1/chat/completions',
      `${'['.repeat(100)}${']'.repeat(100)}`,
      '400 invalid_request_error invalid_parameter gateway',
    ],
    ['/v1/chat/completions', '', '400 invalid_request_error invalid_parameter gateway'],
    ['/v1/chat/completions', { ...body, model: 'x' }, '400 invalid_request_error unsupported_model gateway'],
    [
      '/v1/chat/completions',
      { ...body, messages: [{ role: 'x' }] },
      '400 invalid_request_error invalid_messages gateway',
    ],
    [
      '/v1/chat/completions',
      { ...body, tools: [{ type: 'function', function: { name: 'x' } }] },
      '400 invalid_request_error tools_require_streaming gateway',
    ],
    [
      '/v1/chat/completions',
      { ...body, model: 'test/signed', reasoning_effort: 'low' },
      '400 invalid_request_error reasoning_requires_streaming gateway',
    ],
    [
      '/v1/chat',
      { model: 'test/plain', messages: uiMessages, stream: false },
      '400 invalid_request_error stream_required gateway',
    ],
    ['/v1/chat', body, '400 invalid_request_error invalid_messages gateway'],
    ['/v1/nothing', body, '404 not_found_error route_not_found gateway'],
  ])('%s %j with %s', async (path, sent, expected) => {
    expect(await told(await world.post(path, sent))).toBe(expected)
    expect(world.mock.requests).toEqual([])
  })

  test('when it is larger than 32 MiB, and read when it is not', async () => {
    expect(
      await told(
        await world.post('/v1/chat/completions', {
          ...body,
          messages: [{ role: 'user', content: 'x'.repeat(33 * 1024 * 1024) }],
        }),
      ),
    ).toBe('413 request_too_large request_too_large gateway')
    const image = `data:image/png;base64,iVBORw0KGgoA${'A'.repeat(30 * 1024 * 1024)}`
    const large = await world.post('/v1/chat/completions', {
      ...body,
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: image } }] }],
    })
    expect(large.status).toBe(200)
    expect(world.mock.requests[0]?.bodyText.includes(image)).toBe(true)
  })

  test('with __proto__ in its keys, which changes no prototype', async () => {
    const trap = `{"model":"test/plain","messages":[{"role":"user","content":"x","__proto__":{"polluted":1}}],"__proto__":{"stream":true},"constructor":{"prototype":{"polluted":1}}}`
    expect((await world.post('/v1/chat/completions', trap)).headers.get('content-type')).toContain('application/json')
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })
})

describe('an upstream’s failure before the first byte', () => {
  test.each<[string, Parameters<ChatWorld['mock']['script']>[0], string]>([
    ['503', { status: 503, body: '{}' }, '503 overloaded_error upstream_overloaded local'],
    ['500', { status: 500, body: 'x' }, '502 api_error upstream_error local'],
    ['401 for our key', { status: 401, body: '{}' }, '502 api_error upstream_error local'],
    [
      '429',
      { status: 429, headers: { 'retry-after': '7' }, body: '{}' },
      '429 rate_limit_error upstream_rate_limited local',
    ],
    [
      'not JSON',
      { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>' },
      '502 api_error upstream_error local',
    ],
  ])('%s is told with its code and who it was', async (_name, failure, expected) => {
    world.mock.script(failure, failure, failure, failure)
    for (const stream of [false, true]) {
      const answer = await world.post('/v1/chat/completions', { ...body, stream })
      if (answer.status === 429) expect(answer.headers.get('retry-after')).toBe('7')
      if (answer.status === 503) expect(answer.headers.get('retry-after')).not.toBeNull()
      expect(Number(answer.headers.get('x-berth-attempts'))).toBeGreaterThan(0)
      expect(await told(answer)).toBe(expected)
      world.mock.script(failure, failure, failure, failure)
    }
  })
})

describe('an Idempotency-Key', () => {
  test('returns the same answer again, streamed or not, and asks the model once', async () => {
    for (const [path, sent] of [
      ['/v1/chat/completions', body],
      ['/v1/chat/completions', { ...body, stream: true }],
      ['/v1/chat', { model: 'test/plain', messages: uiMessages }],
    ] as const) {
      world.mock.forget()
      const headers = { 'idempotency-key': `once ${path} ${JSON.stringify(sent).length}` }
      const first = await world.post(path, sent, { headers })
      const text = await first.text()
      const second = await world.post(path, sent, { headers })
      expect([second.status, await second.text()]).toEqual([200, text])
      expect([first.headers.get('idempotent-replayed'), second.headers.get('idempotent-replayed')]).toEqual([
        null,
        'true',
      ])
      for (const name of ['content-type', 'x-sdk-ui-message-stream'])
        expect(second.headers.get(name)).toBe(first.headers.get(name))
      expect(world.mock.requests).toHaveLength(1)
      expect(await told(await world.post(path, { ...sent, user: 'other' }, { headers }))).toBe(
        '409 conflict_error idempotency_conflict gateway',
      )
    }
  })

  test('of a stream that was cut off may be used again, and asks the model again', async () => {
    const headers = { 'idempotency-key': 'cut' }
    world.mock.script({ parts: [{ text: 'half' }, { cut: true }] })
    expect(await (await world.post('/v1/chat/completions', { ...body, stream: true }, { headers })).text()).toContain(
      'upstream_error',
    )
    const again = await world.post('/v1/chat/completions', { ...body, stream: true }, { headers })
    expect(again.headers.get('idempotent-replayed')).toBeNull()
    expect(await again.text()).toContain('Mock ')
  })
})
