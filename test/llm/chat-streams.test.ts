/** Streams of chats that do not simply go well: silence, readers that leave or take nothing, providers that fail in the middle, keys that end. */
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { findAll, findOne, sql } from '#src/platform/postgres.ts'
import { endApiKey } from '#src/resources/identity/api-keys.ts'
import { pollUntil } from '#src/start/wait.ts'
import { idsOf, makeKey } from '../support/makers.ts'
import { until } from '../support/until.ts'
import { startChatWorld, type ChatWorld } from './chat-world.ts'

let world: ChatWorld
beforeAll(async () => {
  world = await startChatWorld()
})
afterAll(() => world.stop())
afterEach(() => world.mock.forget())

const bodies: Readonly<Record<string, unknown>> = {
  '/v1/chat/completions': { model: 'test/plain', stream: true, messages: [{ role: 'user', content: 'Hello' }] },
  '/v1/chat': { model: 'test/plain', messages: [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Hello' }] }] },
}
const paths = Object.keys(bodies)

/** Reads the stream until its text has this. */
async function readUntil(
  answer: Response,
  wanted: string,
): Promise<{ text: string; reader: ReadableStreamDefaultReader<Uint8Array> }> {
  const reader = answer.body!.getReader() // a stream has a body
  const decoder = new TextDecoder()
  let text = ''
  while (!text.includes(wanted)) {
    const { value, done } = await reader.read()
    if (done) throw new Error(`the stream ended without ${wanted}: ${text}`)
    text += decoder.decode(value, { stream: true })
  }
  return { text, reader }
}

describe('a provider that fails after the first byte', () => {
  test.each<[string, Parameters<ChatWorld['mock']['script']>[0], string]>([
    ['cuts', { parts: [{ text: 'half' }, { cut: true }] }, 'upstream_error'],
    ['stops without an end', { parts: [{ text: 'half' }, { stop: true }] }, 'upstream_error'],
    ['sends garbage', { parts: [{ text: 'half' }, { raw: 'data: {"choices":[{"del\n\n' }] }, 'upstream_error'],
    [
      'sends an error',
      { parts: [{ text: 'half' }, { error: { type: 'overloaded_error', message: 'Overloaded' } }] },
      'upstream_',
    ],
    [
      'sends a line of 100 MB',
      { parts: [{ text: 'half' }, { raw: 'data: ' }, { flood: 100 * 1024 * 1024 }] },
      'upstream_error',
    ],
  ])('%s: what came is shown, then the error with its ids, then [DONE]', async (_name, script, code) => {
    world.mock.script(script)
    const answer = await world.post('/v1/chat/completions', bodies['/v1/chat/completions'])
    expect(answer.status).toBe(200)
    const events = (await answer.text()).split('\n\n')
    expect(events.slice(-2)).toEqual(['data: [DONE]', ''])
    const { error } = JSON.parse(events.at(-3)?.slice('data: '.length) ?? '') as { error: Record<string, unknown> }
    expect(error).toEqual({
      type: expect.any(String),
      code: expect.stringContaining(code),
      message: expect.any(String),
      param: null,
      request_id: answer.headers.get('x-request-id'),
      service_id: 'local',
    })
    expect(events[1]).toContain('{"content":"half"}')

    world.mock.script(script)
    const ui = (await (await world.post('/v1/chat', bodies['/v1/chat'])).text()).split('\n\n')
    expect(ui.slice(-4)).toEqual([
      expect.stringMatching(/^data: \{"type":"error","errorText":".+"\}$/),
      'data: {"type":"finish"}',
      'data: [DONE]',
      '',
    ])
  })
})

describe.each(paths)('a reader of %s', (path) => {
  test('who disconnects in the middle ends the request at the provider', async () => {
    world.mock.script({ parts: [{ text: 'half' }, { hang: true }] })
    const leaving = new AbortController()
    const { text } = await readUntil(await world.post(path, bodies[path], { signal: leaving.signal }), 'half')
    expect(text).not.toContain('[DONE]')
    const asked = await world.mock.request(0)
    leaving.abort()
    await asked.ended
    expect(asked.outcome).toBe('aborted')
  })

  test('who disconnects before the answer begins ends it too', async () => {
    world.mock.script({ before: 'never' })
    const leaving = new AbortController()
    const answer = world.post(path, bodies[path], { signal: leaving.signal })
    const asked = await world.mock.request(0)
    leaving.abort()
    await expect(answer).rejects.toThrow()
    await asked.ended
    expect(asked.outcome).toBe('aborted')
  })

  test('whose key is revoked in the middle gets that error, and the request at the provider ends', async () => {
    const { organizationId } = idsOf(world.owner)
    const { key, keyId } = await makeKey(world.berth, world.owner)
    world.mock.script({ parts: [{ text: 'half' }, { hang: true }] })
    const { reader } = await readUntil(await world.post(path, bodies[path], { token: key }), 'half')
    await endApiKey(world.berth.services.db, organizationId, keyId)
    const rest = new TextDecoder().decode((await reader.read()).value)
    expect(rest).toMatch(
      path === '/v1/chat'
        ? /^data: \{"type":"error","errorText":"This key was revoked/
        : /^data: \{"error":\{"type":"authentication_error","code":"key_revoked"/,
    )
    expect(rest.endsWith('data: [DONE]\n\n')).toBe(true)
    const asked = await world.mock.request(0)
    await asked.ended
    expect(asked.outcome).toBe('aborted')
  })

  test('who accepts nothing makes the provider wait, and gets everything in the end', async () => {
    const piece = 'x'.repeat(64 * 1024)
    const pieces = 800 // 50 MB, more than all buffers between hold
    world.mock.script({ parts: [{ text: Array<string>(pieces).fill(piece) }] })
    const answer = await openByHand(path)
    const asked = await world.mock.request(0)
    let before = -1
    expect(
      await pollUntil(
        () => {
          const stands = asked.characters === before && before > 0
          before = asked.characters
          return stands
        },
        { limitMs: 20_000, everyMs: 300 },
      ),
    ).toBe(true)
    expect(asked.characters).toBeLessThan(pieces * piece.length)
    let bytes = 0
    let end = ''
    answer.on('data', (data: Buffer) => {
      bytes += data.length
      end = (end + data.toString('latin1')).slice(-200)
    })
    await once(answer, 'end')
    expect(bytes).toBeGreaterThan(pieces * piece.length)
    expect(end.endsWith('data: [DONE]\n\n')).toBe(true)
  }, 60_000)
})

/** The answer of a connection from which nothing is read yet. */
async function openByHand(path: string): Promise<IncomingMessage> {
  const asking = httpRequest(`${world.berth.url}/llm${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${world.key}` },
  })
  asking.end(JSON.stringify(bodies[path]))
  const [answer] = (await once(asking, 'response')) as [IncomingMessage]
  return answer
}

test.each(['test/plain', 'test/signed'])(
  'who leaves before the first word of %s pays for what its provider has read, not for what it refused',
  async (model) => {
    const { db } = world.berth.services
    const [before] = await findAll<{ last: string }>(
      db,
      sql`select id as last from inference_requests where model = ${model} order by id desc limit 1`,
    ) // of a test before this one
    const row = () =>
      findOne<{ status: string; upstream: string | null; inputTokens: number; outputTokens: number }>(
        db,
        sql`
    select status, upstream, input_tokens, output_tokens from inference_requests where model = ${model} and id > coalesce(${before?.last ?? null}::uuid, '00000000-0000-0000-0000-000000000000') order by id desc limit 1`,
      )
    world.mock.script({ parts: [{ hang: true }] })
    const leaving = new AbortController()
    const answer = world.post(
      '/v1/chat/completions',
      { model, stream: true, messages: [{ role: 'user', content: 'x'.repeat(400) }] },
      { signal: leaving.signal },
    )
    await until('the ledger knows that the provider has it', async () => ((await row())?.inputTokens ?? 0) > 0)
    leaving.abort()
    await expect(answer).rejects.toThrow()
    await until('the request is settled', async () => (await row())?.status === 'cut_by_client')
    expect(await row()).toMatchObject({ upstream: model === 'test/plain' ? 'local' : 'anthropic', inputTokens: 100 })

    world.mock.script({ status: 400, body: '{"error":{"message":"No."}}' })
    await world.post('/v1/chat/completions', {
      model,
      stream: true,
      messages: [{ role: 'user', content: 'x'.repeat(400) }],
    })
    expect(await row()).toEqual({ status: 'failed', upstream: null, inputTokens: 0, outputTokens: 0 })
  },
)

describe('a silent stream', () => {
  test('sends a heartbeat every ten seconds, and continues afterwards', async () => {
    let go: () => void = () => undefined
    world.mock.script({
      parts: [{ text: 'half' }, { wait: new Promise<void>((resolve) => (go = resolve)) }, { text: ' and half' }],
    })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const { reader } = await readUntil(
        await world.post('/v1/chat/completions', bodies['/v1/chat/completions']),
        'half',
      )
      for (let beat = 1; beat <= 2; beat++) {
        vi.advanceTimersByTime(10_000)
        expect(new TextDecoder().decode((await reader.read()).value)).toBe(': ping\n\n')
      }
      go()
      const rest = await readRest(reader)
      expect(rest).toContain('{"content":" and half"}')
      expect(rest).not.toContain('ping')
    } finally {
      vi.useRealTimers()
    }
  })

  test.each(paths)(
    'of %s whose provider is silent from the start is opened by the first sign of life',
    async (path) => {
      let go: () => void = () => undefined
      world.mock.script({ before: new Promise<void>((resolve) => (go = resolve)), parts: [{ text: 'late' }] })
      const { answer, reader } = await openByHeartbeat(path)
      expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
      expect(answer.headers.get('x-vercel-ai-ui-message-stream')).toBe(path === '/v1/chat' ? 'v1' : null)
      go()
      const rest = await readRest(reader)
      expect(rest.startsWith(': x-berth-upstream: local\n: x-berth-attempts: 1\n\ndata: {')).toBe(true) // too late for headers
      expect(rest).toContain('"late"')
      expect(rest.endsWith('data: [DONE]\n\n')).toBe(true)
    },
  )

  test.each(paths)(
    'of %s that fails after its first sign of life tells it in the stream, and its idempotency key asks again',
    async (path) => {
      let go: () => void = () => undefined
      const headers = { 'idempotency-key': `late${path}` }
      world.mock.script({
        before: new Promise<void>((resolve) => (go = resolve)),
        status: 400,
        headers: { 'content-type': 'application/json' },
        body: '{"error":{"message":"The prompt is odd."}}',
      })
      const { answer, reader } = await openByHeartbeat(path, headers)
      go()
      const message = 'The upstream local refused the request: The prompt is odd.'
      const error = {
        type: 'invalid_request_error',
        code: 'invalid_parameter',
        message,
        param: null,
        request_id: answer.headers.get('x-request-id'),
        service_id: 'local',
      }
      const told = path === '/v1/chat' ? [{ type: 'error', errorText: message }, { type: 'finish' }] : [{ error }]
      expect(await readRest(reader)).toBe(
        `${told.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('')}data: [DONE]\n\n`,
      )
      expect(await (await world.post(path, bodies[path], { headers })).text()).toContain('Mock ')
    },
  )
})

/** Asks a provider that is silent, lets ten seconds pass, and reads the sign of life. */
async function openByHeartbeat(
  path: string,
  headers = {},
): Promise<{ answer: Response; reader: ReadableStreamDefaultReader<Uint8Array> }> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const answering = world.post(path, bodies[path], { headers })
    await world.mock.request(0)
    vi.advanceTimersByTime(10_000)
    const answer = await answering
    expect(answer.status).toBe(200)
    const reader = answer.body!.getReader() // a stream has a body
    expect(new TextDecoder().decode((await reader.read()).value)).toBe(': ping\n\n')
    return { answer, reader }
  } finally {
    vi.useRealTimers()
  }
}

async function readRest(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  let rest = ''
  for (let read = await reader.read(); !read.done; read = await reader.read())
    rest += new TextDecoder().decode(read.value)
  return rest
}

test('a Berth that stops says so in its open streams, and ends its requests at the provider', async () => {
  const other = await startChatWorld()
  other.mock.script({ parts: [{ text: 'half' }, { hang: true }] })
  const { reader } = await readUntil(await other.post('/v1/chat/completions', bodies['/v1/chat/completions']), 'half')
  const stopping = other.stop()
  const rest = new TextDecoder().decode((await reader.read()).value)
  expect(rest).toContain('"code":"credential_authority_unavailable"')
  expect(rest.endsWith('data: [DONE]\n\n')).toBe(true)
  await stopping
  expect(other.mock.requests[0]?.outcome).toBe('aborted')
})
