/** Functions in real VMs: started by a request, asleep when nobody asks, started again after a crash, deployed and rolled back. */
import { request } from 'node:http'
import type { Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openFunctions, type EdgeFunctions } from '#src/edge/functions.ts'
import { createVmReach } from '#src/edge/http/vms.ts'
import { decodeId } from '#src/platform/ids.ts'
import { findOne, getOne, sql } from '#src/platform/postgres.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { organizationOf } from '../support/builds.ts'
import { until } from '../support/until.ts'

let berth: Berth
let token: string
let functions: EdgeFunctions
beforeAll(async () => {
  berth = await startBerth({ worker: true, pool: 1, settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token()
  functions = openFunctions(berth.services, createVmReach(berth.services))
}, 600_000)
afterAll(async () => {
  functions.close()
  await berth.stop()
})

/** A small server: it says what it is, ends when it is told to, and prints each request. */
const server = (name: string): string => `#!/usr/bin/env python3
import os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    count = 0
    def do_GET(self):
        print('asked for', self.path, os.environ.get('GREETING'), flush=True)
        if self.path == '/crash': os._exit(3)
        Handler.count += 1
        body = ('${name} %d %s' % (Handler.count, os.environ.get('GREETING', '-'))).encode()
        self.send_response(200); self.send_header('Content-Length', str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *args): pass
print('listening', flush=True)
HTTPServer(('127.0.0.1', int(os.environ['PORT'])), Handler).serve_forever()
`

type Made = {
  id: string
  status: string
  statusReason: string | null
  versions: { nodes: { id: string; number: number }[] }
}
async function change(name: string, input: Record<string, unknown>): Promise<Made> {
  const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input`
  const { body } = await berth.ask(
    `mutation ($input: ${type}!) { ${name}(input: $input) { function { id status statusReason versions { nodes { id number } } } } }`,
    { token, variables: { input } },
  )
  if (body.errors) throw new Error(JSON.stringify(body.errors))
  return (body.data as Record<string, { function: Made }>)[name]!.function // it had no errors
}
async function upload(bytes: string): Promise<string> {
  const { body } = await berth.call<{ upload_url: string; binary_url: string }>('POST', '/api/v1/compute/uploads', {
    token,
    body: { organization_id: organizationOf(token) },
  })
  await fetch(body.upload_url, { method: 'PUT', body: bytes })
  return body.binary_url
}
const uuid = (publicId: string): string => decodeId('function', publicId) ?? ''
const row = (publicId: string) =>
  getOne<{ status: string; statusReason: string | null; vmId: string | null; failures: number }>(
    berth.services.db,
    sql`select status, status_reason, vm_id, failures from functions where id = ${uuid(publicId)}`,
  )
const toBe = (publicId: string, status: string, limitMs = 60_000) =>
  until(`the function is ${status}`, async () => (await row(publicId)).status === status, limitMs)

/** Asks a function, through the way that the edge has to it. */
async function ask(publicId: string, path = '/'): Promise<string> {
  const stream = await functions.reach(uuid(publicId))
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const asking = request({
    path,
    createConnection: () => stream as Socket,
    headers: { host: 'x', connection: 'close' },
  })
  asking.once('response', (answer) => {
    answer.setEncoding('utf8')
    let text = ''
    answer.on('data', (part: string) => (text += part))
    answer.once('end', () => resolve(text)).once('error', reject)
  })
  asking.once('error', reject).end()
  return promise
}
const logOf = async (publicId: string): Promise<string> => {
  const { body } = await berth.ask(`{ function(id: "${publicId}") { log(last: 100) { nodes { output } } } }`, { token })
  const { nodes } = (body.data as { function: { log: { nodes: { output: string }[] } } }).function.log
  return nodes.map(({ output }) => output).join('')
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
  const answers = await Promise.all(Array.from({ length: 5 }, () => ask(made.id)))
  expect(answers.sort()).toEqual([1, 2, 3, 4, 5].map((count) => `one ${count} good morning`))
  expect((await row(made.id)).status).toBe('running')
  expect(
    await getOne(berth.services.db, sql`select count(*) from function_instances where function_id = ${uuid(made.id)}`),
  ).toEqual({ count: 1 })
}, 180_000)

test('its output is its log, without the values of its variables', async () => {
  await until('the log is there', async () => (await logOf(made.id)).includes('asked for / ***'))
  const log = await logOf(made.id)
  expect(log).toContain('Starting version 1')
  expect(log).toContain('listening')
  expect(log).not.toContain('good morning')
})

test('no operation on VMs reaches its VM', async () => {
  const { body } = await berth.call<{ data?: unknown[] }>('GET', '/api/v1/vms', { token })
  expect(body).toEqual([])
})

test('it sleeps when nobody asks, and the next request wakes it as it was', async () => {
  await sql`update functions set active_at = now() - interval '2 hours' where id = ${uuid(made.id)}`.execute(
    berth.services.db,
  )
  await sql`update vms set started_at = now() - interval '2 hours' where id = ${(await row(made.id)).vmId}`.execute(
    berth.services.db,
  )
  await toBe(made.id, 'stopped')
  expect(await ask(made.id)).toBe('one 6 good morning')
}, 120_000)

test('a crash is said, and as long as it is in use its program is started again', async () => {
  await expect(ask(made.id, '/crash')).rejects.toThrow()
  await until('it failed once', async () => (await row(made.id)).failures === 1)
  await toBe(made.id, 'running')
  expect(await ask(made.id)).toBe('one 1 good morning')
  const { statusReason } = await getOne<{ statusReason: string }>(
    berth.services.db,
    sql`select status_reason from function_events where function_id = ${uuid(made.id)} and status = 'error'`,
  )
  expect(statusReason).toMatch(/^Its program ended with exit code 3\. Before that it printed: .*asked for \/crash/s)
}, 60_000)

test('a deployment takes the requests, and what it replaced goes; a roll-back does the same', async () => {
  const before = (await row(made.id)).vmId
  made = await change('deployFunction', { id: made.id, binaryUrl: await upload(server('two')) })
  expect(made.status).toBe('STARTING')
  expect(await ask(made.id)).toBe('two 1 good morning')
  await sql`update function_instances set ends_at = now() where vm_id = ${before}`.execute(berth.services.db)
  await until(
    'the old instance is gone',
    async () => {
      const left = await findOne(berth.services.db, sql`select 1 from function_instances where vm_id = ${before}`)
      return left === undefined
    },
    60_000,
  )
  const first = made.versions.nodes.find(({ number }) => number === 1)
  await change('rollBackFunction', { id: made.id, to: first?.id })
  expect(await ask(made.id)).toBe('one 1 good morning')
}, 120_000)
