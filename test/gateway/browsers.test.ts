/** Pages of other origins in a real browser: what BERTH_CORS_ORIGINS opens to them, and event streams that they follow by EventSource. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ConfigError, readConfig } from '#src/platform/config.ts'
import { encodeId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { launchChromium } from '../support/browser/chromium.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { makeRefusingNode } from '../contract/callers.ts'
import { makeVmRow } from '../support/makers.ts'
import { append, makeSessionRow } from '../support/sessions.ts'

let berth: Berth
let closed: Berth
let token: string
let vm: string
let browser: Browser
const pages: { server: Server; origin: string }[] = []

/** An origin with one empty page. */
async function makeOrigin(): Promise<string> {
  const server = createServer((_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>page</title>'),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  pages.push({ server, origin })
  return origin
}

let trusted: string
let foreign: string
beforeAll(async () => {
  trusted = await makeOrigin()
  foreign = await makeOrigin()
  berth = await startBerth({
    settings: { BERTH_RATE_LIMIT_FACTOR: '100', BERTH_CORS_ORIGINS: `https://app.example.com, ${trusted}` },
  })
  closed = await startBerth()
  token = await berth.token()
  const node = await makeRefusingNode(berth)
  vm = await makeVmRow(berth.services.db, token, node)
  browser = await launchChromium()
})
afterAll(async () => {
  await browser.close()
  for (const { server } of pages) server.close()
  await berth.stop()
  await closed.stop()
})

const open = async (origin: string): Promise<Page> => {
  const page = await (await browser.newContext()).newPage()
  await page.goto(origin)
  return page
}
type Seen = { status: number; headers: Record<string, string>; text: string } | { failed: string }
/** What a page's fetch finds. */
const fetchIn = (
  page: Page,
  url: string,
  init: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Seen> =>
  page.evaluate(
    async ([address, how]) => {
      try {
        const answer = await fetch(address, how)
        return { status: answer.status, headers: Object.fromEntries(answer.headers), text: await answer.text() }
      } catch (error) {
        return { failed: String(error) }
      }
    },
    [url, init] as const,
  )

describe('a page of an origin that is named', () => {
  test('calls every surface with a token, headers of its own and a body, and reads the headers that matter', async () => {
    const page = await open(trusted)
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'x-stainless-lang': 'js',
      'idempotency-key': 'from-a-page',
    }
    expect(
      await fetchIn(page, `${berth.url}/graphql`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ query: '{ viewer { organization { name } } }' }),
      }),
    ).toMatchObject({ status: 200, text: expect.stringContaining('acme') })
    expect(await fetchIn(page, `${berth.url}/api/v1/vms`, { headers })).toMatchObject({
      status: 200,
      headers: {
        'x-request-id': expect.stringMatching(/^req_/),
        'request-id': expect.any(String),
        'ratelimit-limit': expect.any(String),
        'ratelimit-remaining': expect.any(String),
      },
    })
    const make = (): Promise<Seen> =>
      fetchIn(page, `${berth.url}/agents/v1/environments`, { method: 'POST', headers, body: '{"name":"by a page"}' })
    expect(await make()).toMatchObject({ status: 201 })
    expect(await make()).toMatchObject({ status: 201, headers: { 'idempotent-replayed': 'true' } })
    expect(
      await fetchIn(page, `${berth.url}/llm/v1/chat/completions`, {
        method: 'POST',
        headers: { ...headers, 'idempotency-key': 'chat' },
        body: JSON.stringify({
          model: 'berth/demo',
          stream: true,
          messages: [{ role: 'user', content: '!say hello' }],
        }),
      }),
    ).toMatchObject({ status: 200, text: expect.stringContaining('hello') })
    expect(await fetchIn(page, `${berth.url}/api/v1/vms/${vm}/env/A`, { method: 'DELETE', headers })).toMatchObject({
      status: 404,
      text: expect.stringContaining('not_found'),
    })
    expect(await fetchIn(page, `${berth.url}/healthz`)).toMatchObject({ status: 200 })
  })

  test('reads errors too: for a missing token, a wrong body, an unknown path', async () => {
    const page = await open(trusted)
    expect(await fetchIn(page, `${berth.url}/api/v1/vms`)).toMatchObject({
      status: 401,
      text: expect.stringContaining('unauthorized'),
    })
    expect(
      await fetchIn(page, `${berth.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer x' },
        body: '{}',
      }),
    ).toMatchObject({ status: 401 })
    expect(
      await fetchIn(page, `${berth.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{',
      }),
    ).toMatchObject({ status: 400 })
    expect(await fetchIn(page, `${berth.url}/nowhere`)).toMatchObject({ status: 404 })
    expect(await fetchIn(page, `${berth.url}/%`)).toMatchObject({ status: 400 })
    expect(
      await fetchIn(page, `${berth.url}/api/v1/vms`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ name: 'x'.repeat(2_000_000) }),
      }),
    ).toMatchObject({ status: 413 })
  })

  test('follows a VM, a session and a subscription by EventSource, with the token in the address', async () => {
    const { db } = berth.services
    const session = await makeSessionRow(db, token)
    await append(db, session, { type: 'user.message', data: { content: [{ type: 'text', text: 'hello' }] } })
    const page = await open(trusted)
    const first = (path: string, event: string): Promise<string> =>
      page.evaluate(
        ([address, name]) =>
          new Promise<string>((resolve, reject) => {
            const source = new EventSource(address)
            source.addEventListener(name, (one) => {
              source.close()
              resolve(String((one as MessageEvent).data))
            })
            source.onerror = () => {
              source.close()
              reject(new Error('the stream was refused'))
            }
          }),
        [`${berth.url}${path}${path.includes('?') ? '&' : '?'}token=${token}`, event] as const,
      )
    expect(await first(`/api/v1/vms/${vm}/events`, 'message')).toContain(vm)
    expect(
      await first(`/agents/v1/sessions/${encodeId('session', session)}/events/stream?replay=1`, 'message'),
    ).toContain('hello')
    expect(
      await first(
        `/graphql?query=${encodeURIComponent(`subscription { vmEvents(id: "${vm}") { __typename } }`)}`,
        'next',
      ),
    ).toContain('VmEvent')
  })
})

