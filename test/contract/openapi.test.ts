/** The OpenAPI documents: whole, well formed, and true of what the paths really answer. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { surfaces } from '#rest-compat/surfaces.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { agentsRows } from './matrix/agents.ts'
import { fill, makeCallers, makeRefusingNode, makeTarget, type Callers, type Target } from './callers.ts'
import { follow, problemsOf, type Schema } from './json-schema.ts'
import { gatewayRows, restRows } from './matrix.ts'
import { triggerSettings } from './matrix/triggers.ts'
import {
  additiveAnswerKeys,
  additiveKeys,
  answerKeys,
  documented,
  documentedOfAgents,
  documentedOfGateway,
  requestKeys,
} from './openapi/documented.ts'

type Operation = {
  operationId: string
  tags: string[]
  summary: string
  parameters: { name: string; in: string; required: boolean; schema: Schema }[]
  requestBody?: { required: boolean; content: Record<string, { schema: Schema }> }
  responses: Record<string, { description: string; content?: Record<string, { schema: Schema }> }>
  'x-berth-additive'?: true
}
type Document = {
  openapi: string
  info: { title: string; version: string; license: { identifier: string } }
  servers: { url: string }[]
  security: unknown[]
  tags: { name: string; description?: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema>; securitySchemes: Record<string, unknown> }
}

let berth: Berth
let callers: Callers
let node: string
const documents: Record<string, Document> = {}
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100', ...triggerSettings } })
  callers = await makeCallers(berth)
  node = await makeRefusingNode(berth)
  for (const { name, openapiPath } of surfaces) documents[name] = (await berth.call<Document>('GET', openapiPath)).body
})
afterAll(() => berth.stop())

/** The successes of an operation besides its first. */
const furtherSuccess: Readonly<Record<string, readonly string[]>> = {
  'GET /api/v1/build/jobs/{id}/logs/stream': ['204'], // resumed behind its last entry
  'POST /api/v1/codehost/pushes/{link_id}': ['204'], // an event that is no push
  'GET /v1/groups/{id}/runs/{run_id}/stream': ['204'], // resumed behind its last chunk
  'POST /v1/hooks/github': ['200'], // a ping
  'GET /api/v1/vms/{vm_id}/files': ['206'],
  'PUT /api/v1/vms/{vm_id}/files': ['202'], // a part that is not the last
}
const operationsOf = (document: Document): [string, Operation][] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  )
const infra = (): Document => documents['infra']!
/** A schema, or what its reference leads to. */
const whole = (schema: Schema | undefined, document: Document): Schema =>
  typeof schema?.['$ref'] === 'string' ? follow(schema['$ref'], document as unknown as Schema) : (schema ?? {})

