/** What streams of files do besides the VM: signed URLs, refusals, and nodes that break off. A server of the test's own is the node. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  answerHeader,
  choosePart,
  readContentRange,
  type FileAnswer,
  type FileQuestion,
} from '#src/drivers/node/file-transfers.ts'
import { shiftClock } from '#src/platform/clock.ts'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { fileLimits } from '#src/platform/limits/files.ts'
import { identityOf } from '#src/resources/identity/memberships.ts'
import { signVmToken } from '#src/resources/identity/access-tokens.ts'
import { sql } from '#src/platform/postgres.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { idsOf, makeKey, makeVmRow } from '../support/makers.ts'
import { keptBytes } from '../support/stalls/memory.ts'
import { until } from '../support/until.ts'

type Answering = (question: FileQuestion, response: ServerResponse, request: IncomingMessage) => void

let berth: Berth
let token: string
let vmId: string
let server: Server
let answering: Answering
let asked: FileQuestion[]
const folder = mkdtempSync(join(tmpdir(), 'berth-files-'))
const etag = '"v1"'
const origin = 'https://app.example'
const content = Buffer.from('0123456789'.repeat(100_000))
const facts = { sizeBytes: content.length, modifiedMs: 1_700_000_000_000, etag }
/** The node that answers as it should. */
const sendAll: Answering = (question, response) => {
  const part = choosePart(facts, question)
  const answer: FileAnswer = { facts, part, uploadedBytes: null }
  response.setHeader(answerHeader, JSON.stringify(answer))
  response.end(question.headOnly ? '' : content.subarray(part.startByte, part.startByte + part.lengthBytes))
}

beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_CORS_ORIGINS: origin } })
  token = await berth.token()
  server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '/', 'http://node')
    const question = JSON.parse(searchParams.get('request') ?? '{}') as FileQuestion
    asked.push(question)
    answering(question, response, request)
  })
  const socketPath = join(folder, 'node.sock')
  await new Promise<void>((ready) => server.listen(socketPath, ready))
  const nodeId = newUuid()
  await sql`insert into nodes (id, name, agent_url, acceleration, memory_mb) values (${nodeId}, 'stub', ${`unix:${socketPath}`}, 'emulation', 0)`.execute(
    berth.services.db,
  )
  vmId = await makeVmRow(berth.services.db, token, nodeId)
})
afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await berth.stop()
  rmSync(folder, { recursive: true, force: true })
})
beforeEach(() => {
  asked = []
  answering = sendAll
})
afterEach(() => shiftClock(0))

const address = (query = 'path=/home/user/x'): string => `${berth.url}/api/v1/vms/${vmId}/files?${query}`
const get = (headers: Record<string, string> = {}, query?: string) =>
  fetch(address(query), { headers: { authorization: `Bearer ${token}`, ...headers } })
const sign = async (body: Record<string, unknown>, as = token): Promise<{ url: string; expires_at: string }> => {
  const answer = await berth.call<{ url: string; expires_at: string }>('POST', `/api/v1/vms/${vmId}/file-urls`, {
    token: as,
    body: { path: '/home/user/x', method: 'GET', ...body },
  })
  expect(answer.status, JSON.stringify(answer.body)).toBe(201)
  return answer.body
}
const statusOf = async (url: string, method = 'GET'): Promise<number> => {
  const answer = await fetch(url, { method, ...(method === 'PUT' ? { body: 'x' } : {}) })
  await answer.bytes()
  return answer.status
}

test.each([
  [{ range: 'bytes=0-0' }, [206, 0, 1]],
  [{ range: 'bytes=999990-' }, [206, 999_990, 10]],
  [{ range: 'bytes=-5' }, [206, 999_995, 5]],
  [{ range: 'bytes=-5000000' }, [206, 0, 1_000_000]],
  [{ range: 'bytes=10-5' }, [200, 0, 1_000_000]],
  [{ range: 'bytes=0-1,5-6' }, [200, 0, 1_000_000]],
  [{ range: 'bytes=1000000-' }, [416, 0, 0]],
  [{ range: 'bytes=-0' }, [416, 0, 0]],
  [{ range: 'bytes=5-', ifRange: etag }, [206, 5, 999_995]],
  [{ range: 'bytes=5-', ifRange: '"v2"' }, [200, 0, 1_000_000]],
  [{ ifNoneMatch: `"a", W/${etag}` }, [304, 0, 0]],
  [{ ifNoneMatch: '*' }, [304, 0, 0]],
])('the part of %j is chosen', (headers, [status, startByte, lengthBytes]) => {
  expect(choosePart(facts, { range: null, ifRange: null, ifNoneMatch: null, ...headers })).toEqual({
    status,
    startByte,
    lengthBytes,
  })
})

