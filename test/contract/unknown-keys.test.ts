/** A field or parameter that nothing takes is refused by name: one that were dropped could be a restriction. */
import {
  getNamedType,
  isInputObjectType,
  parse,
  typeFromAST,
  type NonNullTypeNode,
  type OperationDefinitionNode,
} from 'graphql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Route } from '#rest-compat/routes.ts'
import { surfaces } from '#rest-compat/surfaces.ts'
import { ignoredParameters } from '#rest-compat/variables.ts'
import { schema } from '#schema/schema.ts'
import { memberWord, wireFields } from '#schema/wire-names.ts'
import { encodeId } from '#src/platform/ids.ts'
import { snakeCase } from '#src/platform/texts.ts'
import { findUnknownKey, unknownKeySentence } from '#src/platform/shapes/unknown-keys.ts'
import { startBerth, type Answer, type Berth } from '../support/berth.ts'
import { idsOf } from '../support/makers.ts'
import { until } from '../support/until.ts'

let berth: Berth
let token: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token('alice', 'acme', 'owner')
})
afterAll(() => berth.stop())

type Body = { error: string | { code: string; message: string }; message?: string }
type Refusal = { status: number; code: string; message: string }
const refusalOf = ({ status, body }: Answer<Body>): Refusal =>
  typeof body.error === 'string' ? { status, code: body.error, message: body.message ?? '' } : { status, ...body.error }

/** Every route of the two surfaces that refuse; ids in paths name nothing, because nothing is looked up before. */
const routes = surfaces
  .filter(({ takesUnknownKeys }) => !takesUnknownKeys)
  .flatMap(({ mount, routes: table }) =>
    Object.entries(table).map(([key, route]) => ({ key: key.replace(' ', ` ${mount}`), route })),
  )
const named = (key: string): [method: string, path: string] => {
  const [method = '', path = ''] = key.split(' ')
  return [method, path.replaceAll(/\{\w+\}/g, 'nothing')]
}
const hasBody = (key: string): boolean => /^(?:POST|PUT|PATCH) /.test(key)
const definitionOf = ({ operation }: Route): OperationDefinitionNode =>
  parse(operation).definitions[0] as OperationDefinitionNode // a document has one operation
const variablesOf = (route: Route): string[] =>
  (definitionOf(route).variableDefinitions ?? []).map(({ variable }) => variable.name.value)
/** The keys that a route's input has in REST: all of them, those that the path fills among them. */
function inputKeys(route: Route): string[] {
  const variable = definitionOf(route).variableDefinitions?.find((one) => one.variable.name.value === 'input')
  const type = variable && getNamedType(typeFromAST(schema, variable.type as NonNullTypeNode))
  return isInputObjectType(type) ? wireFields(type).map(({ name }) => memberWord(type, name)) : []
}
const bodyFields = (key: string, route: Route): string[] => {
  if (!hasBody(key) || route.bodyInto) return []
  const filled = Object.values(route.into ?? {}).map(snakeCase)
  return variablesOf(route)
    .flatMap((name) => (name === 'input' ? inputKeys(route) : [name]))
    .filter((name) => !key.includes(`{${name}}`) && !route.query?.includes(name) && !filled.includes(name))
}
const ask = async (key: string, query: string, body?: unknown): Promise<Refusal> => {
  const [method, path] = named(key)
  return refusalOf(await berth.call<Body>(method, path + query, { token, ...(body === undefined ? {} : { body }) }))
}

describe('a query parameter that nothing takes', () => {
  test.each(routes)('is refused by name: $key', async ({ key }) => {
    expect(await ask(key, '?frobnicate=1', hasBody(key) ? {} : undefined)).toMatchObject({
      status: 400,
      code: 'invalid_request',
      message: 'Unknown query parameter frobnicate. Leave it out.',
    })
  })

  test('is not among those that real clients add: they mean nothing', async () => {
    for (const name of Object.keys(ignoredParameters)) {
      expect((await berth.call('GET', `/api/v1/vms?${name}=true`, { token })).status).toBe(200)
      expect((await berth.call('GET', `/agents/v1/agents?${name}=true`, { token })).status).toBe(200)
    }
  })

  test('is refused even if it has the name of a property that every object has', async () => {
    for (const name of ['__proto__', 'constructor', 'toString'])
      expect(await ask('GET /api/v1/vms', `?${name}=1`)).toMatchObject({
        status: 400,
        message: expect.stringContaining(name),
      })
  })

  test('that is a list’s filter in its other spelling is refused when both are given', async () => {
    expect(await ask('GET /agents/v1/sessions', '?statuses[]=idle&statuses=running')).toMatchObject({
      status: 400,
      message: expect.stringContaining('statuses'),
    })
  })
})

