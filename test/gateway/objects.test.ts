/** The object store: files put and fetched by signed addresses, from the folder of this host and from a service that speaks S3. */
import { existsSync, readdirSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isObjectKey, keyOfUrl } from '#src/drivers/objects/store.ts'
import { objectStore } from '#src/drivers/objects.ts'
import { readConfig } from '#src/platform/config.ts'
import { shiftClock } from '#src/platform/clock.ts'
import { sha256 } from '#src/platform/secrets.ts'
import { newUuid } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { uploadKey } from '#src/resources/infra/uploads.ts'
import { idsOf } from '../support/makers.ts'
import { startApp, type RunningApp } from './running-app.ts'

let running: RunningApp
beforeAll(async () => {
  running = await startApp({ settings: { BERTH_PUBLIC_URL: 'http://berth.example' } })
})
afterAll(() => running.stop())

const store = () => objectStore(running.services)
const text = async (key: string): Promise<string> => (await (await store().read(key)).toArray()).join('')
/** The signed address as it is reached in this test. */
const signed = async (method: 'GET' | 'PUT', key: string, expiresInSeconds = 60): Promise<string> =>
  (await store().signedUrl(method, key, { expiresInSeconds, fileName: 'a.tar.gz' })).replace(
    'http://berth.example',
    running.url,
  )

describe('the folder of this host', () => {
  test('keeps a stream whole, with its size and digest, and removes it', async () => {
    const put = await store().put(
      'builds/a/b.tar.gz',
      Readable.from([Buffer.from('hello '), Buffer.from('files')]),
      100,
    )
    expect(put).toEqual({ sizeBytes: 11, sha256: sha256('hello files').toString('hex') })
    expect(await text('builds/a/b.tar.gz')).toBe('hello files')
    expect(await store().find('builds/a/b.tar.gz')).toEqual({ sizeBytes: 11 })
    await store().remove('builds/a/b.tar.gz')
    await store().remove('builds/a/b.tar.gz')
    expect(await store().find('builds/a/b.tar.gz')).toBeUndefined()
    await expect(store().read('builds/a/b.tar.gz')).rejects.toMatchObject({ code: 'not_found' })
  })

  test('keeps nothing of a stream that is too long or is cut off', async () => {
    await expect(store().put('long', Readable.from([Buffer.alloc(60), Buffer.alloc(60)]), 100)).rejects.toMatchObject({
      code: 'request_too_large',
    })
    const breaking = Readable.from(
      (async function* () {
        yield Buffer.alloc(10)
        throw new Error('broke off')
      })(),
    )
    await expect(store().put('broken', breaking, 100)).rejects.toThrow('broke off')
    expect([await store().find('long'), await store().find('broken')]).toEqual([undefined, undefined])
    expect(readdirSync(join(running.services.config.dataDir, 'objects', 'incoming'))).toEqual([])
  })

  test('is written and read with signed URLs, completely, in parts and without a body', async () => {
    const { organizationId } = idsOf(await running.token())
    const id = newUuid()
    await sql`insert into uploads (id, organization_id, expires_at) values (${id}, ${organizationId}, now())`.execute(
      running.services.db,
    )
    const key = uploadKey(organizationId, id)
    const put = await fetch(await signed('PUT', key), { method: 'PUT', body: Buffer.from('0123456789') })
    expect([put.status, await put.text()]).toEqual([200, ''])
    const address = await signed('GET', key)
    const whole = await fetch(address)
    expect([
      whole.status,
      await whole.text(),
      whole.headers.get('content-disposition'),
      whole.headers.get('content-type'),
    ]).toEqual([200, '0123456789', 'attachment; filename="a.tar.gz"', 'application/octet-stream'])
    const part = async (range: string): Promise<unknown[]> => {
      const answer = await fetch(address, { headers: { range } })
      return [answer.status, await answer.text(), answer.headers.get('content-range')]
    }
    expect(await part('bytes=2-4')).toEqual([206, '234', 'bytes 2-4/10'])
    expect(await part('bytes=7-')).toEqual([206, '789', 'bytes 7-9/10'])
    expect(await part('bytes=-3')).toEqual([206, '789', 'bytes 7-9/10'])
    expect(await part('bytes=5-99')).toEqual([206, '56789', 'bytes 5-9/10'])
    expect(await part('bytes=10-')).toEqual([416, '', 'bytes */10'])
    for (const odd of ['bytes=4-2', 'bytes=-', 'bytes=0-1,3-4', 'lines=1-2'])
      expect([odd, ...(await part(odd))]).toEqual([odd, 200, '0123456789', null])
    const head = await fetch(address, { method: 'HEAD' })
    expect([head.status, head.headers.get('content-length')]).toEqual([200, '10'])
  })

  test('refuses every URL that was not signed for this file, this method and this time', async () => {
    await store().put('secret/file', Readable.from([Buffer.from('x')]), 10)
    const address = await signed('GET', 'secret/file')
    const changed = [
      running.url + '/objects/secret/file',
      address.replace('secret/file', 'secret/other'),
      address.replace('X-Amz-Expires=60', 'X-Amz-Expires=6000'),
      `${address}&response-content-disposition=inline`,
      address.replace(/X-Amz-Signature=.{4}/, 'X-Amz-Signature=AAAA'),
      `${address}&X-Amz-Signature=AAAA`,
      `${address}&${/X-Amz-Signature=[^&]*/.exec(address)?.[0]}`,
      `${address}&X-Amz-Expires=60`,
      address.replace('a.tar.gz', 'b.html'),
      address.replace('secret/file', 'secret/..%2F..%2Fsecret.key'),
      await signed('PUT', 'secret/file'),
    ]
    for (const one of changed) expect([one, (await fetch(one)).status]).toEqual([one, 403])
    expect((await fetch(address, { method: 'PUT', body: 'y' })).status).toBe(403)
    expect((await fetch(address)).status).toBe(200)
    shiftClock(61_000)
    try {
      expect((await fetch(address)).status).toBe(403)
    } finally {
      shiftClock(0)
    }
  })

  test('accepts no key that leads out of it', () => {
    for (const key of [
      '../x',
      'a/../b',
      '/a',
      'a//b',
      'a/',
      '.hidden',
      'a/.b',
      'a\\b',
      'a b',
      '',
      'x'.repeat(513),
      'a\0',
    ])
      expect([key, isObjectKey(key)]).toEqual([key, false])
    expect(isObjectKey('compute/org_01/upl_01.tar-gz')).toBe(true)
    expect(keyOfUrl(store(), 'http://berth.example/objects/compute/o/u')).toBe('compute/o/u')
    for (const url of [
      'http://berth.example/objects/../x',
      'http://other.example/objects/a',
      'http://berth.example/objects/a?b=c',
    ])
      expect(keyOfUrl(store(), url)).toBeUndefined()
    expect(existsSync(join(running.services.config.dataDir, 'objects', 'files', 'secret', 'file'))).toBe(true)
  })
})

