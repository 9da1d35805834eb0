/** A REST document runs interpreted the first time, is compiled at the second, and runs compiled from the third: all answer the same. */
import { buildSchema, type GraphQLFieldResolver } from 'graphql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeSurface } from '#rest-compat/openapi.ts'
import { createRunner, type Runner, type Variables } from '#rest-compat/run.ts'
import { surfaces } from '#rest-compat/surfaces.ts'
import { variableReader } from '#rest-compat/variables.ts'
import type { Context } from '#schema/builder.ts'
import { wireSchema } from '#schema/schema.ts'
import { idPrefixes } from '#src/platform/ids.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { setLogLevel } from '#src/platform/log.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { agentsRows } from './matrix/agents.ts'
import { fill, makeCallers, makeRefusingNode, makeTarget, type Callers, type Target } from './callers.ts'
import { follow, problemsOf, type Schema } from './json-schema.ts'
import { restRows, type RestRow } from './matrix.ts'
import { triggerSettings } from './matrix/triggers.ts'

type Described = Schema & {
  paths: Record<string, Record<string, { requestBody?: { content: Record<string, { schema: Schema }> } }>>
}

const times = [1, 2, 3]
const context = { requestId: 'req_test' } as Context // the resolvers below use nothing of it

/** A small schema whose `echo` tells which arguments came, and how. */
function smallSchema(): ReturnType<typeof buildSchema> {
  const made = buildSchema(`
    scalar JSON
    input Inner { a: String b: Int }
    type Item { id: ID! note: String }
    type Query { items(count: Int): [Item!]! failing(how: String!): Item maybe: Item }
    type Mutation { echo(text: String, number: Int, flag: Boolean, list: [String!], json: JSON, inner: Inner): JSON }
  `)
  const resolve = (type: string, field: string, resolver: GraphQLFieldResolver<unknown, unknown>): void => {
    const found = made.getType(type)
    if (!found || !('getFields' in found)) throw new Error(`no type ${type}`)
    ;(found.getFields()[field] as { resolve?: unknown }).resolve = resolver // graphql-js allows it before the first execution
  }
  resolve('Mutation', 'echo', (_root, args) => args)
  resolve('Query', 'items', (_root, { count }) =>
    Array.from({ length: Number(count ?? 2) }, (_, id) => ({ id: String(id), note: null })),
  )
  resolve('Query', 'maybe', () => null)
  resolve('Query', 'failing', (_root, { how }) => {
    if (how === 'refused') throw new BerthError('invalid_transition', 'not now', { retryAfterSeconds: 3 })
    if (how === 'absent') throw notFound('thing')
    throw new Error('the secret reason')
  })
  return made
}

describe('the runner', () => {
  const echo =
    'mutation ($text: String, $number: Int, $flag: Boolean, $list: [String!], $json: JSON, $inner: Inner) { body: echo(text: $text, number: $number, flag: $flag, list: $list, json: $json, inner: $inner) }'
  let runner: Runner
  beforeAll(async () => {
    runner = await createRunner(smallSchema())
  })
  afterAll(() => runner.close())

  /** Runs a document of its own for each set of variables, so that every set meets the first, the compiling and the compiled run. */
  async function runAll(source: string, variables: Variables): Promise<unknown[]> {
    const own = await createRunner(smallSchema())
    const operation = own.prepare(source)
    const outcomes: unknown[] = []
    for (const _ of times) {
      outcomes.push(
        await own
          .execute(operation, structuredClone(variables), { ...context })
          .catch((error: unknown) =>
            error instanceof BerthError ? { code: error.code, message: error.message, details: error.details } : error,
          ),
      )
    }
    await own.close()
    return outcomes
  }

  test.each<[string, Variables]>([
    ['nothing', {}],
    ['null everywhere', { text: null, number: null, flag: null, list: null, json: null, inner: null }],
    ['values', { text: 'x', number: 0, flag: false, list: [], json: { a: [1, null] }, inner: { a: null } }],
    ['one null, one value, others absent', { text: null, list: ['a'] }],
    ['an empty input', { inner: {} }],
  ])('hands %s on to the resolver as it came, every time', async (_what, variables) => {
    for (const outcome of await runAll(echo, variables)) expect(outcome).toEqual({ body: variables })
  })

  test('hands variables on as they came also when the one before was different', async () => {
    const operation = runner.prepare(echo)
    for (const variables of [{}, { text: null }, { text: 'x' }, {}, { number: null }, {}, { text: null }])
      expect(await runner.execute(operation, variables, { ...context })).toEqual({ body: variables })
  })

  test.each(['refused', 'absent', 'broken'])('throws the same error every time when a resolver is %s', async (how) => {
    setLogLevel('silent') // the broken one is logged whole, as it should be
    const outcomes = await runAll('query ($how: String!) { body: failing(how: $how) { id } }', { how })
    expect(outcomes[0]).toHaveProperty('code')
    for (const outcome of outcomes) expect(outcome).toEqual(outcomes[0])
    setLogLevel('error')
    expect(JSON.stringify(outcomes)).not.toContain('secret')
  })

  test.each<[string, Variables]>([
    ['a wrong type', { number: 'x' }],
    ['a fraction', { number: 1.5 }],
    ['a huge number', { number: 2 ** 40 }],
    ['a null in a list', { list: [null] }],
    ['an unknown key of an input', { inner: { c: 1 } }],
    ['a list for a text', { text: ['a', 'b'] }],
  ])('refuses %s with the same sentence every time, without the value', async (_what, variables) => {
    const outcomes = await runAll(echo, variables)
    expect(outcomes[0]).toMatchObject({
      code: 'invalid_request',
      message: expect.stringMatching(/must be|is not known/),
    })
    for (const outcome of outcomes) expect(outcome).toEqual(outcomes[0])
  })

  test('answers null and lists the same every time', async () => {
    for (const outcome of await runAll('query ($count: Int) { maybe { id } items(count: $count) { id note } }', {
      count: 3,
    })) {
      expect(outcome).toEqual({ maybe: null, items: ['0', '1', '2'].map((id) => ({ id, note: null })) })
    }
  })

  test.each([
    'mutation ($a: String) { echo(inner: {a: $a}) }',
    'mutation ($a: Int) { echo(inner: {a: "x", b: $a}) }',
    'mutation ($a: String) { echo(json: {deep: [{a: $a}]}) }',
  ])('refuses a document with a variable inside a literal: %s', (source) => {
    expect(() => runner.prepare(source)).toThrow(/variable inside an object literal/)
  })

  test.each(['{ nothing }', 'query ($a: Int) { items(count: $b) { id } }', 'not a document', '{ items }'])(
    'refuses a document that does not fit the schema: %s',
    (source) => {
      expect(() => runner.prepare(source)).toThrow()
    },
  )
})

