import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { checkJson, parseJson } from '#src/platform/json/body.ts'
import { limits } from '#src/platform/limits.ts'
import { serveMetrics } from '#src/platform/metrics/private-server.ts'
import { watchReadiness } from '#src/platform/metrics/readiness.ts'
import { startTestPostgres } from '../support/postgres.ts'
import { until } from '../support/until.ts'
import { startApp, type GraphqlBody, type RunningApp } from './running-app.ts'

let running: RunningApp
let token: string
beforeAll(async () => {
  running = await startApp({
    settings: { BERTH_RATE_LIMIT_FACTOR: '100' },
    surfaces: async (app) => {
      app.post('/echo', { bodyLimit: limits.infraBodyBytes }, (request) => ({
        body: request.body ?? null,
        bytes: request.rawBody?.length ?? null,
      }))
      app.get('/slow', () => new Promise((resolve) => setTimeout(resolve, 11_500, { slept: true })))
      app.get('/name/:name', (request) => request.params)
    },
  })
  token = await running.token()
})
afterAll(() => running.stop())

const post = (
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<Response> =>
  fetch(running.url + path, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, ...headers },
  })

/** What a server says to bytes sent as they are, until it closes the connection. */
function exchange(bytes: string): Promise<string> {
  return new Promise((resolve) => {
    let said = ''
    const socket = connect(running.port, '127.0.0.1', () => socket.write(bytes))
    socket
      .setEncoding('utf8')
      .on('data', (text: string) => (said += text))
      .on('error', () => {
        /* told by the close */
      })
      .on('close', () => resolve(said))
  })
}

describe('a request that offers another protocol', () => {
  const offer = (path: string): string =>
    `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n\r\n`
  it.each(['/name/alice', '/graphql?query=%7Bshared%7D'])(
    'is answered at %s as what it is: clients such as Java’s offer HTTP/2 with every one',
    async (path) => {
      const socket = connect(running.port, '127.0.0.1', () => socket.write(offer(path)))
      const [said] = (await once(socket, 'data')) as [Buffer]
      socket.destroy()
      expect(String(said)).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    },
  )
})

