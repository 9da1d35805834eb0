/** Files of the agents service: stored, listed, read and deleted, with Anthropic's client, by hand and over GraphQL. */
import Anthropic, { toFile } from '@anthropic-ai/sdk'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { sql } from '#src/platform/postgres.ts'
import { forgetFiles } from '#src/resources/agents/files/retention.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { until } from '../../support/until.ts'
import { problems } from '../anthropic-world.ts'

let berth: Berth
let token: string
let client: Anthropic
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100', BERTH_ORG_FILES_GB: '1' } })
})
afterAll(() => berth.stop())
let people = 0
beforeEach(async () => {
  token = await berth.token(`person-${people++}`)
  client = new Anthropic({ baseURL: `${berth.url}/agents`, apiKey: null, authToken: token, maxRetries: 0 })
})

const files = (): Anthropic['beta']['files'] => client.beta.files
const upload = (content: string | Buffer, name: string, type?: string): Promise<Anthropic.Beta.BetaFileMetadata> =>
  toFile(Buffer.from(content), name, type ? { type } : {}).then((file) => files().upload({ file }))
const ask = (method: string, path: string, body?: unknown, as = token): ReturnType<Berth['call']> =>
  berth.call(method, `/agents/v1/files${path}`, { token: as, ...(body === undefined ? {} : { body }) })
/** How many files are stored, whoever owns them, and how many are arriving. */
const onDisk = (): number => {
  const folder = join(berth.dataDir, 'objects', 'files', 'agents')
  return existsSync(folder)
    ? readdirSync(folder, { recursive: true }).filter((one) => String(one).includes('file_')).length
    : 0
}
const rowCount = async (): Promise<number> =>
  (await sql<{ count: number }>`select count(*)::int as count from files`.execute(berth.services.db)).rows[0]?.count ??
  -1

