/** Answers that are compressed and bodies that arrive so: who gets which, and what a small body that unpacks to a large one may cost. */
import { brotliCompressSync, deflateSync, gunzipSync, gzipSync, brotliDecompressSync } from 'node:zlib'
import { request as send } from 'undici'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { preferredEncoding } from '#src/platform/compression.ts'
import { limits } from '#src/platform/limits.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { makeRefusingNode } from '../contract/callers.ts'
import { makeVmRow } from '../support/makers.ts'
import { keptBytes, mostKeptBytes } from '../support/stalls/memory.ts'

let berth: Berth
let token: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token()
  const node = await makeRefusingNode(berth)
  for (let made = 0; made < 20; made++) await makeVmRow(berth.services.db, token, node)
})
afterAll(() => berth.stop())

const ask = async (
  path: string,
  headers: Record<string, string> = {},
): Promise<{ headers: Record<string, string | string[] | undefined>; bytes: Buffer; status: number }> => {
  const answer = await send(berth.url + path, { headers: { authorization: `Bearer ${token}`, ...headers } })
  return { status: answer.statusCode, headers: answer.headers, bytes: Buffer.from(await answer.body.arrayBuffer()) }
}

describe('an answer', () => {
  const paths = [
    '/api/v1/vms',
    '/api/v1/openapi.json',
    '/agents/openapi.json',
    '/graphql/schema.graphql',
    '/docs',
    '/README.md',
    '/',
    '/graphql?query=%7B__schema%7Btypes%7Bname%20description%7D%7D%7D',
  ]

  test.each(paths)(
    '%s is sent as brotli or gzip to who can read it, is the same text, and says what it depends on',
    async (path) => {
      const plain = await ask(path)
      expect(plain.headers['content-encoding']).toBeUndefined()
      for (const [accepts, unpack] of [
        ['br', brotliDecompressSync],
        ['gzip', gunzipSync],
      ] as const) {
        const packed = await ask(path, { 'accept-encoding': accepts })
        expect([packed.headers['content-encoding'], packed.headers['vary']]).toEqual([
          accepts,
          expect.stringContaining('accept-encoding'),
        ])
        expect(unpack(packed.bytes).equals(plain.bytes)).toBe(true)
        expect(packed.bytes.length).toBeLessThan(plain.bytes.length)
        expect(Number(packed.headers['content-length'])).toBe(packed.bytes.length)
      }
      expect(plain.headers['vary']).toContain('accept-encoding')
    },
  )

  test.each(paths.slice(1, 6))('%s is sent once: who has it gets 304', async (path) => {
    const { headers } = await ask(path, { 'accept-encoding': 'br' })
    const again = await ask(path, { 'if-none-match': `"other", ${String(headers['etag'])}` })
    expect([again.status, again.bytes.length]).toEqual([304, 0])
  })

  test('that is small, or of the chat routes, is not compressed', async () => {
    const key = { 'accept-encoding': 'br, gzip', 'content-type': 'application/json' }
    expect((await ask('/healthz', key)).headers['content-encoding']).toBeUndefined()
    const chat = await send(`${berth.url}/llm/v1/chat/completions`, {
      method: 'POST',
      headers: { ...key, authorization: `Bearer ${token}` },
      body: JSON.stringify({
        model: 'berth/demo',
        messages: [{ role: 'user', content: `!say ${'word '.repeat(500)}` }],
      }),
    })
    expect([chat.statusCode, chat.headers['content-encoding']]).toEqual([200, undefined])
    expect((await chat.body.text()).length).toBeGreaterThan(2_000)
  })

  test('has the encoding that its client prefers', () => {
    for (const [header, encoding] of [
      ['gzip, deflate, br', 'br'],
      ['gzip', 'gzip'],
      ['br;q=0.5, gzip;q=0.8', 'gzip'],
      ['br;q=0, gzip;q=0', null],
      ['*', 'br'],
      ['*;q=0', null],
      ['identity', null],
      ['', null],
      ['deflate', null],
      ['GZIP', 'gzip'],
      ['gzip;q=x', null],
    ] as const) {
      expect([header, preferredEncoding(header)]).toEqual([header, encoding])
    }
  })
})

