/**
 * Functions in real VMs, asked through the ingress of a whole `npm start`: started by a request, asleep when nobody asks,
 * started again after a crash, deployed and rolled back under a stream of requests, and with each process killed.
 */
import { once } from 'node:events'
import { request, Agent, type IncomingMessage } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { startInstallation, type Installation } from '../support/installation.ts'
import { paste, shellBlocks } from '../support/paste.ts'
import { until } from '../support/until.ts'
import { organizationOf } from '../support/builds.ts'

/** A machine boots by emulation, and a killed process starts again. */
const slowMs = 120_000
let berth: Installation
let token: string
beforeAll(async () => {
  berth = await startInstallation()
  token = await berth.token()
}, 600_000)
afterAll(() => berth.stop(), slowMs)

/** A small server: it says what it is, streams, takes web sockets, ends when it is told to, and prints each request. */
const server = (name: string): string => `#!/usr/bin/env python3
import os, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    count = 0
    def do_GET(self):
        print('asked for', self.path, os.environ.get('GREETING'), flush=True)
        if self.path == '/crash': os._exit(3)
        if self.path == '/socket': return self.echo()
        if self.path == '/events': return self.events()
        Handler.count += 1
        body = ('${name} %d %s' % (Handler.count, os.environ.get('GREETING', '-'))).encode()
        self.send_response(200); self.send_header('Content-Length', str(len(body))); self.end_headers(); self.wfile.write(body)
    def echo(self):
        self.send_response(101); self.send_header('Connection', 'Upgrade'); self.send_header('Upgrade', 'websocket')
        self.send_header('Sec-WebSocket-Accept', 's3pPLMBiTxaQ9kYGzzhZRbK+xOo='); self.end_headers(); self.wfile.flush()
        while piece := self.rfile.read1(100): self.wfile.write(piece); self.wfile.flush()
        self.close_connection = True
    def events(self):
        self.send_response(200); self.send_header('Content-Type', 'text/event-stream'); self.send_header('Connection', 'close'); self.end_headers()
        for n in range(3): self.wfile.write(b'data: ${name} %d\\n\\n' % n); self.wfile.flush(); time.sleep(0.3)
    def log_message(self, *args): pass
print('listening', flush=True)
ThreadingHTTPServer.request_queue_size = 64
ThreadingHTTPServer(('127.0.0.1', int(os.environ['PORT'])), Handler).serve_forever()
`

type Made = {
  id: string
  url: string
  status: string
  statusReason: string | null
  versions: { nodes: { id: string; number: number }[] }
}
async function graphql<Data>(query: string, variables: unknown = {}): Promise<Data> {
  const answer = await fetch(`${berth.url}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables }),
  })
  const { data, errors } = (await answer.json()) as { data: Data; errors?: unknown }
  if (errors) throw new Error(JSON.stringify(errors))
  return data
}
async function change(name: string, input: Record<string, unknown>): Promise<Made> {
  const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input`
  const data = await graphql<Record<string, { function: Made }>>(
    `mutation ($input: ${type}!) { ${name}(input: $input) { function { id url status statusReason versions { nodes { id number } } } } }`,
    { input },
  )
  return data[name]!.function // it had no errors
}
const call = (method: string, path: string, body?: unknown): Promise<Response> =>
  fetch(berth.url + path, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
async function upload(bytes: string): Promise<string> {
  const answer = await call('POST', '/api/v1/compute/uploads', { organization_id: organizationOf(token) })
  const made = (await answer.json()) as { upload_url: string; binary_url: string }
  await fetch(made.upload_url, { method: 'PUT', body: bytes })
  return made.binary_url
}
/** Asks Berth's own Postgres. */
async function sql<Found extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Found[]> {
  const client = new pg.Client({ connectionString: berth.databaseUrl() })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query<Found>(text, values)).rows
  } finally {
    await client.end()
  }
}
const uuid = (publicId: string): string => decodeId('function', publicId) ?? ''
type Stored = { status: string; vm_id: string | null; failures: number }
async function row(publicId: string): Promise<Stored> {
  const [found] = await sql<Stored>('select status, vm_id, failures from functions where id = $1', [uuid(publicId)])
  return found! // it was made
}
const toBe = (publicId: string, status: string) =>
  until(`the function is ${status}`, async () => (await row(publicId)).status === status, slowMs)