/** Sends a form as it stands. */
async function send(
  body: string | Buffer,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: { error?: { message: string; code: string }; [key: string]: unknown } }> {
  const answer = await fetch(`${berth.url}/agents/v1/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'multipart/form-data; boundary=b', ...headers },
    body: Buffer.from(body),
  })
  return { status: answer.status, body: (await answer.json()) as never } // the test says what it expects
}
const part = (disposition: string, content: string, more = ''): string =>
  `--b\r\nContent-Disposition: form-data; ${disposition}\r\n${more}\r\n${content}\r\n`
const filePart = part('name="file"; filename="a.txt"', 'hello')

describe('Anthropic’s client', () => {
  test('stores a file, reads, lists, downloads and deletes it', async () => {
    const content = Buffer.alloc(3_000_000, 'abc')
    const made = await upload(content, 'report.txt', 'text/plain')
    expect(made).toEqual({
      id: expect.stringMatching(/^file_[0-9a-z]{26}$/),
      type: 'file',
      filename: 'report.txt',
      mime_type: 'text/plain',
      size_bytes: 3_000_000,
      downloadable: true,
      created_at: expect.any(String),
      expires_at: null,
    })
    expect(problems(made, 'BetaFileMetadata')).toEqual([])
    expect(await files().retrieveMetadata(made.id)).toEqual(made)
    const response = await files().download(made.id)
    expect(
      createHash('sha256')
        .update(Buffer.from(await response.arrayBuffer()))
        .digest('hex'),
    ).toBe(createHash('sha256').update(content).digest('hex'))
    const second = await upload('2', 'two.txt')
    const listed = []
    for await (const file of files().list({ limit: 1 })) listed.push(file)
    expect(listed).toEqual([second, made])
    expect((await files().list({ ids: [made.id, 'file_x', made.id] })).data).toEqual([made])
    const deleted = await files().delete(made.id)
    expect(deleted).toEqual({ id: made.id, type: 'file_deleted' })
    expect(problems(deleted, 'BetaDeletedFile')).toEqual([])
    await expect(files().retrieveMetadata(made.id)).rejects.toMatchObject({ status: 404 })
    await expect(files().download(made.id)).rejects.toMatchObject({ status: 404 })
    await expect(files().delete(made.id)).rejects.toMatchObject({ status: 404 })
  })

  test('stores a file that expires, and one that expired is gone with its bytes', async () => {
    const before = onDisk()
    const file = await files().upload({ file: await toFile(Buffer.from('x'), 'x.txt'), expires_in_seconds: 3600 })
    expect(Date.parse(file.expires_at ?? '') - Date.parse(file.created_at)).toBeGreaterThan(3_590_000)
    await sql`update files set expires_at = now() - interval '1 second' where expires_at is not null`.execute(
      berth.services.db,
    )
    await expect(files().retrieveMetadata(file.id)).rejects.toMatchObject({ status: 404 })
    expect(onDisk()).toBe(before + 1)
    await forgetFiles(berth.services)
    await forgetFiles(berth.services)
    expect(onDisk()).toBe(before)
  })
})

describe('what a file is', () => {
  test.each([
    ['%PDF-1.7', 'a', undefined, 'application/pdf', 'a'],
    ['\x89PNG\r\n\x1a\n..', 'a.bin', 'application/octet-stream', 'image/png', 'a.bin'],
    ['\x89PNG\r\n\x1a\n..', 'a.bin', 'image/x-mine', 'image/x-mine', 'a.bin'],
    ['a,b', 'table.CSV', undefined, 'text/csv', 'table.CSV'],
    ['\0\x01\x02', 'table.csv', undefined, 'application/octet-stream', 'table.csv'],
    ['\0\x01\x02', 'notes.txt', 'text/plain', 'application/octet-stream', 'notes.txt'],
    ['x', 'no-ending', undefined, 'application/octet-stream', 'no-ending'],
    ['x', '/home/me/größe ☃.txt', 'text/plain', 'text/plain', 'größe ☃.txt'],
    ['x', 'C:\\Users\\me\\a.txt', 'text/plain', 'text/plain', 'a.txt'],
  ])('%j as %s with the type %s is %s, named %s', async (content, name, type, mimeType, filename) => {
    expect(await upload(Buffer.from(content, 'latin1'), name, type)).toMatchObject({ mime_type: mimeType, filename })
  })

  test('one without a name gets one with the ending of its type', async () => {
    expect((await send(`${part('name="file"', '%PDF-1')}--b--\r\n`)).body).toMatchObject({ filename: 'unnamed.pdf' })
    expect((await send(`${part('name="file"; filename=""', 'x')}--b--\r\n`)).body).toMatchObject({
      filename: 'unnamed.txt',
    })
  })

  test('an empty one is a file too', async () => {
    const file = await upload('', 'empty.txt', 'text/plain')
    expect(file.size_bytes).toBe(0)
    expect(await (await files().download(file.id)).text()).toBe('')
  })

  test('a browser never opens it: it is an attachment without rights, under its own name', async () => {
    const file = await upload('<script>alert(1)</script>', 'größe "1".html'.replaceAll('"', ''), 'text/html')
    for (const method of ['GET', 'HEAD']) {
      const answer = await fetch(`${berth.url}/agents/v1/files/${file.id}/content`, {
        method,
        headers: { authorization: `Bearer ${token}` },
      })
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        'content-type': 'text/html',
        'content-length': '25',
        'content-disposition': `attachment; filename="gr__e 1.html"; filename*=UTF-8''gr%C3%B6%C3%9Fe%201.html`,
        'x-content-type-options': 'nosniff',
        'content-security-policy': 'sandbox',
        'cache-control': 'private, no-store',
      })
      expect(await answer.text()).toBe(method === 'GET' ? '<script>alert(1)</script>' : '')
    }
  })
})

describe('a form that is wrong is refused with a sentence, and nothing of it is kept', () => {
  const seconds = (text: string): string => part('name="expires_in_seconds"', text)
  const end = '--b--\r\n'
  test.each<[string, string, Record<string, string>, number, RegExp]>([
    ['no form', '{}', { 'content-type': 'application/json' }, 400, /multipart\/form-data/],
    ['no boundary', filePart, { 'content-type': 'multipart/form-data' }, 400, /multipart\/form-data/],
    [
      'an empty boundary',
      filePart,
      { 'content-type': 'multipart/form-data; boundary=' },
      400,
      /boundary|complete|no file/,
    ],
    [
      'a long boundary',
      filePart,
      { 'content-type': `multipart/form-data; boundary=${'x'.repeat(4000)}` },
      400,
      /boundary/,
    ],
    ['nothing', '', {}, 400, /not complete/],
    ['no part', end, {}, 400, /no file/],
    ['no file', seconds('3600') + end, {}, 400, /no file/],
    ['no end', filePart, {}, 400, /not complete/],
    [
      'a part that is cut',
      '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nhel',
      {},
      400,
      /not complete/,
    ],
    ['a header that is cut', '--b\r\nContent-Disposition: form-da', {}, 400, /not complete/],
    ['endless headers', `--b\r\n${'X-Y: zzzzzzzzzzzzzzzzzzzz\r\n'.repeat(20_000)}\r\nx\r\n${end}`, {}, 400, /no file/],
    ['one endless header', `--b\r\nX: ${'y'.repeat(1_000_000)}\r\n\r\nx\r\n${end}`, {}, 400, /no file/],
    ['many parts', '--b\r\nContent-Type: text/plain\r\n\r\nx\r\n'.repeat(1000) + end, {}, 400, /too many parts/],
    ['two files', filePart + filePart + end, {}, 400, /twice/],
    ['an unknown field', filePart + part('name="purpose"', 'x') + end, {}, 400, /unknown field: "purpose"/],
    ['a part without a name', part('filename="x"', 'x') + end, {}, 400, /without a name/],
    ['too short a time', filePart + seconds('3599') + end, {}, 400, /from 3600/],
    ['too long a time', seconds('7776001') + filePart + end, {}, 400, /7776000/],
    ['no number', filePart + seconds('1e4') + end, {}, 400, /whole number/],
    ['an endless number', filePart + seconds('9'.repeat(100_000)) + end, {}, 400, /whole number/],
    ['a bad name', part('name="file"; filename="a|b"', 'x') + end, {}, 400, /name may not/],
    ['the name ..', part('name="file"; filename="x/.."', 'x') + end, {}, 400, /name may not/],
    ['a long name', part(`name="file"; filename="${'x'.repeat(256)}"`, 'x') + end, {}, 400, /255/],
    ['a bad type', part('name="file"; filename="x"', 'x', 'Content-Type: no type\r\n') + end, {}, 400, /media type/],
    ['an encoding', filePart + end, { 'content-encoding': 'gzip' }, 415, /content-encoding/],
    ['a key', filePart + end, { 'idempotency-key': 'x' }, 400, /Idempotency-Key/],
  ])('%s', async (_, body, headers, status, sentence) => {
    const before = [await rowCount(), onDisk()]
    const answer = await send(body, headers)
    expect(answer).toMatchObject({
      status,
      body: { type: 'error', error: { message: expect.stringMatching(sentence) } },
    })
    expect([await rowCount(), onDisk()]).toEqual(before)
  })

  test('an unknown query parameter is refused', async () => {
    expect(await ask('GET', '?scope_id=sesn_x')).toMatchObject({ status: 400 })
    expect(await ask('POST', '?x=1', {})).toMatchObject({ status: 400 })
    expect(await ask('GET', '/file_x/content?x=1')).toMatchObject({ status: 400 })
  })

  test('one of more than 500 MiB is refused before it is sent', async () => {
    const { port } = new URL(berth.url)
    const socket = connect(Number(port), '127.0.0.1')
    const heard: Buffer[] = []
    socket.on('data', (piece: Buffer) => heard.push(piece))
    socket.write(
      `POST /agents/v1/files HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: multipart/form-data; boundary=b\r\ncontent-length: 600000000\r\n\r\n`,
    )
    await until('it is refused', () => Buffer.concat(heard).includes('request_too_large'))
    expect(Buffer.concat(heard).toString()).toMatch(/^HTTP\/1.1 413/)
    socket.destroy()
  })

  test('a client that goes away in the middle leaves nothing behind', async () => {
    const before = [await rowCount(), onDisk()]
    const { port } = new URL(berth.url)
    const socket = connect(Number(port), '127.0.0.1')
    socket.write(
      `POST /agents/v1/files HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: multipart/form-data; boundary=b\r\ncontent-length: 5000\r\n\r\n${filePart.slice(0, -2)}`,
    )
    await until('it arrives', async () => (await rowCount()) === (before[0] ?? 0) + 1)
    expect((await files().list()).data).toEqual([]) // nobody sees it before it is complete
    socket.destroy()
    await until('it is removed', async () => (await rowCount()) === before[0])
    expect(onDisk()).toBe(before[1])
  })
})

describe('who has a file', () => {
  test('it is its owner’s alone; a viewer stores none; keys and nobody get in', async () => {
    const file = await upload('x', 'x.txt')
    const colleague = await berth.token('colleague')
    expect(await ask('GET', `/${file.id}`, undefined, colleague)).toMatchObject({ status: 404 })
    expect(await ask('GET', `/${file.id}/content`, undefined, colleague)).toMatchObject({ status: 404 })
    expect(await ask('DELETE', `/${file.id}`, undefined, colleague)).toMatchObject({ status: 404 })
    expect(await ask('GET', '', undefined, colleague)).toMatchObject({ status: 200, body: { data: [] } })
    expect(await ask('POST', '', {}, await berth.token('victor', 'acme', 'viewer'))).toMatchObject({ status: 403 })
    expect(await ask('GET', '', undefined, '')).toMatchObject({ status: 401 })
  })

  test('files count for the organization’s room: one that does not fit is refused, and fits once another is deleted', async () => {
    const big = await upload('x', 'big')
    await sql`update files set size_bytes = 1024::bigint * 1024 * 1024 - 1000 where filename = 'big'`.execute(
      berth.services.db,
    )
    await expect(upload('x'.repeat(2000), 'more.txt')).rejects.toMatchObject({ status: 429 })
    await files().delete(big.id)
    await upload('x'.repeat(2000), 'more.txt')
  })

  test('an upload that was given up keeps its row until its bytes are gone, and is removed by housekeeping', async () => {
    const file = await upload('x', 'x.txt')
    const before = onDisk()
    await sql`update files set stored_at = null, writing_until = now() - interval '2 hours' where filename = 'x.txt'`.execute(
      berth.services.db,
    )
    await expect(files().retrieveMetadata(file.id)).rejects.toMatchObject({ status: 404 })
    await forgetFiles(berth.services)
    expect(onDisk()).toBeLessThan(before)
  })
})

describe('over GraphQL', () => {
  type Answer = Record<
    string,
    { id: string; upload: { uploadUrl: string; binaryUrl: string }; file: { id: string }; organization: { id: string } }
  >
  const graph = async (query: string): Promise<{ data?: Answer | null; errors?: { message: string }[] }> =>
    (await berth.ask(query, { token })).body as never // each query says what it answers

  test('a file is made from an upload, found as a node and in lists, and deleted', async () => {
    const id = (await graph('{ viewer { organization { id } } }')).data?.['viewer']?.organization.id
    const { data } = await graph(
      `mutation { createUpload(input: {organizationId: "${id}"}) { upload { uploadUrl binaryUrl } } }`,
    )
    const { uploadUrl = '', binaryUrl = '' } = data?.['createUpload']?.upload ?? {}
    const make = `mutation { createFile(input: {binaryUrl: "${binaryUrl}", filename: "a/b.pdf"}) { file { id filename mimeType sizeBytes sha256 } } }`
    expect((await graph(make)).errors?.[0]?.message).toContain('names no finished upload')
    await fetch(uploadUrl, { method: 'PUT', body: '%PDF-1.7 hello' })
    const file = (await graph(make)).data?.['createFile']?.file
    expect(file).toMatchObject({
      filename: 'b.pdf',
      mimeType: 'application/pdf',
      sizeBytes: 14,
      sha256: createHash('sha256').update('%PDF-1.7 hello').digest('hex'),
    })
    expect(await (await files().download(file?.id ?? '')).text()).toBe('%PDF-1.7 hello')
    expect(
      (
        await graph(`{ node(id: "${file?.id}") { ... on File { filename organization { id } } } file(id: "${file?.id}") { id }
        files(filter: {ids: ["${file?.id}"]}) { totalCount nodes { id } } viewer { organization { files { nodes { id } } } } }`)
      ).data,
    ).toEqual({
      node: { filename: 'b.pdf', organization: { id } },
      file: { id: file?.id },
      files: { totalCount: 1, nodes: [{ id: file?.id }] },
      viewer: { organization: { files: { nodes: [{ id: file?.id }] } } },
    })
    expect((await graph(`mutation { deleteFile(input: {id: "${file?.id}"}) { deletedId } }`)).data).toEqual({
      deleteFile: { deletedId: file?.id },
    })
    expect((await graph(`{ node(id: "${file?.id}") { id } }`)).data).toEqual({ node: null })
  })
})