test.each([
  'bytes 0-9',
  'bytes 5-1/9',
  'bytes 0-9/9',
  'items 0-1/9',
  'bytes */*',
  `bytes 0-${'9'.repeat(20)}/*`,
  `bytes */${'9'.repeat(20)}`,
  '',
])('Content-Range %j is of no part', (header) => expect(readContentRange(header)).toBeNull())

test('a download goes on with the next worker where the one before it died, if the file is the same', async () => {
  answering = (question, response) => {
    if (asked.length > 1) return sendAll(question, response, response.req)
    response.setHeader(answerHeader, JSON.stringify({ facts, part: choosePart(facts, question), uploadedBytes: null }))
    response.write(content.subarray(0, 300_000), () => response.destroy())
  }
  const answer = await get()
  expect(Buffer.from(await answer.bytes()).equals(content)).toBe(true)
  expect(asked.map(({ range, ifRange }) => [range, ifRange])).toEqual([
    [null, null],
    [expect.stringMatching(/^bytes=\d+-999999$/), etag],
  ])
})

test('a download is cut, never silently short, when the file changed while the worker was replaced or while it was read', async () => {
  const half: Answering = (question, response) => {
    const now = asked.length > 1 ? { ...facts, etag: '"v2"' } : facts
    response.setHeader(
      answerHeader,
      JSON.stringify({ facts: now, part: choosePart(now, question), uploadedBytes: null }),
    )
    response.write(content.subarray(0, 300_000), () => response.destroy())
  }
  answering = half
  await expect(get().then((answer) => answer.bytes())).rejects.toThrow()
  asked = []
  answering = (question, response) => {
    response.setHeader(answerHeader, JSON.stringify({ facts, part: choosePart(facts, question), uploadedBytes: null }))
    response.end(content.subarray(0, 300_000))
  }
  await expect(get().then((answer) => answer.bytes())).rejects.toThrow()
  expect(asked).toHaveLength(1)
})

test('an upload whose worker dies is answered 502 with how to go on', async () => {
  answering = (_question, response, request) => void request.once('data', () => response.destroy())
  const answer = await fetch(address(), {
    method: 'PUT',
    headers: { authorization: `Bearer ${token}` },
    body: new Uint8Array(content),
  })
  expect([answer.status, await answer.json()]).toEqual([
    502,
    { error: 'vm_unreachable', message: expect.stringContaining('Upload-Offset') },
  ])
})

test('an upload that says nothing more has arrived is of no bytes, and complete', () => {
  expect(readContentRange('bytes */9')).toEqual({ first: 9, last: 8, totalBytes: 9 })
})

test.each([
  ['bytes 0-9/10', 'too long, for this', 'goes on behind'],
  ['bytes 0-99/100', 'too short', 'ended after 9'],
])('a body of unknown length with %s and %j is refused', async (range, text, message) => {
  answering = (_question, response, request) =>
    void request.once('end', () => response.end(JSON.stringify({ uploadedBytes: 1, isComplete: true }))).resume()
  const answer = await fetch(address(), {
    method: 'PUT',
    headers: { authorization: `Bearer ${token}`, 'content-range': range },
    body: new Blob([text]).stream(),
    duplex: 'half',
  } as RequestInit)
  expect([answer.status, await answer.json()]).toEqual([
    400,
    { error: 'invalid_request', message: expect.stringContaining(message) },
  ])
})

test('what a node refuses says when to come back', async () => {
  answering = (_question, response) =>
    void response
      .writeHead(429)
      .end(JSON.stringify({ code: 'rate_limited', message: 'Too many.', retryAfterSeconds: 5 }))
  const answer = await get()
  expect([answer.status, answer.headers.get('retry-after'), await answer.json()]).toEqual([
    429,
    '5',
    { error: 'rate_limited', message: 'Too many.' },
  ])
})