describe('a field that nothing takes', () => {
  const withFields = routes.filter(({ key, route }) => hasBody(key) && !route.bodyInto)

  test.each(withFields)('is refused by name: $key', async ({ key }) => {
    expect(await ask(key, '', { frobnicate: 1 })).toMatchObject({
      status: 400,
      code: 'invalid_request',
      message: 'Unknown field frobnicate. Leave it out.',
    })
  })

  test.each(withFields.flatMap(({ key, route }) => bodyFields(key, route).map((field) => ({ key, field }))))(
    'is refused with the one that was meant: $field of $key',
    async ({ key, field }) => {
      const misspelt = `${field.slice(0, 1)}${field.slice(2)}`
      const camel = field.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
      if (field.length > 5)
        expect((await ask(key, '', { [misspelt]: 1 })).message).toBe(
          `Unknown field ${misspelt}. Did you mean ${field}? Correct it or leave it out.`,
        )
      if (camel !== field)
        expect((await ask(key, '', { [camel]: 1 })).message).toBe(
          `Unknown field ${camel}. Did you mean ${field}? Correct it or leave it out.`,
        )
    },
  )

  test('is refused on a path that takes no body at all', async () => {
    expect(await ask('POST /agents/v1/agents/{id}/archive', '', { force: true })).toMatchObject({
      status: 400,
      message: expect.stringContaining('force'),
    })
    expect(await ask('DELETE /agents/v1/agents/{id}', '', { force: true })).toMatchObject({
      status: 400,
      message: expect.stringContaining('force'),
    })
    expect(await ask('POST /agents/v1/agents/{id}/archive', '', {})).toMatchObject({ status: 404 }) // an empty one says nothing
  })

  test('is named with its place, and changes nothing', async () => {
    const [vms, agents, environments, sessions, runs] = [
      'POST /api/v1/vms',
      'POST /agents/v1/agents',
      'POST /agents/v1/environments',
      'POST /agents/v1/sessions',
      'POST /agents/v1/runs',
    ]
    const agent = { name: 'helper', model: 'berth/demo' }
    const toolset = { type: 'agent_toolset_20260401' }
    const cases: [string, unknown, string][] = [
      [vms, { git_repos: [{ url: 'https://example.com/a/b', brnch: 'main' }] }, 'git_repos[0].brnch'],
      [vms, { network_policy: { type: 'limited', alowed_hosts: ['example.com'] } }, 'network_policy.alowed_hosts'],
      [agents, { ...agent, model: { id: 'berth/demo', efort: 'low' } }, 'model.efort'],
      [agents, { ...agent, model: { id: 'berth/demo', inference_geo: 'eu' } }, 'model.inference_geo'],
      [
        agents,
        { ...agent, tools: [{ ...toolset, permission_policy: { type: 'always_ask' } }] },
        'tools[0].permission_policy',
      ],
      [
        agents,
        { ...agent, tools: [{ ...toolset, default_config: { permision_policy: {} } }] },
        'tools[0].default_config.permision_policy',
      ],
      [
        agents,
        {
          ...agent,
          tools: [{ ...toolset, configs: [{ name: 'bash', permission_policy: { type: 'always_ask', by: 'x' } }] }],
        },
        'tools[0].configs[0].permission_policy.by',
      ],
      [
        agents,
        {
          ...agent,
          tools: [
            {
              type: 'custom',
              name: 'x',
              description: 'x',
              input_schema: { type: 'object', anything: 1 },
              strict: true,
            },
          ],
        },
        'tools[0].strict',
      ],
      [
        agents,
        { ...agent, mcp_servers: [{ type: 'url', name: 'x', url: 'https://example.com', headers: {} }] },
        'mcp_servers[0].headers',
      ],
      [agents, { ...agent, mcp_services: [{ id: 'linear', enabled: false }] }, 'mcp_services[0].enabled'],
      [agents, { ...agent, skills: [{ type: 'custom', skill_id: 'x', pinned: true }] }, 'skills[0].pinned'],
      [environments, { name: 'x', config: { memory: 1024 } }, 'config.memory'],
      [environments, { name: 'x', config: { networking: { type: 'limited', hosts: [] } } }, 'config.networking.hosts'],
      [environments, { name: 'x', config: { packages: { yum: [] } } }, 'config.packages.yum'],
      [environments, { name: 'x', config: { type: 'self_hosted', memory_mb: 1024 } }, 'config.memory_mb'],
      [
        environments,
        { name: 'x', config: { git_repos: [{ url: 'https://example.com/a/b', depth: 1 }] } },
        'git_repos[0].depth',
      ],
      [sessions, { agent: { type: 'agent', id: 'x', system: 'y' } }, 'agent.system'],
      [sessions, { agent: { type: 'agent_with_overrides', id: 'x', sistem: 'y' } }, 'agent.sistem'],
      [
        sessions,
        { agent: 'x', budget: { type: 'limit', max_list_cost: { amount: '1', currency: 'USD' }, hard: true } },
        'budget.hard',
      ],
      [
        sessions,
        {
          agent: 'x',
          initial_events: [{ type: 'user.message', content: [{ type: 'text', text: 'x', cache_control: {} }] }],
        },
        'initial_events[0].content[0].cache_control',
      ],
      [runs, { agent: { id: 'x', tools: [] } }, 'agent.tools'],
    ]
    for (const [key, body, place] of cases) {
      const answer = await ask(key, '', body)
      expect(answer, JSON.stringify(body)).toMatchObject({ status: 400, code: 'invalid_request' })
      expect(answer.message).toContain(place)
    }
    expect((await berth.call<{ data: unknown[] }>('GET', '/agents/v1/agents', { token })).body.data).toEqual([])
    expect((await berth.call<{ data: unknown[] }>('GET', '/agents/v1/environments', { token })).body.data).toEqual([])
  })

  test('is refused even if it is __proto__, however deep it is and however large the body is', async () => {
    const agent = (more: string): string => `{"name":"x","model":"berth/demo",${more}}`
    const [vms, agents] = ['POST /api/v1/vms', 'POST /agents/v1/agents']
    const spec = [...Buffer.from('{"__proto__":{"cache":false}}')]
    const cases: [string, unknown][] = [
      [vms, '{"__proto__":{"network_policy":{"type":"none"}}}'],
      [vms, '{"network_policy":{"type":"limited","allowed_hosts":["a.com"],"\\u005f_proto__":{}}}'],
      ['POST /api/v1/build/jobs', { org_id: encodeId('organization', idsOf(token).organizationId), spec }],
      [agents, agent('"model":{"id":"berth/demo","__proto__":{"inference_geo":"eu"}}')],
      [agents, agent('"metadata":{"__proto__":"x"}')],
      [agents, agent(`"system":"${'x'.repeat(90_000)}","metadata":{"__proto__":"x"}`)],
    ]
    for (const [key, body] of cases)
      expect(await ask(key, '', body), JSON.stringify(body).slice(0, 80)).toMatchObject({
        status: 400,
        message: expect.stringContaining('Unknown field __proto__'),
      })
    const asked = await berth.ask(
      'mutation make($metadata: JSON) { createAgent(name: "x", model: "berth/demo", metadata: $metadata) { id } }',
      { token, variables: JSON.parse('{"metadata":{"__proto__":"x"}}') },
    )
    expect(asked.body.errors?.[0]?.message).toContain('Unknown field __proto__')
  })

  test('of credentials is named, without the secrets beside it', async () => {
    const {
      body: { id },
    } = await berth.call<{ id: string }>('POST', '/agents/v1/vaults', { token, body: { display_name: 'v' } })
    const at = `POST /agents/v1/vaults/${id}/credentials`
    const secret = 'canary-secret-5519'
    const oauth = { type: 'mcp_oauth', mcp_server_url: 'https://example.com/mcp', access_token: secret }
    for (const [auth, place] of [
      [
        { type: 'static_bearer', mcp_server_url: 'https://example.com/mcp', token: secret, scope: 'read' },
        'auth.scope',
      ],
      [{ ...oauth, scope: 'read' }, 'auth.scope'],
      [
        { type: 'environment_variable', secret_name: 'A', secret_value: secret, allowed_hosts: [] },
        'auth.allowed_hosts',
      ],
      [{ type: 'environment_variable', name: 'A', secret_value: secret }, 'Did you mean auth.secret_name?'],
    ] as const) {
      const { message, status } = await ask(at, '', { auth })
      expect([status, message]).toEqual([400, expect.stringContaining(place)])
      expect(message).not.toContain(secret)
    }
  })
})