describe('the description', () => {
  test('has every routed path, and marks exactly those as additive that go beyond the interface', () => {
    const operations = operationsOf(infra())
    expect(operations.map(([key]) => key).sort()).toEqual(Object.keys(restRows).sort())
    expect(
      operations
        .filter(([, operation]) => !operation['x-berth-additive'])
        .map(([key]) => key)
        .sort(),
    ).toEqual([...documented].sort())
  })

  test('says of no answer that it may be null: a root field that failed is an error here', () => {
    for (const document of Object.values(documents)) {
      for (const [key, { responses }] of operationsOf(document)) {
        for (const [status, { content = {} }] of Object.entries(responses))
          for (const { schema } of Object.values(content))
            expect([key, status, whole(schema, document)['type']]).not.toEqual([
              key,
              status,
              expect.arrayContaining(['null']),
            ])
      }
    }
  })

  test('of the gateway has every routed path too, and marks what is ours', () => {
    const operations = operationsOf(documents['llm']!)
    expect(operations.map(([key]) => key.replace(' ', ' /llm')).sort()).toEqual(Object.keys(gatewayRows).sort())
    expect(
      operations
        .filter(([, operation]) => !operation['x-berth-additive'])
        .map(([key]) => key)
        .sort(),
    ).toEqual([...documentedOfGateway].sort())
    for (const [key, { responses }] of operations)
      expect(Object.keys(responses), key).toEqual(expect.arrayContaining(['400', '401', '403', '503'])) // what the interface lists for all of them
  })

  test('of the agents service has every routed path too, and marks what is ours', () => {
    const operations = operationsOf(documents['agents']!)
    expect(operations.map(([key]) => key.replace(' ', ' /agents')).sort()).toEqual(Object.keys(agentsRows).sort())
    expect(
      operations
        .filter(([, operation]) => !operation['x-berth-additive'])
        .map(([key]) => key)
        .sort(),
    ).toEqual([...documentedOfAgents].sort())
  })

  test('has the documented keys of every request and every answer', () => {
    const byKey = Object.fromEntries(operationsOf(infra()))
    for (const [key, keys] of Object.entries(requestKeys)) {
      const properties = Object.keys(
        whole(byKey[key]?.requestBody?.content['application/json']?.schema, infra())['properties'] ?? {},
      )
      expect(properties.filter((name) => !(additiveKeys[key] ?? []).includes(name)).sort(), key).toEqual(
        [...keys].sort(),
      )
    }
    for (const [key, keys] of Object.entries(answerKeys)) {
      const success = Object.entries(byKey[key]?.responses ?? {}).find(([status]) => status.startsWith('2'))?.[1]
      const properties = Object.keys(whole(success?.content?.['application/json']?.schema, infra())['properties'] ?? {})
      const ours = additiveAnswerKeys[key] ?? []
      expect(
        properties.filter((name) => !ours.includes(name)),
        key,
      ).toEqual(keys)
      expect(properties, key).toEqual(expect.arrayContaining([...ours]))
    }
  })

  test('of a body of environment variables says that it is from text to text', () => {
    for (const method of ['patch', 'put'])
      expect(
        infra().paths['/api/v1/vms/{vm_id}/env']?.[method]?.requestBody?.content['application/json']?.schema,
      ).toEqual({ type: 'object', additionalProperties: { type: 'string' } })
  })
  test('of a session’s stream is of its events, which stand in the data of each frame as they are', () => {
    const stream =
      documents['agents']!.paths['/v1/sessions/{id}/events/stream']?.['get']?.responses['200']?.content?.[
        'text/event-stream'
      ]?.schema
    expect(stream).toMatchObject({ description: expect.stringContaining('{id, type, processed_at') })
    expect(stream).not.toHaveProperty('properties')
  })

  test('of every surface is OpenAPI 3.1 with a server, a license and security', () => {
    for (const { name, mount } of surfaces) {
      const document = documents[name]!
      expect(document.openapi).toBe('3.1.0')
      expect(document.servers).toEqual([{ url: `${berth.services.config.publicUrl}${mount}` }])
      expect(document.info).toMatchObject({
        title: expect.stringMatching(/^Berth /),
        version: '1.0',
        license: { identifier: 'Apache-2.0' },
      })
      expect(document.security).toEqual([{ bearer: [] }])
      expect(document.components.securitySchemes).toHaveProperty('bearer')
    }
  })

  test('has unique operation ids, a summary and a success for each, and every parameter of the path', () => {
    const operations = operationsOf(infra())
    expect(new Set(operations.map(([, { operationId }]) => operationId)).size).toBe(operations.length)
    for (const [key, operation] of operations) {
      expect(operation.operationId, key).toMatch(/^[a-z][A-Za-z0-9]*$/)
      expect(operation.summary.length, key).toBeGreaterThan(5)
      expect(
        Object.keys(operation.responses)
          .filter((status) => status.startsWith('2'))
          .slice(1),
        key,
      ).toEqual(furtherSuccess[key] ?? [])
      expect(
        '409' in operation.responses || !operation.parameters.some(({ name }) => name === 'Idempotency-Key'),
        key,
      ).toBe(true)
      expect(
        operation.parameters.filter((one) => one.in === 'path').map((one) => one.name),
        key,
      ).toEqual([...key.matchAll(/\{(\w+)\}/g)].map((match) => match[1]))
      expect(
        operation.parameters.filter((one) => one.in === 'path' && !one.required),
        key,
      ).toEqual([])
      for (const status of ['401', '403', '429', '500']) expect(operation.responses, key).toHaveProperty(status)
      for (const [status, { description }] of Object.entries(operation.responses))
        expect(description.length, `${key} ${status}`).toBeGreaterThan(3)
    }
  })

  test('of every surface has the nouns and bodies as components, and refers to each that it has', () => {
    for (const [name, nouns] of Object.entries({
      infra: ['Error', 'Vm', 'Build'],
      agents: ['Error', 'Agent', 'Session', 'Vault', 'CreateVaultInput'],
      llm: ['Error', 'Model'],
    })) {
      const document = documents[name]!
      const said = JSON.stringify(document)
      const { schemas } = document.components
      expect(Object.keys(schemas), name).toEqual(expect.arrayContaining(nouns))
      expect(
        Object.keys(schemas).filter((one) => !said.includes(`"#/components/schemas/${one}"`)),
        name,
      ).toEqual([])
    }
    const { schemas } = documents['agents']!.components
    expect(schemas['Vault']).toMatchObject({
      required: ['id', 'type', 'display_name', 'metadata', 'created_at', 'updated_at', 'archived_at'],
    })
    expect(schemas['CreateVaultInput']).toMatchObject({ required: ['display_name'], additionalProperties: false })
  })

  test('names each operation shortly and once, and groups it by a noun that it describes', () => {
    for (const document of Object.values(documents)) {
      const operations = operationsOf(document)
      const ids = operations.map(([, { operationId }]) => operationId)
      expect(new Set(ids).size).toBe(ids.length)
      for (const [key, { operationId, tags, parameters }] of operations) {
        expect(
          parameters.filter(({ name }) => ['input', 'filter'].includes(name)),
          key,
        ).toEqual([]) // variables of the document, which no caller sends
        expect(operationId, key).toMatch(/^[a-z]+(?:[A-Z][a-z0-9]*)+$/)
        expect(operationId.length, key).toBeLessThan(40)
        const described = document.tags.filter((tag) => tags.includes(tag.name))
        expect([key, described.length, described.every(({ description }) => description)]).toEqual([key, 1, true])
      }
    }
    const agents = Object.fromEntries(operationsOf(documents['agents']!).map(([key, one]) => [key, one.operationId]))
    expect(agents).toMatchObject({
      'POST /v1/vaults': 'createVault',
      'PUT /v1/vaults/{id}': 'updateVault',
      'POST /v1/vaults/{id}': 'updateVaultByPost',
    })
  })

  test('uses only words that a client generator knows, and references that lead somewhere', () => {
    const look = (value: unknown, path: string): void => {
      if (typeof value !== 'object' || value === null) return
      const reference = (value as Schema)['$ref']
      if (typeof reference === 'string') follow(reference, infra() as unknown as Schema)
      const { type } = value as { type?: unknown }
      if (path.endsWith('schema') && type !== undefined)
        for (const one of [type].flat())
          expect(['object', 'array', 'string', 'integer', 'number', 'boolean', 'null'], path).toContain(one)
      for (const [key, item] of Object.entries(value)) look(item, `${path}.${key}`)
    }
    look(infra(), '')
  })
})

