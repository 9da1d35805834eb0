/** What the hosts of a machine's secrets answer: a secret in it is masked, however it comes, and all else stays as it is. */
import type { ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { searchedBodyBytesMax } from '#src/drivers/compute/egress/secrets.ts'
import type { EgressWorld } from '../../support/egress-world.ts'
import { securedWorldForEach, type SecuredWorld } from '../../support/secured-world.ts'

let secured: SecuredWorld
let world: EgressWorld
securedWorldForEach((fresh) => {
  secured = fresh
  world = fresh.world
})

const stars = '*'.repeat('the-secret'.length)
/** What comes back of an answer to a request that carries the secret. */
async function answered(
  answer: (res: ServerResponse, key: string) => void,
  args: readonly string[] = [],
): Promise<string> {
  const placeholder = world.give()
  secured.handler = (req, res) => void req.resume().on('end', () => answer(res, String(req.headers['x-key'])))
  const { code, body, error } = await secured.curl(['-i', '-H', `X-Key: ${placeholder}`, ...args, secured.url()])
  expect(code, error).toBe(0)
  expect(secured.seen.at(-1)?.headers['x-key']).toBe('the-secret')
  expect(body).not.toContain('the-secret')
  return body
}

describe('TRACE', () => {
  test('is refused with 405, and the host is not asked', async () => {
    const { body, code } = await secured.curl(['-i', '-X', 'TRACE', '-H', `X-Key: ${world.give()}`, secured.url()])
    expect(code).toBe(0)
    expect(body).toMatch(
      /^HTTP\/1\.1 405 Method Not Allowed \(Berth: TRACE\)\r\n[^]*allow: GET, HEAD[^]*TRACE is not passed on to this host/i,
    )
    expect(secured.seen).toEqual([])
  })
})

describe('a secret in an answer', () => {
  test('is masked in headers and in a body whose length was announced', async () => {
    const body = await answered((res, key) =>
      res
        .writeHead(200, { 'x-echo': `a ${key}`, 'set-cookie': `k=${key}`, 'content-length': 30 })
        .end(`you sent the key ${key}...`),
    )
    expect(body).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*x-echo: a \*\*\*\r\n/)
    expect(body).toMatch(/content-length: 30\r\n/i)
    expect(body.endsWith(`you sent the key ${stars}...`)).toBe(true)
  })

  test('is masked when it comes byte by byte, and everything else is unchanged', async () => {
    const body = await answered((res, key) => {
      const pieces = Array.from(`${key} the-sec ond ${key.slice(0, -1)}! ${key}${key}`)
      const next = (): unknown => (pieces.length > 0 ? res.write(pieces.shift(), () => setImmediate(next)) : res.end())
      next()
    })
    expect(body.endsWith(`${stars} the-sec ond the-secre! ${stars}${stars}`)).toBe(true)
  })

  test('is masked in the encodings of base64, JSON and URLs', async () => {
    world.give({ secret: 'a "quoted" secret/ü' })
    const secret = 'a "quoted" secret/ü'
    const body = await answered((res) =>
      res.end(
        [JSON.stringify(secret), encodeURIComponent(secret), Buffer.from(`user:${secret}`).toString('base64')].join(
          '\n',
        ),
      ),
    )
    const lines = body.split('\r\n\r\n')[1]?.split('\n') ?? []
    expect(lines.slice(0, 2).map((line) => line.replaceAll('*', ''))).toEqual(['""', ''])
    expect(Buffer.from(lines[2]?.replaceAll('*', '') ?? '', 'base64').toString('latin1')).not.toContain('quoted')
  })

  test.each([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ] as const)('is masked when a host packs it with %s all the same', async (coding, pack) => {
    const body = await answered(
      (res, key) => {
        const packed = pack(`${'x'.repeat(20_000)}${key}`)
        res.writeHead(200, { 'content-encoding': coding, 'content-length': packed.length }).end(packed)
      },
      ['-H', 'Accept-Encoding: gzip, br'],
    )
    expect(secured.seen.at(-1)?.headers['accept-encoding']).toBe('identity')
    expect(body).not.toMatch(/^content-encoding|^content-length/im)
    expect(body.endsWith(`${'x'.repeat(20_000)}${stars}`)).toBe(true)
  })

  test('is masked under two codings; what cannot be unpacked is answered with 502 instead, and what is broken is cut', async () => {
    expect(
      (
        await answered((res, key) =>
          res.writeHead(200, { 'content-encoding': 'br, gzip' }).end(gzipSync(brotliCompressSync(key))),
        )
      ).endsWith(stars),
    ).toBe(true)
    for (const [status, coding] of [
      [200, 'rot13'],
      [206, 'gzip'],
      [200, 'gzip, gzip, gzip, gzip'],
    ] as const) {
      expect(await answered((res, key) => res.writeHead(status, { 'content-encoding': coding }).end(key))).toMatch(
        /^HTTP\/1\.1 502 [^]*cannot be searched for secrets of this VM/,
      )
    }
    const placeholder = world.give()
    secured.handler = (_req, res) => void res.writeHead(200, { 'content-encoding': 'gzip' }).end('no gzip')
    expect((await secured.curl(['-H', `X-Key: ${placeholder}`, secured.url()])).code).not.toBe(0)
  })

  test('of HEAD and without a body keeps its headers', async () => {
    expect(
      await answered((res) => res.writeHead(200, { 'content-encoding': 'gzip', 'content-length': 77 }).end(), ['-I']),
    ).toMatch(/content-encoding: gzip\r\ncontent-length: 77/i)
    expect(await answered((res) => res.writeHead(304, { etag: '"x"' }).end())).toMatch(/^HTTP\/1\.1 304 [^]*etag: "x"/)
  })

  test('is masked after its credential is gone, and for requests that name another site of the host', async () => {
    const placeholder = world.give()
    await secured.send(['-H', `X-Key: ${placeholder}`])
    world.secrets.clear()
    world.give({ secret: 'another-secret' })
    secured.handler = (_req, res) => void res.end('kept: the-secret')
    expect((await secured.curl([secured.url()])).body).toBe(`kept: ${stars}`)
    expect((await secured.curl(['-H', 'Host: evil.test', secured.url()])).body).toBe(`kept: ${stars}`)
  })

  test('with more secrets than can be masked together is not requested: the guest is told so', async () => {
    for (let each = 0; each < 20; each++) world.give({ secret: `${each}${'s'.repeat(searchedBodyBytesMax * 2)}` })
    expect((await secured.curl(['-i', secured.url()])).body).toMatch(
      /^HTTP\/1\.1 503 [^]*more secrets for such hosts than can be masked/,
    )
    const inside = await secured.inside()
    inside.write(
      `GET / HTTP/1.1\r\nHost: open.test:${secured.port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    )
    expect(await text(inside)).toMatch(/^HTTP\/1\.1 503 /)
    expect(secured.seen).toEqual([])
  })
})