describe('a JSON body', () => {
  const refused = async (body: string | Uint8Array<ArrayBuffer>, headers?: Record<string, string>): Promise<string> => {
    const answer = await post('/echo', body, headers)
    const said = (await answer.json()) as { error: string; message: string }
    expect([answer.status, said.error]).toEqual([400, 'invalid_request'])
    return said.message
  }

  it('is read, and its bytes are kept', async () => {
    expect(await (await post('/echo', '{"a":[1,"ü"]}')).json()).toEqual({ body: { a: [1, 'ü'] }, bytes: 14 })
  })
  it('may be left out', async () => {
    expect(await (await post('/echo', '')).json()).toEqual({ body: null, bytes: 0 })
    expect(await (await fetch(`${running.url}/echo`, { method: 'POST' })).json()).toEqual({ body: null, bytes: null })
  })
  it('that is no JSON is refused', async () => expect(await refused('{"a":')).toMatch(/not valid JSON/))
  it('that is not UTF-8 is refused', async () =>
    expect(await refused(new Uint8Array([0x22, 0xff, 0xfe, 0x22]))).toMatch(/UTF-8/))
  it('with NUL in a value or key is refused', async () => {
    expect(await refused('{"a":"x\\u0000y"}')).toMatch(/NUL/)
    expect(await refused('{"a\\u0000":1}')).toMatch(/NUL/)
  })
  it('with half a surrogate pair is refused', async () => {
    expect(await refused('["\\ud800"]')).toMatch(/surrogate/)
    expect(await refused('{"\\udc00":1}')).toMatch(/surrogate/)
    expect((await post('/echo', '["\\ud83d\\ude00"]')).status).toBe(200)
  })
  it('nested 64 deep is read, 65 and 20000 deep are refused', async () => {
    const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
    expect((await post('/echo', deep(64))).status).toBe(200)
    expect(await refused(deep(65))).toMatch(/deeper than 64/)
    expect(await refused(deep(20_000))).toMatch(/deeper than 64/)
    expect(await refused('{"a":'.repeat(20_000) + '1' + '}'.repeat(20_000))).toMatch(/deeper than 64/)
  })
  it('of another type is refused, with what to send', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/jsonp',
      'nonsense',
    ]) {
      expect(await refused('{"a":1}', { 'content-type': type })).toMatch(/Send JSON/)
    }
  })
  it('with a key __proto__ changes no prototype', async () => {
    expect(await (await post('/echo', '{"__proto__":{"admin":true},"a":1,"a":2}')).json()).toEqual({
      body: { a: 2 },
      bytes: 40,
    })
    expect(Object.assign({}, parseJson('{"__proto__":{"admin":true}}'))).toEqual({})
  })
  it('larger than the limit is 413, announced or not', async () => {
    const answer = await post('/echo', `"${'x'.repeat(limits.infraBodyBytes)}"`)
    expect([answer.status, await answer.json()]).toMatchObject([413, { error: 'request_too_large' }])
    const streamed = await fetch(`${running.url}/echo`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      duplex: 'half',
      body: new ReadableStream({
        pull: (controller) => controller.enqueue(new TextEncoder().encode('x'.repeat(65_536))),
      }),
    } as RequestInit)
    expect(streamed.status).toBe(413)
  })
  it('that is too large is taken to its end, for a client that reads no answer before, and the connection goes on', async () => {
    const body = Buffer.alloc(30_000_000, 'x')
    const head = 'HTTP/1.1\r\nhost: berth\r\ncontent-type: application/json\r\n'
    const socket = connect(running.port, '127.0.0.1').setEncoding('utf8')
    socket.pause().write(`POST /echo ${head}content-length: ${body.length}\r\n\r\n`)
    await new Promise<void>((resolve, reject) => socket.on('error', reject).write(body, () => resolve()))
    let said = ''
    socket
      .on('data', (text: string) => (said += text))
      .resume()
      .end(`GET /name/after ${head}connection: close\r\n\r\n`)
    await once(socket, 'close')
    expect(said).toMatch(/^HTTP\/1\.1 413 [^]*request_too_large[^]*HTTP\/1\.1 200 [^]*"name":"after"/)
  })
  it('without end is cut', async () => {
    const socket = connect(running.port, '127.0.0.1')
    socket
      .on('error', () => {
        /* told by the close */
      })
      .resume()
      .write(
        'POST /echo HTTP/1.1\r\nhost: berth\r\ncontent-type: application/json\r\ncontent-length: 1000000000\r\n\r\n',
      )
    let bytes = 0
    const chunk = Buffer.alloc(1024 * 1024)
    const send = (): boolean =>
      socket.writable &&
      socket.write(chunk, (failed) => {
        if (failed) return // a cut connection may fail every write at once, for ever
        bytes += chunk.length
        send()
      })
    send()
    await new Promise((resolve) => socket.on('close', resolve))
    expect(bytes).toBeLessThan(200_000_000)
  })
  it('of 20 MB is refused by GraphQL, in its form', async () => {
    const answer = await post('/graphql', JSON.stringify({ query: `{ echo(text: "${'x'.repeat(20_000_000)}") }` }))
    const { errors } = (await answer.json()) as GraphqlBody
    expect([answer.status, errors?.[0]?.extensions.code]).toEqual([413, 'REQUEST_TOO_LARGE'])
    expect((await fetch(`${running.url}/healthz`)).status).toBe(200)
  })
  it('is checked the same way in GraphQL', async () => {
    for (const [body, message] of [
      ['{', /not valid JSON/],
      ['{"query":"{ __typename }","variables":{"a":"\\u0000"}}', /NUL/],
      [`{"query":"{ __typename }","variables":${'{"a":'.repeat(100)}1${'}'.repeat(101)}`, /deeper/],
    ] as const) {
      const answer = await post('/graphql', body)
      const { errors } = (await answer.json()) as GraphqlBody
      expect([answer.status, errors?.[0]?.extensions.code]).toEqual([400, 'INVALID_REQUEST'])
      expect(errors?.[0]?.message).toMatch(message)
    }
    const byGet = await fetch(
      `${running.url}/graphql?query=${encodeURIComponent('{ __typename }')}&variables=${encodeURIComponent('{"a":"\\u0000"}')}`,
    )
    expect(byGet.status).toBe(400)
    expect((await fetch(`${running.url}/graphql?query=%7B__typename%7D&variables=%7B`)).status).toBe(400)
  })
  it('as a form is refused by GraphQL, so that no page elsewhere can send one', async () => {
    for (const [type, body] of [
      ['application/x-www-form-urlencoded', 'query=%7B__typename%7D'],
      ['text/plain', '{"query":"{__typename}"}'],
      ['multipart/form-data; boundary=x', '--x--'],
    ] as const) {
      expect((await post('/graphql', body, { 'content-type': type })).status).toBe(400)
    }
  })
  it('is checked without running out of stack', () => {
    let deep: unknown = 1
    for (let level = 0; level < 200_000; level++) deep = [deep]
    expect(() => checkJson(deep)).toThrow(BerthError)
  })
})