const instances = async (publicId: string): Promise<number> =>
  (await sql('select 1 from function_instances where function_id = $1', [uuid(publicId)])).length

type Answered = { status: number; text: string; headers: IncomingMessage['headers'] }
/** Asks for a path of a host, as the ingress serves it by HTTP. */
async function ask(host: string, path = '/', agent: Agent | false = false): Promise<Answered> {
  const asking = request({ host: '127.0.0.1', port: berth.httpPort, path, headers: { host }, agent })
  asking.end()
  const [answer] = (await once(asking, 'response')) as [IncomingMessage]
  let text = ''
  for await (const piece of answer.setEncoding('utf8') as AsyncIterable<string>) text += piece
  return { status: answer.statusCode ?? 0, text, headers: answer.headers }
}
const hostOf = ({ url }: Made): string => new URL(url).hostname
const isReady = async (): Promise<boolean> => (await fetch(`${berth.url}/readyz`).catch(() => null))?.status === 200
const textOf = async (one: Made): Promise<string> => (await ask(hostOf(one))).text
const logOf = async (one: Made): Promise<string> => {
  const data = await graphql<{ function: { log: { nodes: { output: string }[] } } }>(
    `{ function(id: "${one.id}") { log(last: 100) { nodes { output } } } }`,
  )
  return data.function.log.nodes.map(({ output }) => output).join('')
}
/** As if nobody had asked it for long. */
async function letSleep(one: Made): Promise<void> {
  const before = "now() - interval '2 hours'"
  await sql(`update vms set started_at = ${before} where id = $1`, [(await row(one.id)).vm_id])
  await sql(`update functions set active_at = ${before}, idle_seconds = 10 where id = $1`, [uuid(one.id)])
  await toBe(one.id, 'stopped')
}

let made: Made

test('a function that was deployed from an upload is started by its first request, once for all who ask', async () => {
  made = await change('createFunction', {
    name: 'hello',
    binaryUrl: await upload(server('one')),
    variables: { GREETING: 'good morning' },
    idleSeconds: 3600,
  })
  expect(made.status).toBe('STOPPED')
  const answers = await Promise.all(Array.from({ length: 5 }, () => textOf(made)))
  expect(answers.sort()).toEqual([1, 2, 3, 4, 5].map((count) => `one ${count} good morning`))
  expect((await row(made.id)).status).toBe('running')
  expect(await instances(made.id)).toBe(1)
}, 180_000)

test('its output is its log, without the values of its variables; and no operation on VMs reaches its VM', async () => {
  await until('the log is there', async () => (await logOf(made)).includes('asked for / ***'))
  const log = await logOf(made)
  expect(log).toContain('Starting version 1')
  expect(log).toContain('listening')
  expect(log).not.toContain('good morning')
  expect(await (await call('GET', '/api/v1/vms')).json()).toEqual([])
})