describe('what a path answers fits its description:', () => {
  /** One for all requests between which nothing is carried out. */
  let untouched: Target | undefined
  test.each(
    [...Object.entries(restRows), ...Object.entries(agentsRows)].filter(
      ([key]) => !/\/(?:events|stream|content|attachment)$/.test(key),
    ), // not JSON
  )('%s', async (key, { body, query, of }) => {
    const [method = '', path = ''] = key.split(' ')
    const document = path.startsWith('/agents/') ? documents['agents']! : infra()
    const operation = document.paths[path.replace(/^\/agents(?=\/)/, '')]?.[method.toLowerCase()]
    // Those who are refused come first: they leave the target as it is.
    for (const caller of ['none', 'stranger', 'keyWithout', 'viewer', 'owner'] as const) {
      const target = (untouched ??= await makeTarget(berth, callers.owner, node))
      const filled = fill(path + (query ?? ''), target, of)
      const answer = await berth.call<unknown>(method, filled, {
        token: callers[caller],
        ...(body === undefined ? {} : { body: fill(JSON.stringify(body), target) }),
      })
      if (method !== 'GET' && ![401, 403, 404].includes(answer.status)) untouched = undefined
      const described = operation?.responses[String(answer.status)]
      expect(described, `${answer.status} as ${caller} is not described`).toBeDefined()
      const { content } = described ?? {}
      const schema = content?.['application/json']?.schema
      const line = content?.['application/x-ndjson']?.schema // of which there may be none
      if (answer.body === null) expect(schema).toBeUndefined()
      else
        expect(problemsOf(answer.body, schema ?? line ?? {}, document as unknown as Schema, { closed: true })).toEqual(
          [],
        )
    }
  })

  test('usage with an open and an ended session', async () => {
    const { vm } = await makeTarget(berth, callers.owner, node)
    const { pool } = berth.services.database
    await pool.query(
      "insert into usage_sessions (organization_id, vm_id, vcpu_count, memory_mb, cost_per_hour, started_at, ended_at, end_reason) select organization_id, id, 2, 2048, 0.09, now() - interval '90 minutes', now() - interval '30 minutes', 'request' from vms where purpose is null order by created_at desc limit 1",
    )
    await pool.query(
      'insert into usage_sessions (organization_id, vm_id, vcpu_count, memory_mb, cost_per_hour) select organization_id, id, 2, 2048, 0.09 from vms where purpose is null order by created_at desc limit 1',
    )
    const { body } = await berth.call<{ sessions: Record<string, unknown>[] }>('GET', '/api/v1/usage', {
      token: callers.owner,
    })
    const schema = infra().paths['/api/v1/usage']?.['get']?.responses['200']?.content?.['application/json']?.schema
    expect(problemsOf(body, schema ?? {}, infra() as unknown as Schema, { closed: true })).toEqual([])
    expect(body.sessions).toMatchObject([
      { ended_at: null, end_reason: null },
      { vm_id: vm, duration_minutes: 60, total_cost_billed: 0.09, end_reason: 'request' },
    ])
  })
})

