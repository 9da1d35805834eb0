/** The Python examples: each path and field in them is in the OpenAPI documents, and those that need no VM run as they are. */
import { once } from 'node:events'
import { createServer, request, type IncomingHttpHeaders, type Server } from 'node:http'
import { parse, validate } from 'graphql'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { schema as graph } from '#schema/schema.ts'
import { decodeId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { follow, type Schema } from '../contract/json-schema.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { idsOf, makeSilentNode, makeVmRow } from '../support/makers.ts'
import { freePort } from '../support/ports.ts'
import { pythonExamples, readCalls, runPython, type Calls, type Sent } from './python.ts'

type Operation = {
  parameters?: { name: string; in: string }[]
  requestBody?: { content: Record<string, { schema: Schema }> }
  responses: Record<string, { content?: Record<string, { schema?: Schema }> }>
}
type Document = { paths: Record<string, Record<string, Operation>> } & Schema
type Passed = { method: string; url: string; headers: IncomingHttpHeaders }

let berth: Berth
let token: string
let door: Server
let address: string
const passed: Passed[] = []
/** What the door does instead of passing a request on, or with its answer. */
let disturb: (one: Passed) => 'busy' | 'cut' | undefined = () => undefined

beforeAll(async () => {
  berth = await startBerth({ worker: true, settings: { BERTH_VMS: 'off', BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token('alice', 'acme', 'owner')
  door = createServer((incoming, outgoing) => {
    const one = { method: incoming.method ?? '', url: incoming.url ?? '', headers: incoming.headers }
    passed.push(one)
    const what = disturb(one)
    if (what === 'busy') {
      const body = { type: 'error', error: { type: 'rate_limit_error', code: 'rate_limited', message: 'Try again.' } }
      outgoing.writeHead(429, { 'content-type': 'application/json', 'retry-after': '0' }).end(JSON.stringify(body))
      incoming.resume()
      return
    }
    const onward = request(`${berth.url}${one.url}`, { method: one.method, headers: one.headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 0, answer.headers)
      if (what !== 'cut') return void answer.pipe(outgoing)
      let text = ''
      answer.on('data', (piece: Buffer) => {
        text += piece.toString()
        const [first] = /^[^]*?\ndata: [^\n]*\n\n/.exec(text) ?? []
        if (first === undefined || outgoing.destroyed) return
        outgoing.write(first, () => outgoing.destroy())
        onward.destroy()
      })
    })
    onward.on('error', () => outgoing.destroy())
    incoming.pipe(onward)
  })
  const port = await freePort()
  address = `http://127.0.0.1:${port}`
  door.listen(port, '127.0.0.1')
  await once(door, 'listening')
})
beforeEach(() => {
  passed.length = 0
  disturb = () => undefined
})
afterAll(async () => {
  door.close()
  door.closeAllConnections()
  await berth.stop()
})

const run = (name: string): Promise<string> => runPython(name, { SERVER_URL: address, TOKEN: token })

/** A schema and all of its branches. */
function branchesOf(schema: Schema, document: Schema): Schema[] {
  const { $ref, oneOf, anyOf } = schema as { $ref?: string; oneOf?: Schema[]; anyOf?: Schema[] }
  if ($ref !== undefined) return branchesOf(follow($ref, document), document)
  return [schema, ...[oneOf ?? [], anyOf ?? []].flat().flatMap((one) => branchesOf(one, document))]
}

/** The keys that are sent, and that a schema does not have where they stand. */
function strangersIn(sent: Sent, schemas: Schema[], document: Schema, at: string): string[] {
  const branches = schemas.flatMap((one) => branchesOf(one, document))
  if (Array.isArray(sent)) {
    const items = branches.flatMap(({ items: each }) => (each ? [each as Schema] : []))
    return sent.flatMap((one) => strangersIn(one, items, document, `${at}[]`))
  }
  return Object.entries(sent ?? {}).flatMap(([key, value]) => {
    const of = branches.flatMap(({ properties, additionalProperties }) => {
      const found = (properties as Record<string, Schema> | undefined)?.[key] ?? additionalProperties
      return typeof found === 'object' && found !== null ? [found as Schema] : []
    })
    return of.length === 0 ? [`${at}.${key}`] : strangersIn(value, of, document, `${at}.${key}`)
  })
}

/** The names of all fields within a schema. */
function fieldsOf(schema: Schema, document: Schema, found = new Set<string>(), seen = new Set<unknown>()): Set<string> {
  for (const branch of branchesOf(schema, document)) {
    if (seen.has(branch)) continue
    seen.add(branch)
    const { properties = {}, items, additionalProperties } = branch as { properties?: Record<string, Schema> } & Schema
    for (const [name, one] of Object.entries(properties)) {
      found.add(name)
      fieldsOf(one, document, found, seen)
    }
    for (const one of [items, additionalProperties])
      if (typeof one === 'object' && one !== null) fieldsOf(one as Schema, document, found, seen)
  }
  return found
}

/** What a program names that the documents have not. */
function problemsIn({ calls, documents, fields }: Calls, services: { mount: string; document: Document }[]): string[] {
  const problems: string[] = []
  const known = new Set(documents.flatMap((one) => one.match(/\w+/g) ?? []))
  for (const { method, path, ids, body, query } of calls) {
    const found = services.flatMap(({ mount, document }) => {
      const operation = path.startsWith(mount) && document.paths[path.slice(mount.length)]?.[method.toLowerCase()]
      return operation ? [{ operation, document }] : []
    })[0]
    if (!found) {
      problems.push(`${method} ${path}`)
      continue
    }
    const { operation, document } = found
    const parameters = (where: string) =>
      (operation.parameters ?? []).filter((one) => one.in === where).map(({ name }) => name)
    if (parameters('path').toSorted().join() !== ids.join())
      problems.push(`${path} has not the parameters ${ids.join()}`)
    for (const name of Object.keys(query ?? {}))
      if (!parameters('query').includes(name)) problems.push(`${path}?${name}`)
    const taken = Object.values(operation.requestBody?.content ?? {}).map(({ schema }) => schema)
    problems.push(...strangersIn(body, taken, document, path))
    for (const { content = {} } of Object.values(operation.responses))
      for (const { schema } of Object.values(content)) if (schema) fieldsOf(schema, document, known)
  }
  problems.push(...fields.filter((name) => !known.has(name)).map((name) => `["${name}"]`))
  for (const one of documents) problems.push(...validate(graph, parse(one)).map(({ message }) => message))
  return problems
}

async function readServices(): Promise<{ mount: string; document: Document }[]> {
  const read = async (mount: string, path: string) => ({
    mount,
    document: (await berth.call<Document>('GET', path)).body,
  })
  return Promise.all([read('/agents', '/agents/openapi.json'), read('', '/api/v1/openapi.json')])
}

test('every path, parameter and field in the programs is in the OpenAPI documents, and the graph has their operations', async () => {
  const [services, programs] = await Promise.all([readServices(), readCalls()])
  expect(Object.keys(programs).toSorted()).toEqual(pythonExamples.toSorted())
  for (const [name, calls] of Object.entries(programs)) {
    expect(problemsIn(calls, services), name).toEqual([])
    expect([name, calls.calls.length > 0, calls.unread]).toEqual([name, true, name === 'errors.py' ? 1 : 0])
  }
  const wrong = {
    calls: [
      { method: 'GET', path: '/api/v1/machines', ids: [], body: null, query: null },
      { method: 'POST', path: '/agents/v1/agents', ids: [], body: { name: null, colour: null }, query: { loud: null } },
    ],
    documents: ['{ viewer { shoeSize } }'],
    fields: ['id', 'weight'],
    unread: 0,
  }
  expect(problemsIn(wrong, services)).toEqual([
    'GET /api/v1/machines',
    '/agents/v1/agents?loud',
    '/agents/v1/agents.colour',
    '["weight"]',
    expect.stringContaining('shoeSize'),
  ])
})

test('session.py follows its agent to the end, and after a cut goes on behind the last event', async () => {
  // A message that waits is streamed when it comes and when it is taken, or once.
  const steps = (printed: string): string[] =>
    printed
      .trim()
      .split('\n')
      .filter((line) => line !== 'user.message')
  const whole = steps(await run('session.py'))
  expect(whole).toContain('Hello from Python.')
  expect(whole.at(-1)).toBe('session.status_idle')
  const streams = (): Passed[] => passed.filter(({ url }) => url.includes('/events/stream'))
  expect(streams()).toHaveLength(1)
  passed.length = 0
  disturb = ({ url }) => (url.includes('/events/stream') && streams().length === 1 ? 'cut' : undefined)
  expect(steps(await run('session.py'))).toEqual(whole)
  expect(streams().map(({ headers }) => headers['last-event-id'])).toEqual([undefined, expect.stringMatching(/^\d+$/)])
})

test('what Berth is too busy for is tried again after Retry-After, as the same request', async () => {
  const made = (): Passed[] => passed.filter(({ method, url }) => method === 'POST' && url === '/agents/v1/agents')
  disturb = ({ url }) => (url === '/agents/v1/agents' && made().length === 1 ? 'busy' : undefined)
  expect(await run('session.py')).toContain('Hello from Python.')
  const keys = made().map(({ headers }) => headers['idempotency-key'])
  expect([keys.length, new Set(keys).size, typeof keys[0]]).toEqual([2, 1, 'string'])
})

test('usage.py reads all pages, and adds up what was paid', async () => {
  const vm = await makeVmRow(berth.services.db, token, await makeSilentNode(berth.services.db))
  await sql`
    insert into usage_sessions (organization_id, vm_id, vcpu_count, memory_mb, cost_per_hour, started_at, ended_at, end_reason)
    select ${idsOf(token).organizationId}, ${decodeId('vm', vm)}, 1, 512, 2, '2026-03-01T00:00:00Z', '2026-03-01T01:00:00Z', 'request'
    from generate_series(1, 150)`.execute(berth.services.db)
  const lines = (await run('usage.py')).trim().split('\n')
  expect([lines.length, lines.at(-1)]).toEqual([151, '150 uses, 300.00 USD'])
  expect(lines[0]).toContain(vm)
})

test('errors.py prints the code, the sentence and the id of each refusal', async () => {
  const lines = (await run('errors.py')).trim().split('\n')
  expect(lines).toEqual([
    expect.stringMatching(/^404 not_found req_\w{26}$/),
    expect.stringMatching(/^There is no such VM.* \(not_found, 404, req_\w{26}\)$/),
    expect.stringMatching(/^400 invalid_request req_\w{26}$/),
    expect.stringMatching(/memory_mb.* \(invalid_request, 400, req_\w{26}\)$/),
    expect.stringMatching(/^404 not_found req_\w{26}$/),
    expect.stringMatching(/session.* \(not_found, 404, req_\w{26}\)$/),
  ])
})