test(
  'it is served over HTTP/2 and HTTPS, with streams and web sockets, and at a domain that is linked to it',
  async () => {
    const session = connectHttp2(`https://${hostOf(made)}`, {
      createConnection: undefined,
      host: '127.0.0.1',
      port: berth.httpsPort,
      servername: hostOf(made),
      rejectUnauthorized: false,
    } as never) // the types know no servername
    const stream = session.request({ ':path': '/events', ':authority': hostOf(made) })
    let events = ''
    for await (const piece of stream.setEncoding('utf8') as AsyncIterable<string>) events += piece
    session.close()
    expect(events).toBe('data: one 0\n\ndata: one 1\n\ndata: one 2\n\n')

    const socket = connect(berth.httpPort, '127.0.0.1')
    socket.write(
      `GET /socket HTTP/1.1\r\nHost: ${hostOf(made)}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n`,
    )
    let said = ''
    socket.setEncoding('latin1').on('data', (piece: string) => (said += piece))
    await until('it has begun', () => said.includes('\r\n\r\n'))
    socket.write('ping')
    await until('it is said back', () => said.endsWith('\r\n\r\nping'))
    socket.destroy()

    const domain = 'shop.example.com'
    await call('POST', '/api/v1/domains', { domain })
    await sql("update domains set status = 'active', pending_since = null, verified_at = now() where name = $1", [
      domain,
    ])
    expect((await call('POST', `/api/v1/domains/${domain}/link`, { function_id: made.id })).status).toBe(200)
    await until('its domain leads there', async () => (await ask(domain)).text.startsWith('one '))
  },
  slowMs,
)

test(
  'it sleeps when nobody asks, and the next request wakes it as it was',
  async () => {
    const before = Number((await textOf(made)).split(' ')[1])
    await letSleep(made)
    expect(await textOf(made)).toBe(`one ${before + 1} good morning`)
    await change('updateFunction', { id: made.id, idleSeconds: 3600 })
  },
  slowMs,
)

test(
  'a crash is said, and as long as it is in use its program is started again',
  async () => {
    expect((await ask(hostOf(made), '/crash')).status).toBe(502)
    await until('it failed once', async () => (await row(made.id)).failures === 1)
    expect(await textOf(made)).toBe('one 1 good morning')
    const [event] = await sql<{ status_reason: string }>(
      "select status_reason from function_events where function_id = $1 and status = 'error'",
      [uuid(made.id)],
    )
    expect(event?.status_reason).toMatch(
      /^Its program ended with exit code 3\. Before that it printed: .*asked for \/crash/s,
    )
    expect(event?.status_reason, 'only what this start printed').not.toContain('Starting version')
  },
  slowMs,
)

test(
  'one that cannot start says so, and when to ask again',
  async () => {
    const broken = await change('createFunction', { name: 'broken', binaryUrl: await upload('#!/bin/sh\nexit 7\n') })
    const { status, headers, text } = await ask(hostOf(broken))
    expect([status, Number(headers['retry-after'])]).toEqual([503, expect.any(Number)])
    expect(text).toMatch(/crashed\. The function failed to start/)
    expect(text).not.toContain('exit code')
    await graphql(`mutation { deleteFunction(input: {id: "${broken.id}"}) { deletedId } }`)
    await until('its address is gone', async () => (await ask(hostOf(broken))).status === 404)
    const empty = await change('createFunction', { name: 'empty' })
    expect(await ask(hostOf(empty))).toMatchObject({
      status: 503,
      text: /^This service cannot start yet\. Nothing is deployed yet/,
    })
  },
  slowMs,
)

/** Asks all the time, with several clients that keep their connections. */
function keepAsking(one: Made): { answers: string[]; failed: string[]; stop: () => Promise<void> } & AsyncDisposable {
  const [answers, failed]: [string[], string[]] = [[], []]
  let isGoing = true
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  const clients = Array.from({ length: 4 }, async () => {
    while (isGoing) {
      const { status, text } = await ask(hostOf(one), '/', agent).catch((error: unknown) => ({
        status: 0,
        text: String(error),
      }))
      if (status === 200) answers.push(text.split(' ')[0] ?? '')
      else failed.push(`${status} ${text}`)
      await pause(20)
    }
  })
  const stop = async (): Promise<void> => {
    isGoing = false
    await Promise.all(clients)
    agent.destroy()
  }
  return {
    answers,
    failed,
    stop,
    [Symbol.asyncDispose]: stop,
  }
}
/** The edge hears of a deployment some milliseconds after it was answered. */
const answers = (one: Made, which: string): Promise<void> =>
  until(`${which} answers`, async () => (await textOf(one)).startsWith(`${which} `), slowMs)