describe('a body', () => {
  const body = { query: '{ viewer { organization { name } } }' }
  const post = async (
    path: string,
    bytes: Buffer | string,
    headers: Record<string, string>,
  ): Promise<[status: number, text: string]> => {
    const answer = await send(berth.url + path, {
      method: 'POST',
      body: bytes,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, ...headers },
    })
    return [answer.statusCode, await answer.body.text()]
  }
  const packers = [
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['GZip', gzipSync],
  ] as const

  test.each(packers)('that is packed as %s is read on every surface', async (encoding, pack) => {
    expect(await post('/graphql', pack(JSON.stringify(body)), { 'content-encoding': encoding })).toEqual([
      200,
      expect.stringContaining('acme'),
    ])
    expect(
      (
        await post('/agents/v1/environments', pack(JSON.stringify({ name: `packed ${encoding}` })), {
          'content-encoding': encoding,
        })
      )[0],
    ).toBe(201)
    expect(
      (
        await post(
          '/llm/v1/chat/completions',
          pack(JSON.stringify({ model: 'berth/demo', messages: [{ role: 'user', content: 'x' }] })),
          { 'content-encoding': encoding },
        )
      )[0],
    ).toBe(200)
  })

  test.each(packers)(
    'that is small as %s and large unpacked is 413, costs little memory, and the connection goes on',
    async (encoding, pack) => {
      const bomb = pack(Buffer.alloc(200 * 1024 * 1024, 0x20))
      expect(bomb.length).toBeLessThan(limits.infraBodyBytes)
      const before = await keptBytes()
      const both = Promise.all(
        ['/api/v1/vms', '/graphql'].map((path) => post(path, bomb, { 'content-encoding': encoding })),
      )
      expect((await mostKeptBytes(both)) - before).toBeLessThan(20 * 1024 * 1024)
      const [vms, graphql] = await both
      expect(vms).toEqual([413, expect.stringContaining('request_too_large')])
      expect(graphql?.[0]).toBe(413)
      expect((await ask('/healthz')).status).toBe(200)
    },
  )

  test('that is not what its header says is 400, in the form of its surface', async () => {
    const whole = gzipSync(JSON.stringify(body))
    for (const bytes of [
      Buffer.from(JSON.stringify(body)),
      whole.subarray(0, whole.length - 12),
      Buffer.from([0x1f, 0x8b]),
    ]) {
      expect(await post('/api/v1/vms', bytes, { 'content-encoding': 'gzip' })).toEqual([
        400,
        expect.stringContaining('"invalid_request"'),
      ])
      expect(await post('/graphql', bytes, { 'content-encoding': 'gzip' })).toEqual([
        400,
        expect.stringContaining('INVALID_REQUEST'),
      ])
    }
  })

  test('in another encoding is 415, with a sentence that names the supported ones', async () => {
    for (const encoding of ['compress', 'zstd', 'gzip, gzip', 'nonsense']) {
      expect(await post('/api/v1/vms', '{}', { 'content-encoding': encoding })).toEqual([
        415,
        expect.stringMatching(/unsupported_encoding.*gzip, deflate or br/),
      ])
      expect(await post('/agents/v1/agents', '{}', { 'content-encoding': encoding })).toEqual([
        415,
        expect.stringContaining('invalid_request_error'),
      ])
      expect(await post('/graphql', '{}', { 'content-encoding': encoding })).toEqual([
        415,
        expect.stringContaining('UNSUPPORTED_ENCODING'),
      ])
    }
  })

  test('under an Idempotency-Key is the same request compressed and plain', async () => {
    const key = { 'idempotency-key': 'packed-and-plain' }
    const text = JSON.stringify({ name: 'once' })
    const first = await post('/agents/v1/environments', text, key)
    expect(await post('/agents/v1/environments', gzipSync(text), { ...key, 'content-encoding': 'gzip' })).toEqual(first)
  })

  test('whose sender leaves in the middle is not logged as a failure', async () => {
    const half = gzipSync(Buffer.alloc(500_000, 'x')).subarray(0, 100)
    await expect(
      send(`${berth.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-encoding': 'gzip', 'content-length': '1000' },
        body: half,
      }),
    ).rejects.toThrow()
    expect((await ask('/healthz')).status).toBe(200)
  })
})