describe('every answer', () => {
  it('has a request id, in both headers, whatever it says', async () => {
    const ids = new Set<string>()
    for (const [path, status] of [
      ['/healthz', 200],
      ['/nowhere', 404],
      ['/graphql?query=%7B__typename%7D', 200],
      ['/graphql', 400],
      ['/%', 400],
      [`/name/${'x'.repeat(301)}`, 200],
      ['/api/v1/vms', 404],
    ] as const) {
      const answer = await fetch(running.url + path)
      const id = answer.headers.get('x-request-id') ?? ''
      expect([path, answer.status]).toEqual([path, status])
      expect(id).toMatch(/^req_[0-7][0-9a-hjkmnp-tv-z]{25}$/)
      expect(answer.headers.get('request-id')).toBe(id)
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
      ids.add(id)
    }
    expect(ids.size).toBe(7)
  })
  it('also to what is not HTTP', async () => {
    expect(await exchange('HELLO\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 Bad Request\r\nx-request-id: req_/)
    expect(await exchange(`GET / HTTP/1.1\r\nhost: x\r\na: ${'x'.repeat(20_000)}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 431 /)
    expect(
      await exchange(
        'POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
      ),
    ).toMatch(/^HTTP\/1\.1 400 /)
  })
  it('takes no request id from the caller', async () => {
    expect(
      (
        await fetch(`${running.url}/healthz`, { headers: { 'x-request-id': 'mine', 'request-id': 'mine' } })
      ).headers.get('x-request-id'),
    ).toMatch(/^req_/)
  })
  it('for an unknown path is a plain 404', async () => {
    expect(await (await fetch(`${running.url}/nowhere`)).json()).toEqual({
      error: 'not_found',
      message: 'There is no GET at this path.',
    })
  })
  it('opens nothing to pages of other origins', async () => {
    const answer = await fetch(`${running.url}/graphql`, {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
    })
    expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
  })
  it('takes a parameter as long as a domain name', async () => {
    expect(await (await fetch(`${running.url}/name/${'x'.repeat(253)}`)).json()).toEqual({ name: 'x'.repeat(253) })
  })
})

describe('slow clients', () => {
  it('that never finish their headers are cut, and others are served meanwhile', async () => {
    const slow = Array.from({ length: 200 }, () => exchange('GET /healthz HTTP/1.1\r\nhost: x\r\nx-a: '))
    expect((await fetch(`${running.url}/healthz`)).status).toBe(200)
    for (const said of await Promise.all(slow)) expect(said).toMatch(/^(HTTP\/1.1 408|$)/)
  })
  it('that never finish their body are cut', async () => {
    const said = await exchange(
      'POST /echo HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"a"',
    )
    expect(said).toMatch(/^(HTTP\/1.1 408|$)/)
  })
  it('do not cut a long answer: one that takes 11 s arrives', async () => {
    expect(await (await fetch(`${running.url}/slow`)).json()).toEqual({ slept: true })
  })
})

describe('rate limits', () => {
  it('count by organization, say what is left, and end in 429', async () => {
    const limited = await startApp()
    try {
      const bearer = await limited.token()
      const answers: Awaited<ReturnType<typeof limited.ask>>[] = []
      for (let batch = 0; batch < 10 && !answers.some(({ status }) => status === 429); batch++) {
        answers.push(
          ...(await Promise.all(
            Array.from({ length: 100 }, () => limited.ask('mutation { add(name: "x") { id } }', { token: bearer })),
          )),
        )
      }
      const refused = answers.filter(({ status }) => status === 429)
      expect(answers.length - refused.length).toBeGreaterThanOrEqual(limits.createsPerMinute)
      expect(refused[0]?.body.errors?.[0]?.extensions).toMatchObject({ code: 'RATE_LIMITED', http: { status: 429 } })
      expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0)
      expect((await limited.ask('{ me { name } }', { token: bearer })).headers.get('ratelimit-limit')).toBe(
        String(limits.otherPerMinute),
      )
      expect(
        (await limited.ask('mutation { add(name: "x") { id } }', { token: await limited.token('bob', 'other') }))
          .status,
      ).toBe(200)
    } finally {
      await limited.stop()
    }
  })
  it('slow down whoever guesses tokens', async () => {
    const limited = await startApp()
    try {
      const statuses = await Promise.all(
        Array.from({ length: limits.anonymousPerMinute + 10 }, (_, i) =>
          limited.ask('{ __typename }', { token: `garbage${i}` }).then(({ status }) => status),
        ),
      )
      expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(limits.anonymousPerMinute + 2)
      expect(statuses).toContain(429)
      expect((await limited.ask('{ __typename }')).status).toBe(200)
    } finally {
      await limited.stop()
    }
  })
})

describe('health', () => {
  it('is reported, and not cached', async () => {
    for (const path of ['/livez', '/healthz']) {
      const alive = await fetch(running.url + path)
      expect([alive.headers.get('cache-control'), await alive.json()]).toEqual(['no-store', { status: 'ok' }])
    }
    const ready = await fetch(`${running.url}/readyz`)
    expect([ready.status, await ready.json()]).toEqual([
      200,
      {
        status: 'ready',
        checks: {
          database: 'ok',
          migrations: 'ok',
          notices: 'ok',
          vms: expect.stringContaining('No worker'),
          edge: expect.stringContaining('No edge process'),
        },
      },
    ])
  })
  it('is told as Kubernetes tells its own, where the lines are asked for', async () => {
    const told = async (path: string): Promise<(string | number | null)[]> => {
      const answer = await fetch(running.url + path)
      return [answer.status, answer.headers.get('content-type'), await answer.text()]
    }
    const [status, type, lines] = await told('/readyz?verbose')
    expect([status, type]).toEqual([200, 'text/plain; charset=utf-8'])
    expect(String(lines).split('\n')).toEqual([
      '[+]database ok',
      '[+]migrations ok',
      '[+]notices ok',
      expect.stringMatching(/^\[\+\]vms not needed: No worker/),
      expect.stringMatching(/^\[\+\]edge not needed: No edge process/),
      'readyz check passed',
      '',
    ])
    expect(await told('/livez?verbose=1')).toEqual([200, type, '[+]ping ok\nlivez check passed\n'])
  })
  it('says that Postgres died, and comes back with it', async () => {
    const postgres = await startTestPostgres()
    const own = await startApp({ on: postgres })
    try {
      const ready = async (): Promise<number> => (await fetch(`${own.url}/readyz`)).status
      await postgres.killPostgres()
      await until('it says so', async () => (await ready()) === 503)
      const away = await fetch(`${own.url}/readyz?verbose`)
      expect([away.status, away.headers.get('retry-after')]).toEqual([503, '1'])
      expect(await away.text()).toMatch(/^\[-\]database failed: Postgres does not answer\.\n[^]*readyz check failed\n$/)
      expect((await fetch(`${own.url}/livez`)).status).toBe(200)
      const query = await own.ask('{ __typename }')
      expect([query.status, query.body.errors?.[0]?.extensions.code]).toEqual([503, 'SERVICE_UNAVAILABLE'])
      await postgres.restartPostgres()
      await until('it is ready again', async () => (await ready()) === 200)
      expect((await own.ask('{ __typename }')).status).toBe(200)
    } finally {
      await own.stop()
      await postgres.stop()
    }
  })
})

describe('metrics', () => {
  const readiness = watchReadiness(['works'], async () => ({ works: 'Not yet.', other: true }))
  const open = { config: { metricsHost: '127.0.0.1', metricsToken: null }, readiness }

  it('are for whoever has the token, where there is one; probes need none', async () => {
    const token = 'a-secret-of-operators'
    const secured = await serveMetrics(12_950, { ...open, config: { ...open.config, metricsToken: token } })
    const ask = (path: string, authorization?: string): Promise<Response> =>
      fetch(`http://127.0.0.1:${secured.port}${path}`, { headers: authorization ? { authorization } : {} })
    try {
      for (const wrong of [undefined, token, 'Bearer ', `Bearer ${token}s`, `Basic ${token}`]) {
        const refused = await ask('/metrics', wrong)
        expect([wrong, refused.status, refused.headers.get('www-authenticate')]).toEqual([wrong, 401, 'Bearer'])
        expect(await refused.text()).toContain('BERTH_METRICS_TOKEN')
      }
      const told = await ask('/metrics', `Bearer ${token}`)
      expect([told.status, await told.text()]).toEqual([200, expect.stringContaining('process_cpu_seconds_total')])
      const ready = await ask('/readyz?verbose')
      expect([ready.status, ready.headers.get('retry-after'), await ready.text()]).toEqual([
        503,
        '1',
        '[-]works failed: Not yet.\n[+]other ok\nreadyz check failed\n',
      ])
      expect(await (await ask('/readyz')).json()).toEqual({
        status: 'not_ready',
        checks: { works: 'Not yet.', other: 'ok' },
      })
      expect(await (await ask('/livez')).json()).toEqual({ status: 'ok' })
      const posted = await fetch(`http://127.0.0.1:${secured.port}/livez`, { method: 'POST' })
      expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    } finally {
      secured.close()
    }
  })
  it('and probes are answered again soon after strangers took all connections and finish no request', async () => {
    const server = await serveMetrics(12_970, open)
    const strangers = Array.from({ length: 64 }, () => {
      const socket = connect(server.port, '127.0.0.1', () => socket.write('GET /livez HTTP/1.1\r\nhost: x\r\n'))
      return socket.on('error', () => socket.destroy())
    })
    try {
      await Promise.all(strangers.map((socket) => once(socket, 'connect')))
      const asks = (): Promise<boolean> =>
        fetch(`http://127.0.0.1:${server.port}/livez`).then(
          ({ ok }) => ok,
          () => false,
        )
      expect(await asks()).toBe(false)
      await until('a probe is answered', asks, 20_000)
    } finally {
      for (const socket of strangers) socket.destroy()
      server.close()
    }
  }, 30_000)
  it('are not opened to other hosts without a token', () => {
    const settings = { BERTH_METRICS_HOST: '0.0.0.0' }
    expect(() => readConfig(settings)).toThrow(/set BERTH_METRICS_TOKEN too/)
    expect(() => readConfig({ ...settings, BERTH_METRICS_TOKEN: 'short' })).toThrow(/a secret of 16 to 4096/)
    expect(readConfig({ ...settings, BERTH_METRICS_TOKEN: 'sixteen-letters!' })).toMatchObject({
      metricsHost: '0.0.0.0',
    })
  })
  it('are served on a port of their own, by route template', async () => {
    await fetch(`${running.url}/name/some-name`)
    const [one, other] = [await serveMetrics(12_900, open), await serveMetrics(12_900, open)]
    try {
      expect(other.port).toBeGreaterThan(one.port)
      const text = await (await fetch(`http://127.0.0.1:${one.port}/metrics`)).text()
      expect(text).toMatch(
        /berth_http_request_duration_seconds_count\{method="GET",route="\/name\/:name",status="200"\} \d/,
      )
      expect(text).not.toContain('some-name')
      for (const name of [
        'berth_open_streams',
        'berth_rate_limited_total',
        'berth_database_connections{state="open"}',
        'process_resident_memory_bytes',
      ])
        expect(text).toContain(name)
      expect((await fetch(`http://127.0.0.1:${one.port}/`)).status).toBe(404)
    } finally {
      one.close()
      other.close()
    }
    expect((await fetch(`${running.url}/metrics`)).status).toBe(404)
  })
})