test('REST takes every argument that GraphQL has for the same thing', () => {
  /** Arguments that a REST path says in another way. */
  const elsewhere: Readonly<Record<string, string>> = {
    'GET /agents/v1/models/{model} provider': 'the path with two parts',
    'GET /agents/v1/agents/{id}/versions version': 'all of them',
  }
  const missing = routes.flatMap(({ key, route }) => {
    const definition = definitionOf(route)
    const root = {
      query: schema.getQueryType(),
      mutation: schema.getMutationType(),
      subscription: schema.getSubscriptionType(),
    }[definition.operation]
    return definition.selectionSet.selections.flatMap((selection) => {
      const field = selection.kind === 'Field' ? root?.getFields()[selection.name.value] : undefined
      const given = selection.kind === 'Field' ? selection.arguments?.map(({ name }) => name.value) : []
      if (String(field?.type).includes('Connection')) return [] // a documented list has parameters of its own
      const current = (field?.args ?? []).filter(({ deprecationReason }) => !deprecationReason)
      return current.filter(({ name }) => !given?.includes(name)).map(({ name }) => `${key} ${name}`)
    })
  })
  expect(missing.filter((one) => !(one in elsewhere))).toEqual([])
})

test('REST creates a VM like GraphQL: with its size, its policy, its metadata and its expiry', async () => {
  await berth.services.database.pool.query(
    "insert into nodes (id, name, agent_url, acceleration, memory_mb) values (gen_random_uuid(), 'silent', 'unix:/nonexistent/node.sock', 'emulation', 100000)",
  )
  const order = {
    vcpu_count: 1,
    memory_mb: 512,
    disk_mb: 10_240,
    ttl_seconds: 60,
    metadata: { team: 'x' },
    network_policy: { type: 'limited', allowed_hosts: ['example.com'] },
  }
  for (const [field, value] of [
    ['vcpu_count', 0],
    ['memory_mb', 1],
    ['disk_mb', 1],
    ['ttl_seconds', 9],
  ] as const)
    expect(await ask('POST /api/v1/vms', '', { ...order, [field]: value })).toMatchObject({
      status: 400,
      message: expect.stringContaining(field),
    })
  const making = berth.call<{ vm_id: string }>('POST', '/api/v1/vms', { token, body: order })
  type Row = {
    id: string
    vcpuCount: number
    memoryMb: number
    diskMb: number
    metadata: unknown
    networkPolicy: unknown
    expiresAt: string
    createdAt: string
  }
  const asked =
    '{ vms { nodes { id vcpuCount memoryMb diskMb metadata networkPolicy { type ... on LimitedNetworkPolicy { allowedHosts } } expiresAt createdAt } } }'
  const found = async (): Promise<Row[]> =>
    ((await berth.ask(asked, { token })).body.data as { vms: { nodes: Row[] } }).vms.nodes
  await until('the VM is there', async () => (await found()).length === 1)
  const [vm] = await found()
  expect(vm).toMatchObject({
    vcpuCount: 1,
    memoryMb: 512,
    diskMb: 10_240,
    metadata: { team: 'x' },
    networkPolicy: { type: 'LIMITED', allowedHosts: ['example.com'] },
  })
  expect(Math.round((Date.parse(vm?.expiresAt ?? '') - Date.parse(vm?.createdAt ?? '')) / 1000)).toBe(60)
  expect((await berth.call('DELETE', `/api/v1/vms/${vm?.id}`, { token })).status).toBe(204) // nobody makes it here: the create need not wait
  expect((await making).status).toBe(201)
})

