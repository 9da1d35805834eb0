/** Whatever goes wrong below a client's own base URL is answered in the error that this client reads. */
import { request as sendRaw } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startBerth, type Berth } from '../support/berth.ts'

let berth: Berth
let token: string
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token()
})
afterAll(() => berth.stop())

const anthropic = { 'anthropic-version': '2023-06-01' }
const anthropicError = {
  type: 'error',
  error: { type: expect.any(String), message: expect.any(String) },
  request_id: expect.any(String),
}
const openaiError = {
  error: { type: expect.any(String), message: expect.any(String), code: expect.any(String), param: null },
}

type Base = { base: string; headers?: Record<string, string>; read: object; list: string; post: string }
const bases: Base[] = [
  { base: '/anthropic', read: anthropicError, list: '/v1/models', post: '/v1/messages' },
  { base: '/anthropic', read: anthropicError, list: '/v1/agents', post: '/v1/agents' },
  { base: '/llm', headers: anthropic, read: anthropicError, list: '/v1/models', post: '/v1/messages' },
  { base: '/llm/v1/messages', read: anthropicError, list: '/x', post: '/count_tokens' },
  { base: '/agents', read: anthropicError, list: '/v1/agents', post: '/v1/agents' },
  { base: '/llm/v1', read: openaiError, list: '/models', post: '/chat/completions' },
  { base: '/llm/v1', read: openaiError, list: '/models', post: '/responses' },
  { base: '/llm/v1', read: openaiError, list: '/models', post: '/embeddings' },
]

type Said = { status: number; body: unknown }
/** Sends a request as it stands: `fetch` would correct the path, and not say the length of a body that it does not send. */
function ask(method: string, path: string, headers: Record<string, string>, body = ''): Promise<Said> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(berth.url)
    const asked = sendRaw({ method, hostname, port, path, headers, agent: false }, (answer) => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', (piece: string) => (text += piece))
      answer.on('end', () => {
        asked.destroy()
        resolve({ status: answer.statusCode ?? 0, body: text === '' ? null : (JSON.parse(text) as unknown) })
      })
    })
    asked.on('error', reject)
    if (headers['content-length'] === undefined) asked.end(body)
    else asked.flushHeaders()
  })
}

describe.each(bases)('below $base, with $list and $post,', ({ base, headers = {}, read, list, post }) => {
  const json = { 'content-type': 'application/json', ...headers }
  const known = (): Record<string, string> => ({ ...json, authorization: `Bearer ${token}` })

  test.each<[string, number, () => Promise<Said>]>([
    ['the base itself', 404, () => ask('GET', base, known())],
    ['a path that is not there', 404, () => ask('GET', `${base}/v1/nothing/like/it`, known())],
    ['a path below a known one', 404, () => ask('POST', `${base}${post}/batches/x`, known(), '{}')],
    ['a method that is not there', 404, () => ask('PUT', base + list, known(), '{}')],
    ['a path that is not percent-encoded', 400, () => ask('GET', `${base}/%zz`, known())],
    ['nobody', 401, () => ask('POST', base + post, json, '{}')],
    ['a body that is no JSON', 400, () => ask('POST', base + post, known(), '{"model":')],
    ['a body of another type', 400, () => ask('POST', base + post, { ...known(), 'content-type': 'text/csv' }, 'a,b')],
    [
      'a body that is packed in no known way',
      415,
      () => ask('POST', base + post, { ...known(), 'content-encoding': 'x' }, '{}'),
    ],
    ['a body without what is required', 400, () => ask('POST', base + post, known(), '{}')],
    [
      'a body that is too large',
      413,
      () => ask('POST', base + post, { ...known(), 'content-length': String(40 * 1024 ** 2) }),
    ],
  ])('%s is answered %i in the client’s envelope', async (_, status, asking) => {
    expect(await asking()).toEqual({ status, body: containing(read) })
  })
})

test('a client that has no base URL at all is answered as its kind', async () => {
  for (const [path, read] of [
    ['/v1/messages', anthropicError],
    ['/v1/messages/count_tokens', anthropicError],
    ['/v1/chat/completions', openaiError],
    ['/responses', openaiError],
  ] as const)
    expect([path, await ask('POST', path, { 'content-type': 'application/json' }, '{}')]).toEqual([
      path,
      { status: 404, body: containing(read) },
    ])
})

test('what too many requests is answered with is in the client’s envelope', async () => {
  const authorization = `Bearer ${await berth.token('hasty', 'hasty-organization')}`
  const asking = async (method: string, path: string, headers: Record<string, string>): Promise<Said> => {
    const given = { ...headers, 'content-type': 'application/json', authorization }
    const answer = await fetch(berth.url + path, {
      method,
      headers: given,
      ...(method === 'GET' ? {} : { body: '{}' }),
    })
    return { status: answer.status, body: await answer.json() }
  }
  for (const { base, headers = {}, read, list, post } of bases)
    for (const [method, path] of [
      ['GET', base + list],
      ['POST', base + post],
    ] as const) {
      let said = [await asking(method, path, headers)]
      if (said[0]?.status === 404) continue
      for (let times = 0; times < 20 && said.every(({ status }) => status !== 429); times++)
        said = await Promise.all(Array.from({ length: 100 }, () => asking(method, path, headers)))
      expect([path, said.find(({ status }) => status === 429)?.body]).toEqual([path, containing(read)])
    }
})

/** A body with these fields among others. Only Anthropic's has a `type`. */
function containing(read: object): unknown {
  return read === openaiError
    ? { error: expect.objectContaining(openaiError.error) as unknown }
    : expect.objectContaining({ ...read, error: expect.objectContaining(anthropicError.error) as unknown })
}