test('a request’s variables are what it named: absent stays absent, null stays null, and nothing is inherited', async () => {
  const runner = await createRunner(smallSchema())
  const operation = runner.prepare(
    'mutation ($text: String, $number: Int, $list: [String!]) { body: echo(text: $text, number: $number, list: $list) }',
  )
  const route = { operation: operation.source, status: 200, errors: [], summary: '', query: ['list'] } as const
  const read = variableReader('POST', '/x', route, operation, { schema: runner.schema, lenient: true })
  const request = (body: unknown, query = {}): Variables => read({ body, query, headers: {}, params: {} } as never) // all that it reads of a request
  expect(request(undefined)).toEqual({})
  expect(Object.keys(request({}))).toEqual([])
  expect(Object.keys(request({ text: null, other: 1 }))).toEqual(['text'])
  expect(request({ text: null, number: 0 }, { list: 'a' })).toEqual({ text: null, number: 0, list: ['a'] })
  expect(Object.keys(request(Object.create({ text: 'inherited' })))).toEqual([])
  await runner.close()
})

test('every REST document fits the schema, and none has a variable inside a literal', async () => {
  const runner = await createRunner(wireSchema)
  for (const { routes } of surfaces) for (const { operation } of Object.values(routes)) runner.prepare(operation)
  await runner.close()
})

const rows: Readonly<Record<string, RestRow>> = { ...restRows, ...agentsRows }
/** The bodies that paths describe: each field, and whether it may be null. */
const described = await describedBodies()

async function describedBodies(): Promise<Map<string, { name: string; mayBeNull: boolean }[]>> {
  const runner = await createRunner(wireSchema)
  const bodies = new Map<string, { name: string; mayBeNull: boolean }[]>()
  for (const surface of surfaces) {
    const document = describeSurface(surface, runner, 'http://localhost') as Described
    for (const [path, methods] of Object.entries(document.paths))
      for (const [method, { requestBody }] of Object.entries(methods)) {
        const schema = requestBody?.content['application/json']?.schema
        const { properties = {} } =
          typeof schema?.['$ref'] === 'string' ? follow(schema['$ref'], document) : (schema ?? {})
        const fields = Object.entries(properties as Record<string, Schema>).map(([name, field]) => ({
          name,
          mayBeNull: problemsOf(null, field, document).length === 0,
        }))
        bodies.set(`${method.toUpperCase()} ${surface.mount}${path}`, fields)
      }
  }
  await runner.close()
  return bodies
}

/** An id of any kind. */
const anyId = new RegExp(`\\b(?:${Object.values(idPrefixes).join('|')})_[0-9a-z]{26}`, 'g')