test.each(surfaces.map(({ name }) => name))('descriptions of %s name fields as REST spells them', (name) => {
  const descriptions = [...JSON.stringify(documents[name]).matchAll(/"description":"((?:[^"\\]|\\.)*)"/g)].map(
    ([, text]) => text!,
  )
  expect(descriptions.length).toBeGreaterThan(20)
  const ofGraphQL = descriptions.filter((text) => /`[a-z]+[A-Z]\w*`/.test(text) && !/^What `\w+` takes/.test(text))
  expect(ofGraphQL).toEqual([])
})

describe('the checker', () => {
  const check = (value: unknown, schema: Schema): string[] =>
    problemsOf(value, schema, { a: { type: 'string' } }, { closed: true })
  test.each<[unknown, Schema]>([
    [5, { type: 'string' }],
    [null, { type: 'string' }],
    [1.5, { type: 'integer' }],
    [{}, { type: 'object', properties: { a: {} }, required: ['a'] }],
    [{ b: 1 }, { type: 'object', properties: { a: {} } }],
    [['x'], { type: 'array', items: { type: 'integer' } }],
    ['2026-01-01', { type: 'string', format: 'date-time' }],
    ['x', { type: 'string', enum: ['y'] }],
    [5, { $ref: '#/a' }],
    ['x', { oneOf: [] }],
  ])('finds what is wrong with %j by %j', (value, schema) => {
    expect(check(value, schema)).toHaveLength(1)
  })
  test('finds nothing wrong with what fits', () => {
    expect(
      check(
        { a: [null, 'x'], b: { any: 1 } },
        {
          type: 'object',
          properties: { a: { type: 'array', items: { type: ['string', 'null'] } }, b: {} },
          required: ['a'],
        },
      ),
    ).toEqual([])
  })
})