test('who sends nothing or reads nothing is cut off after a while, and what begins late is waited for', async () => {
  const usual = { ...fileLimits }
  Object.assign(fileLimits, { stalledSeconds: 0.3, firstByteSeconds: 20 })
  try {
    let reached: IncomingMessage | undefined
    answering = (_question, _response, request) => void (reached = request).resume()
    const { port } = new URL(berth.url)
    const head = `PUT ${new URL(address()).pathname}?path=/x HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n`
    const sender = connect(Number(port), '127.0.0.1')
    sender.write(`${head}content-length: 9000000\r\n\r\nsome`)
    const answer = String(((await once(sender, 'data')) as [Buffer])[0])
    expect(answer.split('\r\n')[0]).toBe('HTTP/1.1 504 Gateway Timeout')
    expect(answer).toContain('too slow')
    sender.destroy()
    await until('the node has heard of it', () => reached?.destroyed === true)

    let served: ServerResponse | undefined
    answering = (question, response) => {
      served = response
      const large = { ...facts, sizeBytes: 1e9 }
      response.setHeader(
        answerHeader,
        JSON.stringify({ facts: large, part: choosePart(large, question), uploadedBytes: null }),
      )
      Readable.from(Array.from({ length: 1000 }, () => content)).pipe(response)
    }
    const reader = connect(Number(port), '127.0.0.1').pause()
    reader.write(head.replace('PUT', 'GET') + '\r\n')
    await until('the reader is cut off', () => served?.destroyed === true)
    reader.destroy()

    answering = (question, response) => {
      const part = choosePart(facts, question)
      response.setHeader(answerHeader, JSON.stringify({ facts, part, uploadedBytes: null })).flushHeaders()
      setTimeout(() => response.end(content.subarray(part.startByte)), 1000)
    }
    const late = await get({ range: 'bytes=999990-' }, 'path=/x&format=tar')
    expect([late.status, await late.text()]).toEqual([206, '0123456789'])
    await expect(get({ range: 'bytes=999990-' }).then((cut) => cut.text())).rejects.toThrow()
  } finally {
    Object.assign(fileLimits, usual)
  }
})

const bytesBetweenLooks = 32 * 1024 * 1024

test('half a gigabyte passes in both directions without staying in memory', async () => {
  const piece = Buffer.alloc(1024 * 1024, 7)
  const pieces = 512
  const large = { ...facts, sizeBytes: pieces * piece.length }
  let received = 0
  answering = (question, response, request) => {
    if (request.method === 'PUT') {
      request.on('data', (chunk: Buffer) => (received += chunk.length))
      return void request.once('end', () => response.end(JSON.stringify({ uploadedBytes: received, isComplete: true })))
    }
    response.setHeader(
      answerHeader,
      JSON.stringify({ facts: large, part: choosePart(large, question), uploadedBytes: null }),
    )
    Readable.from(Array.from({ length: pieces }, () => piece)).pipe(response)
  }
  const before = await keptBytes()
  let most = 0
  let nextLook = 0
  const look = async (passed: number): Promise<void> => {
    if (passed < nextLook) return
    nextLook = passed + bytesBetweenLooks
    most = Math.max(most, await keptBytes())
  }
  let got = 0
  for await (const chunk of (await get()).body!) {
    got += chunk.length
    await look(got)
  }
  nextLook = 0
  expect(got).toBe(large.sizeBytes)
  async function* sent(): AsyncGenerator<Buffer> {
    for (let at = 0; at < pieces; at++) {
      await look(at * piece.length)
      yield piece
    }
  }
  const put = await fetch(address(), {
    method: 'PUT',
    headers: { authorization: `Bearer ${token}` },
    body: Readable.toWeb(Readable.from(sent())),
    duplex: 'half',
  } as RequestInit)
  expect([put.status, received]).toEqual([200, large.sizeBytes])
  expect((most - before) / 1024 / 1024).toBeLessThan(20)
}, 60_000)

test('a signed URL ends at its time, with its VM, with its key, and with its maker’s membership', async () => {
  const { url } = await sign({ ttl_seconds: 60 })
  expect([await statusOf(url), await statusOf(url, 'HEAD'), await statusOf(url, 'PUT')]).toEqual([200, 200, 403])
  shiftClock(61_000)
  expect(await statusOf(url)).toBe(403)
  shiftClock(0)
  const { keyId, key } = await makeKey(berth, token, { scopes: ['compute:use'] })
  const ofKey = await sign({}, key)
  expect(await statusOf(ofKey.url)).toBe(200)
  await berth.ask(`mutation { revokeApiKey(input: { id: "${keyId}" }) { apiKey { id } } }`, { token })
  expect(await statusOf(ofKey.url)).toBe(403)
  const member = await berth.token('mallory', 'acme', 'member')
  const ofMember = await sign({ method: 'GET' }, member)
  expect(await statusOf(ofMember.url)).toBe(200)
  const { userId } = idsOf(member)
  await sql`update memberships set role = 'viewer' where user_id = ${userId}`.execute(berth.services.db)
  expect(await statusOf(ofMember.url)).toBe(403)
  await sql`update memberships set role = 'member', deactivated_at = now() where user_id = ${userId}`.execute(
    berth.services.db,
  )
  expect(await statusOf(ofMember.url)).toBe(403)
  const storedVm = decodeId('vm', vmId)
  await sql`update vms set status = 'deleted' where id = ${storedVm}`.execute(berth.services.db)
  const gone = await fetch(url)
  const never = await fetch(url.replace(/signature=.*/, 'signature=x'))
  expect([gone.status, await gone.text()]).toEqual([403, await never.text()])
  await sql`update vms set status = 'running' where id = ${storedVm}`.execute(berth.services.db)
})