/** What a field that may be left out is given, by its name; an id in braces is the target's. Absent: it excludes another one. */
const values: Readonly<Record<string, unknown>> = {
  agent: undefined, // `mode` is given
  agent_id: undefined, // `agent` is given
  'PATCH /api/v1/vms/{vm_id} vcpu_count': undefined, // of a VM that is stopped, as the next two
  'PATCH /api/v1/vms/{vm_id} memory_mb': undefined,
  'PATCH /api/v1/vms/{vm_id} disk_mb': undefined,
  'POST /agents/v1/sessions/{id} agent': { tools: [{ type: 'agent_toolset_20260401' }] },
  after: undefined, // of a push, whose signature is wrong in any case
  args: ['a'],
  auth: undefined, // the target's has OAuth, whose secrets are not changed
  authorization_token: 'x',
  background: false,
  binary_url: undefined, // nothing is uploaded
  build_id: undefined, // no build has succeeded
  'POST /api/v1/functions name': undefined, // two of one name are refused
  'PATCH /api/v1/functions/{function_id} name': undefined,
  'POST /api/v1/functions port': undefined, // nothing is deployed
  'POST /api/v1/functions start_command': undefined,
  'POST /api/v1/functions revision': undefined,
  revision: 'abc',
  idle_action: 'stop',
  idle_seconds: 60,
  wait: true,
  port: 8080,
  start_command: 'true',
  start_seconds: 60,
  stdin: 'typed',
  user: 'user',
  variables: { A: 'x' },
  budget: { type: 'limit', max_list_cost: { amount: '1.00', currency: 'USD' } },
  builtin: undefined, // `mode` is given
  category: 'fact',
  client_mode_enabled: true,
  code: undefined, // `command` is given
  config: { type: 'self_hosted' },
  commit_sha: '0123456789abcdef0123456789abcdef01234567',
  deleted: undefined,
  description: 'what it is',
  disk_mb: 10_240,
  display_name: 'its name',
  env: { A: 'x' },
  environment: undefined, // `environment_id` is given
  environment_id: '{environment}',
  'POST /agents/v1/runs environment_id': undefined, // `mode` brings its own
  execution_identity: { type: 'service_account' },
  external_ref: '{fresh}',
  folder_id: '',
  format: 'tar',
  function_id: '',
  git_branch: '',
  git_ref: 'main',
  git_repo_url: '',
  git_repos: [],
  initial_events: [{ type: 'user.message', content: [{ type: 'text', text: 'x' }] }],
  deny_message: 'Not now.',
  reason: 'Not now.',
  result: 'allow',
  recipient_ids: ['{groupMember}'],
  id: undefined, // the account that is connected, and there is none
  'POST /agents/v1/deployments initial_events': undefined, // `kickoff` is given
  input: 'x',
  iss: 'https://issuer.example.com',
  kickoff: undefined, // `initial_events` is given
  'PATCH /agents/v1/schedules/{id} kickoff': 'Go.',
  language: undefined, // `command` is given
  mcp_servers: [{ type: 'url', name: 'x', url: 'https://example.com/mcp' }],
  mcp_services: [],
  memory_mb: 512,
  metadata: { team: 'x' },
  model: { id: 'berth/demo' },
  multiagent: null,
  name: '{fresh}',
  'POST /api/v1/databases name': 'fresh',
  cron: '0 9 * * *',
  deployment: undefined, // an agent is given
  deployment_type: 'vm',
  'PATCH /agents/v1/triggers/{id} agent': '{agent}',
  'POST /agents/v1/triggers/{id} agent': '{agent}',
  enabled: false,
  events: ['push'],
  filters: { branches: ['main'], allow_forks: true },
  repo: 'octocat/{fresh}',
  domain: undefined, // a name of the organization's own
  'POST /api/v1/domains vm_port': undefined, // no VM is given
  'POST /api/v1/domains/{domain}/link function_id': undefined, // a VM is given
  network_name: 'backend',
  network_policy: { type: 'limited', allowed_hosts: ['example.com'] },
  organization_id: '{org}',
  'POST /agents/v1/memories organization_id': undefined, // a stranger shares nothing there
  path: '/',
  private: true,
  project_id: '{project}',
  recursive: true,
  ref: undefined,
  repo_url: 'https://example.com/x',
  repository: undefined,
  checkout: undefined,
  file_id: undefined, // of a file; a resource here is a repository
  mount_path: '/workspace/x',
  resources: [],
  scope: 'account',
  settings: { work_mem: '16MB' },
  signal: 'KILL',
  skills: [],
  skip_folder_create: true,
  sleep_after_seconds: 60,
  overlap: 'allow',
  spec: [123, 125],
  status: 'paused',
  state: undefined, // belongs to an authorization that was begun
  system: 'You are short.',
  template_id: 'base',
  timeout: 5,
  schedule: { type: 'cron', expression: '0 9 * * *', timezone: 'UTC' },
  timezone: 'UTC',
  title: 'its title',
  tools: [{ type: 'agent_toolset_20260401' }],
  ttl: 60,
  ttl_seconds: 60,
  vault_ids: ['{vault}'],
  vcpu_count: 1,
  version: 1,
  verify_ownership: true,
  vm_id: undefined,
  vm_port: 80,
  wake_on_request: true,
  working_dir: '/tmp',
}