describe('a service that speaks S3', () => {
  let server: Server
  const kept = new Map<string, Buffer>()
  const asked: string[] = []
  beforeAll(async () => {
    server = createServer(
      (request, response) =>
        void answer(request.method ?? '', new URL(request.url ?? '/', 'http://s3'), request, response),
    )
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  })
  afterAll(() => server.close())

  /** Enough of S3 to see what we send: it insists on a signature and on a length. */
  async function answer(method: string, url: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
    asked.push(`${method} ${url.pathname}`)
    if (
      !/^[0-9a-f]{64}$/.test(url.searchParams.get('X-Amz-Signature') ?? '') ||
      !url.searchParams.get('X-Amz-Credential')?.startsWith('key-id/')
    )
      return void response.writeHead(403).end()
    if (method === 'PUT') {
      if (request.headers['content-length'] === undefined) return void response.writeHead(411).end()
      kept.set(url.pathname, Buffer.concat((await request.toArray()) as Buffer[]))
      return void response.end()
    }
    const file = kept.get(url.pathname)
    if (method === 'DELETE') return void response.writeHead(kept.delete(url.pathname) ? 204 : 404).end()
    if (!file) return void response.writeHead(404).end()
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(String(request.headers['range'] ?? '')) ?? []
    const part = first === undefined ? file : file.subarray(Number(first), Number(last) + 1)
    response.writeHead(200, { 'content-length': part.length }).end(method === 'HEAD' ? undefined : part)
  }

  test('is used when its four settings are there, and has all of the same', async () => {
    const { port } = server.address() as AddressInfo
    const config = readConfig({
      BERTH_S3_ENDPOINT: `http://127.0.0.1:${port}/`,
      BERTH_S3_BUCKET: 'bucket',
      BERTH_S3_ACCESS_KEY_ID: 'key-id',
      BERTH_S3_SECRET_ACCESS_KEY: 'key-secret',
      BERTH_DATA_DIR: running.services.config.dataDir,
    })
    const s3 = objectStore({ config, sealer: running.services.sealer })
    expect(await s3.put('compute/o/u', Readable.from([Buffer.from('0123456789')]), 100)).toEqual({
      sizeBytes: 10,
      sha256: sha256('0123456789').toString('hex'),
    })
    expect(await s3.find('compute/o/u')).toEqual({ sizeBytes: 10 })
    expect((await (await s3.read('compute/o/u', { startByte: 2, endByte: 4 })).toArray()).join('')).toBe('234')
    const address = await s3.signedUrl('GET', 'compute/o/u', { expiresInSeconds: 1800 })
    expect(new URL(address).searchParams.get('X-Amz-Expires')).toBe('1800')
    expect(address).not.toContain('key-secret')
    expect(await (await fetch(address)).text()).toBe('0123456789')
    expect(s3.canonicalUrl('compute/o/u')).toBe(`http://127.0.0.1:${port}/bucket/compute/o/u`)
    await s3.remove('compute/o/u')
    await s3.remove('compute/o/u')
    expect(await s3.find('compute/o/u')).toBeUndefined()
    await expect(s3.read('compute/o/u')).rejects.toMatchObject({ code: 'not_found' })
    expect(asked[0]).toBe('PUT /bucket/compute/o/u')
  })

  test('with incomplete settings is refused at start', () => {
    expect(() => readConfig({ BERTH_S3_BUCKET: 'bucket' })).toThrow('belong together')
  })
})