describe('a page of any other origin', () => {
  test('reads nothing, and its browser asks for no more than the preflight', async () => {
    const page = await open(foreign)
    for (const path of ['/healthz', '/graphql?query=%7B__typename%7D', '/api/v1/vms', '/agents/v1/models'])
      expect(await fetchIn(page, berth.url + path, { headers: { authorization: `Bearer ${token}` } })).toEqual({
        failed: expect.stringContaining('Failed to fetch'),
      })
    const preflight = await fetch(`${berth.url}/api/v1/vms`, {
      method: 'OPTIONS',
      headers: { origin: foreign, 'access-control-request-method': 'POST' },
    })
    expect([...preflight.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
  })

  test('gets no access where no origin is configured', async () => {
    expect(await fetchIn(await open(trusted), `${closed.url}/healthz`)).toEqual({
      failed: expect.stringContaining('Failed to fetch'),
    })
    expect((await fetch(`${closed.url}/healthz`, { headers: { origin: trusted } })).headers.has('vary')).toBe(false)
  })

  test('cannot be configured by a pattern, a path or anything but an exact origin', () => {
    for (const wrong of [
      '*',
      'null',
      'https://*.example.com',
      'https://app.example.com/',
      'app.example.com',
      'HTTPS://app.example.com',
      'ftp://a.b',
      'https://a.b,nonsense',
    ]) {
      expect(() => readConfig({ BERTH_CORS_ORIGINS: wrong })).toThrow(ConfigError)
    }
    expect(readConfig({ BERTH_CORS_ORIGINS: 'https://a.b, http://localhost:5173' }).corsOrigins).toEqual([
      'https://a.b',
      'http://localhost:5173',
    ])
  })
})

describe('a token in the address', () => {
  const address = (path: string, bearer: string): string => `${berth.url}${path}?token=${bearer}`
  test('opens event streams only, yields to the header, and is logged nowhere', async () => {
    const logged: string[] = []
    const write = process.stdout.write.bind(process.stdout)
    process.stdout.write = ((text: string) => (logged.push(String(text)), true)) as typeof process.stdout.write
    try {
      for (const path of ['/api/v1/vms', `/api/v1/vms/${vm}`, '/agents/v1/sessions', '/llm/v1/models', '/graphql'])
        expect([path, (await fetch(address(path, token))).status < 400]).toEqual([path, false])
      const stream = `/api/v1/vms/${vm}/events`
      expect((await fetch(address(stream, 'garbage'))).status).toBe(401)
      expect((await fetch(address(stream, token), { headers: { authorization: 'Bearer garbage' } })).status).toBe(401)
      const wrong = await fetch(address('/nowhere', token))
      expect(await wrong.text()).not.toContain(token)
      await sql`select 1`.execute(berth.services.db)
    } finally {
      process.stdout.write = write
    }
    expect(logged.join('')).not.toContain(token.split('.')[1])
  })

  test('is described in OpenAPI for every event stream', async () => {
    for (const [path, prefix] of [
      ['/api/v1/openapi.json', ''],
      ['/agents/openapi.json', '/agents'],
    ] as const) {
      const { paths } = (await (await fetch(berth.url + path)).json()) as {
        paths: Record<
          string,
          Record<
            string,
            { parameters: { name: string; in: string }[]; responses: Record<string, { content?: object }> }
          >
        >
      }
      const streams = Object.entries(paths).filter(
        ([, { get }]) => 'text/event-stream' in (get?.responses['200']?.content ?? {}),
      )
      expect([prefix, streams.length > 0]).toEqual([prefix, true])
      for (const [name, { get }] of streams)
        expect([name, get?.parameters.some((one) => one.name === 'token' && one.in === 'query')]).toEqual([name, true])
    }
  })
})