/** The body of a path: what it needs, the same with null for whatever may be null, and with everything. */
const variants = {
  'only what it needs': (_key: string, body: object) => body,
  'null for all else': (key: string, body: object) => ({
    ...Object.fromEntries(fieldsOf(key).flatMap(({ name, mayBeNull }) => (mayBeNull ? [[name, null]] : []))),
    ...body,
  }),
  everything: (key: string, body: object) => ({
    ...Object.fromEntries(
      fieldsOf(key).map(({ name }) => [name, `${key} ${name}` in values ? values[`${key} ${name}`] : values[name]]),
    ),
    ...body,
  }),
} as const

function fieldsOf(key: string): { name: string; mayBeNull: boolean }[] {
  return described.get(key) ?? []
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

test('every field that a body may have is given a value here', () => {
  const given = Object.entries(rows).flatMap(([key, { body }]) =>
    fieldsOf(key)
      .filter(({ name }) => !(isObject(body) && name in body))
      .map(({ name }) => name),
  )
  expect([...new Set(given)].filter((name) => !(name in values))).toEqual([])
})

describe.each(Object.entries(variants))('every path, called with %s,', (variant, bodyOf) => {
  let berth: Berth
  let callers: Callers
  let node: string
  beforeAll(async () => {
    berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '1000', ...triggerSettings } }) // a runner of its own: nothing is compiled yet
    callers = await makeCallers(berth)
    node = await makeRefusingNode(berth)
  })
  afterAll(() => berth.stop())

  /** Ids, moments and request ids differ between targets; all else must not. */
  const same = (text: string, { vm, process, externalRef, environment, database, project }: Target): string =>
    text
      .replaceAll(database.slice(-26), 'DATABASE')
      .replaceAll(`app_${database.slice(-6)}`, 'USER')
      .replaceAll(project.slice(-26), 'PROJECT')
      .replaceAll(`-${vm.slice(-8)}.`, '-VM.')
      .replaceAll(vm, 'VM')
      .replaceAll(vm.slice(-26), 'VM')
      .replaceAll(/expires=\d+|signature=[\w-]+/g, 'SIGNED')
      .replaceAll(/berth_token=[\w.-]+/g, 'berth_token=TOKEN')
      .replaceAll(process, 'PROCESS')
      .replaceAll(externalRef, 'REF')
      .replaceAll(environment, 'ENVIRONMENT')
      .replaceAll(anyId, 'ID')
      .replaceAll(/fn-[0-9a-z-]+/g, 'FUNCTION')
      .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'FRESH')
      .replaceAll(/"verification_token":"[0-9a-f]{32}"/g, 'TOKEN')
      .replaceAll(/\d{13}-\d+/g, 'ENTRY')
      .replaceAll(/X-Amz-[^"]*/g, 'SIGNED')
      .replaceAll(/"(?:active|duration)_seconds":[\d.]+/g, 'DURATION')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'MOMENT')
  // Lists grow with each target; what has no other fields is called once.
  const plain = Object.entries(rows).filter(
    ([key, { body }]) =>
      !/\/(?:events|stream|content|attachment)$|GET \/api\/v1\/(?:vms|folders|functions|build\/jobs|databases|domains|organizations\/\{org_id\}\/domains)$|GET \/agents\/v1\/(?:agents|environments|files|skills|memories|vaults|sessions|deployments|deployment_runs|triggers|groups)$/.test(
        key,
      ) &&
      (variant === 'only what it needs' || fieldsOf(key).some(({ name }) => !(isObject(body) && name in body))),
  )

  test.each(plain)(
    'answers as the table of callers says, the same every time: %s',
    async (key, { body, query, of, outcomes }) => {
      const [method = '', path = ''] = key.split(' ')
      const said: string[] = []
      let target: Target | undefined
      for (const _ of times) {
        if (method !== 'GET' || !target) target = await makeTarget(berth, callers.owner, node)
        const sent = isObject(body) ? bodyOf(key, body) : undefined
        const answer = await berth.call(method, fill(path + (query ?? ''), target, of), {
          token: callers.owner,
          ...(sent === undefined ? {} : { body: fill(JSON.stringify(sent), target, of) }),
        })
        said.push(same(`${answer.status} ${JSON.stringify(answer.body)}`, target))
      }
      expect(new Set(said).size, said.join('\n')).toBe(1)
      expect(said[0]).toMatch(new RegExp(`^${outcomes[0].slice(0, 3)} `))
    },
  )
})