const more = (load: { answers: string[] }, which: string, count = 20): Promise<void> => {
  const from = load.answers.length
  return until(
    `${which} answers`,
    () => load.answers.slice(from).filter((name) => name === which).length >= count,
    slowMs,
  )
}

test(
  'a deployment takes the requests without one that fails, and so does a roll-back; what was replaced goes',
  async () => {
    await using load = keepAsking(made)
    await more(load, 'one')
    const before = (await row(made.id)).vm_id
    made = await change('deployFunction', { id: made.id, binaryUrl: await upload(server('two')) })
    expect(made.status).toBe('STARTING')
    await answers(made, 'two')
    await more(load, 'two')
    expect(load.answers.lastIndexOf('one')).toBeLessThan(load.answers.indexOf('two') + 4)
    await sql('update function_instances set ends_at = now() where vm_id = $1', [before])
    await until('the old instance is gone', async () => (await instances(made.id)) === 1, slowMs)
    const first = made.versions.nodes.find(({ number }) => number === 1)
    await change('rollBackFunction', { id: made.id, to: first?.id })
    await answers(made, 'one')
    await more(load, 'one')
    await load.stop()
    expect(load.failed).toEqual([])
  },
  2 * slowMs,
)

test(
  'while Berth’s Postgres is away it goes on being served',
  async () => {
    await using load = keepAsking(made)
    await more(load, 'one')
    expect(berth.kill('postgres')).toBe(true)
    await until('it is away', () =>
      sql('select 1').then(
        () => false,
        () => true,
      ),
    )
    await more(load, 'one')
    await until(
      'it is back',
      () =>
        sql('select 1').then(
          () => true,
          () => false,
        ),
      slowMs,
    )
    await more(load, 'one')
    await load.stop()
    expect(load.failed).toEqual([])
  },
  slowMs,
)

test.each(['edge', 'worker', 'web', 'postgres'])(
  'what was deployed just before the %s is killed is served, by one instance',
  async (victim) => {
    const name = `after-${victim}`
    await until('all of it is back', isReady, slowMs)
    const binaryUrl = await upload(server(name))
    await change('deployFunction', { id: made.id, binaryUrl })
    const asked = textOf(made).catch(String) // it may be cut
    expect(berth.kill(victim)).toBe(true)
    await asked
    await until('it answers', async () => (await textOf(made).catch(String)).startsWith(`${name} `), slowMs)
    await sql('update function_instances set ends_at = now() where function_id = $1 and ends_at is not null', [
      uuid(made.id),
    ])
    await until('one instance is left', async () => (await instances(made.id)) === 1, slowMs)
  },
  2 * slowMs,
)

test(
  'the walk through a function answers what it says',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-function-'))
    try {
      await until('all of it is back', isReady, slowMs)
      const env = { TOKEN: await berth.token('readers') }
      const printed = await paste(shellBlocks('docs/functions.md'), { url: berth.url, folder, env })
      const [, , , first, rest, log, variables, second, back, slow, sleep, domain, deleted] = printed.map((text) =>
        text.trim(),
      )
      expect(rest).toMatch(/"start_seconds":45[^]*"has_more":false/)
      expect(first).toBe('Hello from /world')
      expect(log).toMatch(/"status":"RUNNING".*Starting version 1\\n.*asked for \/world\\n/)
      expect(variables).toMatch(/"status":"STARTING".*\nGood morning from \/again$/)
      expect(second).toMatch(/"number":2.*\nGood morning again from \/two$/)
      expect(back).toMatch(/"number":1.*\nGood morning from \/one$/)
      expect(slow).toContain('"startSeconds":120')
      expect(sleep).toContain('"idleSeconds":60')
      expect(domain).toMatch(/hello.example.com leads to function:fn_/)
      expect(deleted).toMatch(/"deletedId":"fn_/)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
  2 * slowMs,
)
