/** What an upstream may do wrong, in every wire format: each has its code and its sentence, and none takes long. */
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { beforeEach, describe, expect, test } from 'vitest'
import type { BerthError } from '#src/platform/errors.ts'
import { keptBytes, mostKeptBytes } from '../../support/stalls/memory.ts'
import { mockOfFile, type MockAnswer } from '../../support/mock-upstream.ts'
import { askAll, askUntilError, requestOf, secretKey, targetOf, wireKinds } from '../../support/model-questions.ts'

const mock = await mockOfFile()
beforeEach(() => mock.forget())

/** Nothing of the operator's is in what a caller is told; the upstream is named. */
function expectPublic(error: BerthError): void {
  expect(error.details['upstream']).toBe('mock')
  const told = `${error.message} ${JSON.stringify(error.details)}`
  expect(told).not.toContain(secretKey)
  expect(told).not.toContain('127.0.0.1')
  expect(error.message.length).toBeLessThan(700)
}

const errorBody = (error: unknown): string => JSON.stringify({ error })
/** An answer of an upstream, and what the caller is told. */
const refusals: readonly [string, MockAnswer, { code: string; says?: RegExp; details?: object }][] = [
  [
    '401 that quotes the key',
    { status: 401, body: errorBody({ message: `Incorrect API key provided: ${secretKey}` }) },
    { code: 'upstream_error', says: /own key/ },
  ],
  ['403', { status: 403, body: 'no' }, { code: 'upstream_error', says: /own key/ }],
  ['402', { status: 402 }, { code: 'upstream_error', says: /own account/ }],
  [
    '429 with a number',
    { status: 429, headers: { 'retry-after': '7' }, body: '{}' },
    { code: 'upstream_rate_limited', says: /7 seconds/, details: { retryAfterSeconds: 7 } },
  ],
  [
    '429 with a date',
    { status: 429, headers: { 'retry-after': new Date(Date.now() + 3_600_000).toUTCString() } },
    {
      code: 'upstream_rate_limited',
      details: { retryAfterSeconds: expect.toSatisfy((seconds: number) => seconds > 3_000 && seconds <= 3_600) },
    },
  ],
  ['429 without', { status: 429 }, { code: 'upstream_rate_limited', says: /later/ }],
  [
    '429 with nonsense',
    { status: 429, headers: { 'retry-after': '99999999999' } },
    { code: 'upstream_rate_limited', says: /later/ },
  ],
  [
    '500',
    { status: 500, body: errorBody({ message: 'secret stack' }) },
    { code: 'upstream_error', says: /^(?!.*secret)/ },
  ],
  [
    '502 in HTML',
    { status: 502, headers: { 'content-type': 'text/html' }, body: '<h1>Bad gateway</h1>' },
    { code: 'upstream_error', says: /^(?!.*<h1>)/ },
  ],
  ['503', { status: 503 }, { code: 'upstream_overloaded' }],
  [
    '529',
    { status: 529, body: errorBody({ type: 'overloaded_error', message: 'Overloaded' }) },
    { code: 'upstream_overloaded' },
  ],
  ['408', { status: 408 }, { code: 'upstream_timeout' }],
  ['504', { status: 504 }, { code: 'upstream_timeout' }],
  [
    '400 by code',
    { status: 400, body: errorBody({ code: 'context_length_exceeded', message: 'Your input has 9 tokens too many.' }) },
    { code: 'context_length_exceeded', says: /9 tokens too many/ },
  ],
  [
    '400 by words',
    {
      status: 400,
      body: errorBody({ type: 'invalid_request_error', message: 'prompt is too long: 210000 tokens > 200000 maximum' }),
    },
    { code: 'context_length_exceeded', says: /210000/ },
  ],
  [
    '400 by vLLM',
    {
      status: 400,
      body: JSON.stringify({
        object: 'error',
        message: "This model's maximum context length is 4096 tokens.",
        code: 400,
      }),
    },
    { code: 'context_length_exceeded', says: /4096/ },
  ],
  [
    '400 that quotes the key',
    { status: 400, body: errorBody({ message: `temperature\u001b[31m is\nwrong ${secretKey}` }) },
    { code: 'invalid_parameter', says: /temperature \[31m is wrong \[key\]/ },
  ],
  [
    '400 at great length',
    { status: 400, body: errorBody({ message: 'x'.repeat(50_000) }) },
    { code: 'invalid_parameter', says: /x{500}$/ },
  ],
  ['400 without a word', { status: 400, body: '' }, { code: 'invalid_parameter', says: /400/ }],
  [
    '404 of a model',
    { status: 404, body: errorBody({ message: 'The model does not exist.' }) },
    { code: 'upstream_error', says: /does not have the model: The model does not exist\. Tell your operator/ },
  ],
  ['404 of a wrong address', { status: 404, body: '404 page not found' }, { code: 'upstream_error' }],
  ['422', { status: 422, body: errorBody({ message: 'no' }) }, { code: 'invalid_parameter' }],
  ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1/' } }, { code: 'upstream_error' }],
  [
    'a page',
    { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>' },
    { code: 'upstream_error', says: /content type that was not requested/ },
  ],
  ['no type', { status: 200, body: '{}' }, { code: 'upstream_error', says: /no type/ }],
  ['nothing', { status: 200, headers: { 'content-type': 'application/json' }, body: '' }, { code: 'upstream_error' }],
  ['a list', { status: 200, headers: { 'content-type': 'application/json' }, body: '[1]' }, { code: 'upstream_error' }],
  [
    'an empty object',
    { status: 200, headers: { 'content-type': 'application/json' }, body: '{}' },
    { code: 'upstream_error' },
  ],
  [
    'an error that calls itself a success',
    { status: 200, headers: { 'content-type': 'application/json' }, body: errorBody({ code: 429, message: 'slow' }) },
    { code: 'upstream_rate_limited' },
  ],
  [
    'an empty stream',
    { status: 200, headers: { 'content-type': 'text/event-stream' }, body: '' },
    { code: 'upstream_error' },
  ],
  [
    'a stream of nonsense',
    { status: 200, headers: { 'content-type': 'text/event-stream' }, body: 'data: not json\n\n' },
    { code: 'upstream_error' },
  ],
  [
    'a stream of lists',
    { status: 200, headers: { 'content-type': 'text/event-stream' }, body: 'data: [1]\n\n' },
    { code: 'upstream_error' },
  ],
]

describe.each(wireKinds)('an upstream of kind %s', (kind) => {
  test.each(refusals)('that answers %s', async (_name, answer, { code, says, details }) => {
    for (const stream of [true, false]) {
      mock.script(answer)
      const { events, error } = await askUntilError(kind, targetOf(mock), requestOf({ stream }))
      expect(events).toEqual([])
      expect(error.code).toBe(code)
      if (says) expect(error.message).toMatch(says)
      if (details) expect(error.details).toMatchObject(details)
      expectPublic(error)
    }
  })

  test.each([
    ['overloaded_error', 'upstream_overloaded'],
    ['rate_limit_error', 'upstream_rate_limited'],
    ['api_error', 'upstream_error'],
    ['authentication_error', 'upstream_error'],
    ['invalid_request_error', 'invalid_parameter'],
    ['news', 'upstream_error'],
  ])('that breaks a stream off with %s: what came before stands', async (type, code) => {
    mock.script({ parts: [{ text: 'so far' }, { error: { type, message: `no ${secretKey}` } }] })
    const { events, error } = await askUntilError(kind, targetOf(mock))
    expect(events).toContainEqual({ type: 'text', text: 'so far' })
    expect(error.code).toBe(code)
    expectPublic(error)
  })

  test('that cuts the connection, before or in the middle of its answer', async () => {
    mock.script(
      { parts: [{ text: 'so far' }, { cut: true }] },
      { parts: [{ cut: true }] },
      { parts: [{ text: 'so far' }, { stop: true }] },
    )
    const middle = await askUntilError(kind, targetOf(mock))
    expect(middle.events).toContainEqual({ type: 'text', text: 'so far' })
    const cuts = [
      middle,
      await askUntilError(kind, targetOf(mock), requestOf({ stream: false })),
      await askUntilError(kind, targetOf(mock)),
    ]
    for (const { error } of cuts) {
      expect(error.code).toBe('upstream_error')
      expectPublic(error)
    }
  })

  test('that hangs before its answer, or in the middle', async () => {
    const target = targetOf(mock, { firstByteSeconds: 0.2, silenceSeconds: 0.2 })
    for (const answer of [
      { before: 'never' },
      { parts: [{ text: 'so far' }, { hang: true }] },
    ] satisfies MockAnswer[]) {
      for (const stream of [true, false]) {
        mock.script(answer)
        const { error } = await askUntilError(kind, target, requestOf({ stream }))
        expect(error.code).toBe('upstream_timeout')
        expectPublic(error)
        await mock.requests.at(-1)?.ended
        expect(mock.requests.at(-1)?.outcome).toBe('aborted')
      }
    }
  })

  test('that hangs in the middle of an error is judged by its status', async () => {
    mock.script({ status: 503, parts: [{ raw: '{"error":' }, { hang: true }] })
    const { error } = await askUntilError(kind, targetOf(mock, { silenceSeconds: 0.2 }))
    expect(error.code).toBe('upstream_overloaded')
    await mock.requests.at(-1)?.ended
  })

  test('that sends a line or a body of 100 MB is cut off long before', async () => {
    const bytes = 100 * 1024 * 1024
    const before = await keptBytes()
    mock.script(
      { parts: [{ raw: 'data: ' }, { flood: bytes }] },
      { parts: [{ flood: bytes }] },
      { parts: Array.from({ length: 200 }, () => [{ raw: ': ' }, { flood: 512 * 1024 }, { raw: '\n' }]).flat() },
    )
    const asking = (async () => [
      await askUntilError(kind, targetOf(mock)),
      await askUntilError(kind, targetOf(mock), requestOf({ stream: false })),
      await askUntilError(kind, targetOf(mock)),
    ])()
    expect((await mostKeptBytes(asking)) - before).toBeLessThan(bytes / 2)
    const [line, body, comments] = await asking
    expect(line?.error).toMatchObject({ code: 'upstream_error', message: expect.stringContaining('a line is longer') })
    expect(body?.error).toMatchObject({
      code: 'upstream_error',
      message: expect.stringContaining('a longer answer than allowed'),
    })
    expect(comments?.error).toMatchObject({
      code: 'upstream_error',
      message: expect.stringContaining('a longer answer than allowed'),
    })
    for (const request of mock.requests) {
      await request.ended
      expect(request.outcome).toBe('aborted')
    }
  })
})

describe('an address', () => {
  /** A server that does with each connection what it is told. */
  async function listen(onConnection: (socket: Socket) => void): Promise<{ url: string; server: Server }> {
    const server = createServer(onConnection)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
  }

  test('where nobody listens, one that hangs up, and one that does not speak HTTP are upstream errors', async () => {
    const gone = await listen(() => undefined)
    await new Promise((resolve) => gone.server.close(resolve))
    const curt = await listen((socket) => socket.destroy())
    const strange = await listen((socket) => socket.on('error', () => undefined).end('SSH-2.0-OpenSSH_9.2\r\n'))
    for (const place of [gone, curt, strange]) {
      const { error } = await askUntilError('openai-compatible', targetOf(place))
      expect(error.code).toBe('upstream_error')
      expectPublic(error)
      place.server.close()
    }
  })

  test('of a server that is back is used again after its failures', async () => {
    mock.script({ parts: [{ cut: true }] })
    await askUntilError('anthropic', targetOf(mock))
    expect((await askAll('anthropic', targetOf(mock))).at(-1)?.type).toBe('end')
  })
})
