/** Files of a real VM as streams: whole, in parts, cut and resumed, as archives, and by signed URLs. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startSha256 } from '#src/platform/secrets.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { until } from '../support/until.ts'

let berth: Berth
let token: string
let vmId: string
const folder = mkdtempSync(join(tmpdir(), 'berth-files-'))

beforeAll(async () => {
  berth = await startBerth({ worker: true, pool: 1 })
  token = await berth.token()
  vmId = (await berth.call<{ vm_id: string }>('POST', '/api/v1/vms', { token, body: {} })).body.vm_id
}, 180_000)
afterAll(async () => {
  await berth.stop()
  rmSync(folder, { recursive: true, force: true })
})

const urlOf = (path: string, format = ''): string =>
  `${berth.url}/api/v1/vms/${vmId}/files?path=${encodeURIComponent(path)}${format && `&format=${format}`}`
const call = (
  method: string,
  path: string,
  options: { headers?: Record<string, string>; body?: BodyInit; format?: string } = {},
) =>
  fetch(urlOf(path, options.format), {
    method,
    headers: { authorization: `Bearer ${token}`, ...options.headers },
    ...(options.body === undefined ? {} : { body: options.body, duplex: 'half' }),
  } as RequestInit)
const exec = async (command: string): Promise<string> => {
  const { status, body } = await berth.call<{ stdout: string }>('POST', `/api/v1/vms/${vmId}/envd/exec`, {
    token,
    body: { command, timeout: 60 },
  })
  expect(status, JSON.stringify(body)).toBe(200)
  return body.stdout
}
const curl = async (...args: string[]): Promise<string> =>
  (await promisify(execFile)('curl', ['-sS', '--max-time', '60', ...args], { encoding: 'latin1', maxBuffer: 1e8 }))
    .stdout
const bytesOf = (length: number, seed = 1): Buffer =>
  Buffer.from(Array.from({ length }, (_, at) => (at * 31 + (at >> 8) * seed) & 0xff))
const digest = (bytes: Uint8Array): string => {
  const hash = startSha256()
  hash.update(Buffer.from(bytes))
  return hash.hex()
}

test('a file goes in and comes out again as it was, with its length, version and parts', async () => {
  const bytes = bytesOf(300_000)
  const put = await call('PUT', '/home/user/a/b/data.bin', { body: new Uint8Array(bytes) })
  expect([put.status, await put.json()]).toEqual([
    200,
    { path: '/home/user/a/b/data.bin', size_bytes: 300_000, complete: true },
  ])
  const got = await call('GET', '/home/user/a/b/data.bin')
  expect(got.status).toBe(200)
  expect(Object.fromEntries(got.headers)).toMatchObject({
    'content-length': '300000',
    'accept-ranges': 'bytes',
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename="data.bin"; filename*=UTF-8''data.bin`,
  })
  expect(digest(await got.bytes())).toBe(digest(bytes))
  const etag = got.headers.get('etag')!
  const part = await call('GET', '/home/user/a/b/data.bin', { headers: { range: 'bytes=299990-', 'if-range': etag } })
  expect([part.status, part.headers.get('content-range'), Buffer.from(await part.bytes())]).toEqual([
    206,
    'bytes 299990-299999/300000',
    bytes.subarray(299_990),
  ])
  const old = await call('GET', '/home/user/a/b/data.bin', { headers: { range: 'bytes=0-9', 'if-range': '"other"' } })
  expect([old.status, (await old.bytes()).length]).toEqual([200, 300_000])
  expect((await call('GET', '/home/user/a/b/data.bin', { headers: { 'if-none-match': etag } })).status).toBe(304)
  const beyond = await call('GET', '/home/user/a/b/data.bin', { headers: { range: 'bytes=300000-' } })
  expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, 'bytes */300000'])
  const head = await call('HEAD', '/home/user/a/b/data.bin')
  expect([
    head.status,
    head.headers.get('content-length'),
    head.headers.get('etag'),
    head.headers.get('upload-offset'),
  ]).toEqual([200, '300000', etag, null])
  expect(await exec('ls -A ~/a/b; stat -c "%U %a" ~/a/b/data.bin')).toBe('data.bin\nuser 644\n')
})

test('an upload that breaks off leaves nothing under its name; HEAD says how much arrived, and curl goes on there', async () => {
  const bytes = bytesOf(3_000_000, 3)
  const path = '/home/user/big.bin'
  await breakOff(path, bytes.subarray(0, 1_000_000), bytes.length)
  expect(await exec('ls ~')).not.toContain('big.bin')
  const head = await call('HEAD', path)
  const offset = Number(head.headers.get('upload-offset'))
  expect([head.status, offset > 0, offset <= 1_000_000]).toEqual([404, true, true])
  const ahead = await call('PUT', path, { headers: { 'content-range': `bytes 2999999-2999999/3000000` }, body: 'x' })
  expect([ahead.status, ahead.headers.get('upload-offset')]).toEqual([409, String(offset)])
  const file = join(folder, 'big.bin')
  writeFileSync(file, bytes)
  const resumed = await curl('-H', `Authorization: Bearer ${token}`, '-C', String(offset), '-T', file, urlOf(path))
  expect(resumed).toBe(JSON.stringify({ path, size_bytes: 3_000_000, complete: true }))
  expect(digest(await (await call('GET', path)).bytes())).toBe(digest(bytes))
  expect(await exec('ls -A ~ | grep upload | wc -l')).toBe('0\n')
})

test('a file of unknown size arrives in parts, and is there when its size is known', async () => {
  const path = '/home/user/parts.bin'
  const put = async (range: string, body: string) => {
    const answer = await call('PUT', path, { headers: { 'content-range': range }, body })
    return [
      answer.status,
      ((await answer.json()) as { size_bytes: number }).size_bytes,
      answer.headers.get('upload-offset'),
    ]
  }
  expect(await put('bytes 0-4/*', 'hello')).toEqual([202, 5, '5'])
  expect(await put('bytes 5-10/*', ' worXX')).toEqual([202, 11, '11'])
  expect((await call('GET', path)).status).toBe(404)
  expect(await put('bytes 9-10/11', 'ld')).toEqual([200, 11, null])
  expect(await (await call('GET', path)).text()).toBe('hello world')
  const chunked = await call('PUT', path, { body: new Blob(['over ', 'written']).stream() })
  expect(await chunked.json()).toMatchObject({ size_bytes: 12, complete: true })
  expect(await exec('cat ~/parts.bin')).toBe('over written')
})

/** Sends the beginning of an upload, waits until it is in the VM, and breaks the connection. */
async function breakOff(path: string, begin: Buffer, length: number): Promise<void> {
  const { port } = new URL(berth.url)
  const { pathname, search } = new URL(urlOf(path))
  const socket = connect(Number(port), '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(
    `PUT ${pathname}${search} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-length: ${length}\r\n\r\n`,
  )
  socket.write(begin)
  await until(
    'something has arrived',
    async () => Number(await exec(`stat -c %s ~/.berth-upload-* 2> /dev/null || echo 0`)) > 500_000,
    30_000,
  )
  socket.destroy()
  await until(
    'the guest has heard of it',
    async () => (await exec('pgrep -c flock; pgrep -fc berth-upload || true')).includes('0'),
    30_000,
  )
}