test('a signed URL opens nothing else: no other path, format, method or VM, not later, and not as somebody else', async () => {
  const { url } = await sign({ path: '/home/user/x' })
  const ofOther = new URL((await sign({}, await berth.token('olga', 'acme', 'member'))).url)
  const changed = (change: (parameters: URLSearchParams) => void): string => {
    const one = new URL(url)
    change(one.searchParams)
    return one.href
  }
  const bodies = await Promise.all(
    [
      changed((one) => one.set('path', '/home/user/y')),
      changed((one) => one.append('path', '/home/user/y')),
      changed((one) => one.set('format', 'tar')),
      changed((one) => one.set('expires', '99999999999')),
      changed((one) => one.set('by', ofOther.searchParams.get('by') ?? '')),
      changed((one) => one.set('signature', ofOther.searchParams.get('signature') ?? '')),
      changed((one) => one.delete('signature')),
      changed((one) => one.set('colour', 'red')),
      url.replace(vmId, 'vm_01m83v7dpkfdnaqrfg1ksjt14e'),
    ].map(async (one) => {
      const answer = await fetch(one)
      return `${answer.status} ${await answer.text()}`
    }),
  )
  expect(new Set(bodies).size).toBe(1)
  expect(bodies[0]).toMatch(/^403 .*not signed for this request/)
  expect(asked).toEqual([])
})

test('a page of a named origin gets and puts files, and reads where to go on; one of another origin does not', async () => {
  const { url } = await sign({})
  const preflight = await fetch(url, {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': 'PUT', 'access-control-request-headers': 'content-range' },
  })
  expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([204, 'content-range'])
  expect(preflight.headers.get('access-control-allow-methods')).toContain('PUT')
  const seenFrom = async (from: string) => (await fetch(url, { headers: { origin: from } })).headers
  const headers = await seenFrom(origin)
  expect(headers.get('access-control-allow-origin')).toBe(origin)
  for (const name of ['upload-offset', 'content-range', 'etag', 'retry-after'])
    expect(headers.get('access-control-expose-headers')).toContain(name)
  expect((await seenFrom('https://evil.example')).get('access-control-allow-origin')).toBeNull()
})

test('a URL that is made with the token inside a VM ends with that token', async () => {
  const { organizationId, userId } = idsOf(token)
  const identity = await identityOf(berth.services.db, userId, organizationId)
  const inVm = await signVmToken(berth.services, identity, decodeId('vm', vmId) ?? '', 900)
  const { expires_at } = await sign({ ttl_seconds: fileLimits.urlSecondsMax }, inVm.token)
  expect(Date.parse(expires_at) - Date.now()).toBeLessThan(16 * 60 * 1000)
})

test.each([
  { ttl_seconds: 0 },
  { ttl_seconds: fileLimits.urlSecondsMax + 1 },
  { method: 'DELETE' },
  { format: 'zip' },
  { path: 'x' },
  { colour: 'red' },
])('%j makes no signed URL', async (body) => {
  const answer = await berth.call('POST', `/api/v1/vms/${vmId}/file-urls`, {
    token,
    body: { path: '/x', method: 'GET', ...body },
  })
  expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
})

test.each(['path=/x&path=/y', '', 'path=/x&colour=red', 'path=/x&format=', 'path=x', 'path=/%ff', 'path=/%zz'])(
  '?%s is refused',
  async (query) => {
    const answer = await get({}, query)
    expect([answer.status, await answer.json()]).toEqual([
      400,
      { error: 'invalid_request', message: expect.any(String) },
    ])
    expect(asked).toEqual([])
  },
)

test('a viewer, a stranger and nobody get nothing, and a VM that does not run says so', async () => {
  const as = async (who: string | null): Promise<number> =>
    (await fetch(address(), who === null ? {} : { headers: { authorization: `Bearer ${who}` } })).status
  expect([
    await as(await berth.token('victor', 'acme', 'viewer')),
    await as(await berth.token('eve', 'evil')),
    await as(null),
  ]).toEqual([403, 404, 401])
  const storedVm = decodeId('vm', vmId)
  await sql`update vms set status = 'stopped' where id = ${storedVm}`.execute(berth.services.db)
  const stopped = await get()
  expect([stopped.status, ((await stopped.json()) as { message: string }).message]).toEqual([
    400,
    expect.stringContaining('stopped'),
  ])
  await sql`update vms set status = 'running' where id = ${storedVm}`.execute(berth.services.db)
  expect(asked).toEqual([])
})

test('names that a header cannot hold are told in a way that it can', async () => {
  const answer = await get({}, `path=${encodeURIComponent('/home/user/a"b\r\nü.txt')}`)
  await answer.bytes()
  expect(answer.headers.get('content-disposition')).toBe(
    `attachment; filename="a_b___.txt"; filename*=UTF-8''a%22b%0D%0A%C3%BC.txt`,
  )
})