describe('the nearest key', () => {
  const known = ['network_policy', 'memory_mb', 'name', 'metadata']
  test.each([
    ['networkPolicy', 'network_policy'],
    ['newtork_policy', 'network_policy'],
    ['memory', 'memory_mb'],
    ['nmae', 'name'],
    ['Name', 'name'],
    ['meta_data', 'metadata'],
  ])('to %s is %s', (key, near) => {
    expect(unknownKeySentence('field', key, known)).toBe(
      `Unknown field ${key}. Did you mean ${near}? Correct it or leave it out.`,
    )
  })
  test.each([
    ['display_name', ['name', 'memory_mb'], 'name'],
    ['title', ['name', 'tools'], 'name'],
    ['cwd', ['command', 'working_dir'], 'working_dir'],
    ['workdir', ['command', 'workingDir'], 'workingDir'],
    ['prompt', ['agent', 'kickoff', 'cron'], 'kickoff'],
    ['prompt', ['model', 'system', 'name'], 'system'],
    ['ram', ['vcpu_count', 'memory_mb'], 'memory_mb'],
    ['cores', ['vcpuCount', 'memoryMb'], 'vcpuCount'],
    ['repository', ['repo_url', 'git_ref'], 'repo_url'],
    ['schedule', ['cron', 'timezone'], 'cron'],
    ['tz', ['cron', 'timezone'], 'timezone'],
    ['page_size', ['limit', 'after'], 'limit'],
    ['team_id', ['org_id', 'name'], 'org_id'],
  ])('to %s, of %j, is %s: the usual word for it', (key, names, near) => {
    expect(unknownKeySentence('field', key, names)).toBe(
      `Unknown field ${key}. Did you mean ${near}? Correct it or leave it out.`,
    )
  })

  test.each([
    ['networking', ['name', 'config'], ['config.networking'], 'config.networking'],
    ['url', ['name', 'git_repos'], ['git_repos[].url', 'git_repos[].path'], 'git_repos[].url'],
    ['name', ['secret_name', 'secret_value'], [], 'secret_name'],
    ['id', ['vm_id', 'path'], [], 'vm_id'],
    ['vmId', ['id', 'name'], [], 'id'],
    ['title', ['name', 'config'], ['config.title'], 'name'],
    ['value', ['auth', 'metadata'], ['auth.secret_value'], 'auth.secret_value'],
  ])('to %s, of %j with %j inside them, is %s', (key, names, nested, near) => {
    expect(unknownKeySentence('field', key, names, '', nested)).toBe(
      `Unknown field ${key}. Did you mean ${near}? Correct it or leave it out.`,
    )
  })

  test.each(['x', 'colour', 'timeout', ''])('to %j is none', (key) => {
    expect(unknownKeySentence('field', key, known)).toMatch(/^Unknown field .*\. Leave it out\.$/)
  })

  test('to a key of a megabyte is found quickly, and its sentence is short', () => {
    const key = 'name'.repeat(262_144)
    const before = process.threadCpuUsage() // not the clock: others may be at work on this machine
    const sentence = unknownKeySentence('field', key, known)
    expect(process.threadCpuUsage(before).user / 1000).toBeLessThan(50)
    expect(sentence.length).toBeLessThan(200)
    expect(unknownKeySentence('field', 'a\u0000\n"b', known)).toBe('Unknown field "a\\u0000\\n\\"b". Leave it out.')
  })

  test('is among an object’s own keys, not those that it inherits', () => {
    expect(findUnknownKey(Object.create({ a: 1 }) as object, new Set())).toBeUndefined()
    expect(findUnknownKey(JSON.parse('{"__proto__": 1}') as object, new Set(['a']))).toBe('__proto__')
  })
})
