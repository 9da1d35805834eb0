/** Agents: versions, ownership, what is refused, and that a refusal changes nothing. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#src/platform/ids.ts'
import { startBerth, type Answer, type Berth } from '../support/berth.ts'

type Agent = Record<string, unknown> & {
  id: string
  version: number
  name: string
  tools: { type: string }[]
  metadata: Record<string, string>
}
type Refusal = { type: string; error: { type: string; message: string; code: string }; request_id: string }

let berth: Berth
let token: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token('alice', 'acme', 'owner')
})
afterAll(() => berth.stop())

const model = 'berth/demo'
const call = <Body = Agent>(
  method: string,
  path: string,
  body?: unknown,
  as = token,
  headers: Record<string, string> = {},
): Promise<Answer<Body>> =>
  berth.call<Body>(method, `/agents/v1/agents${path}`, { token: as, headers, ...(body === undefined ? {} : { body }) })
const make = async (fields: Record<string, unknown> = {}, as = token): Promise<Agent> => {
  const made = await call('POST', '', { name: 'helper', model, ...fields }, as)
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  return made.body
}
const refusal = (status: number, type: string, code: string): object => ({
  status,
  body: {
    type: 'error',
    error: { type, code, message: expect.stringMatching(/^[A-Z`a-z].{9,}\.?$/s) },
    request_id: expect.stringMatching(/^req_/),
  },
})

test('a new agent is at version 1 and has every documented key, filled in', async () => {
  const made = await make()
  expect(made).toEqual({
    id: expect.stringMatching(/^agt_[0-7][0-9a-z]{25}$/),
    type: 'agent',
    name: 'helper',
    description: null,
    model: { id: model, speed: 'standard' },
    system: null,
    tools: [],
    mcp_servers: [],
    mcp_services: [],
    skills: [],
    multiagent: null,
    execution_identity: { type: 'service_account' },
    metadata: {},
    version: 1,
    org_id: null,
    owner_user_id: expect.stringMatching(/^usr_/),
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    updated_at: made['created_at'],
    archived_at: null,
  })
  expect((await call('GET', `/${made.id}`)).body).toEqual(made)
})

test('every field that may be sent is returned, with the defaults of its toolsets', async () => {
  const made = await make({
    description: 'd',
    system: 's',
    model: { id: 'demo', effort: 'high', speed: 'fast' },
    metadata: { a: 'b' },
    skills: [{ type: 'anthropic', skill_id: 'xlsx' }],
    mcp_servers: [{ type: 'url', name: 'docs', url: 'https://mcp.example.com/x' }],
    mcp_services: [{ id: 'linear', disabled_tools: ['delete_issue'] }, { id: 'notion' }],
    tools: [
      {
        type: 'agent_toolset_20260401',
        default_config: { permission_policy: { type: 'always_ask' } },
        configs: [
          { name: 'bash', enabled: false },
          { name: 'read', permission_policy: { type: 'always_allow' } },
        ],
      },
      { type: 'mcp_toolset', mcp_server_name: 'docs' },
      { type: 'berth_toolset_v1' },
      {
        type: 'custom',
        name: 'weather',
        description: 'w',
        input_schema: { type: 'object', properties: { city: { type: 'string' } } },
      },
    ],
  })
  const ask = { type: 'always_ask' }
  const allow = { type: 'always_allow' }
  expect(made).toMatchObject({
    description: 'd',
    system: 's',
    model: { id: model, effort: { type: 'high' }, speed: 'fast' },
    metadata: { a: 'b' },
    skills: [{ type: 'anthropic', skill_id: 'xlsx', version: 'latest' }],
    mcp_services: [
      { id: 'linear', disabled_tools: ['delete_issue'] },
      { id: 'notion', disabled_tools: [] },
    ],
    tools: [
      {
        type: 'agent_toolset_20260401',
        default_config: { enabled: true, permission_policy: ask },
        configs: [
          { name: 'bash', type: 'bash', enabled: false, permission_policy: ask },
          { name: 'read', type: 'read', enabled: true, permission_policy: allow },
        ],
      },
      {
        type: 'mcp_toolset',
        mcp_server_name: 'docs',
        default_config: { enabled: true, permission_policy: ask },
        configs: [],
      },
      { type: 'berth_toolset_v1', default_config: { enabled: true, permission_policy: allow }, configs: [] },
      {
        type: 'custom',
        name: 'weather',
        description: 'w',
        input_schema: { type: 'object', properties: { city: { type: 'string' } } },
      },
    ],
  })
  // What was answered may be sent back as it is, and changes nothing.
  const { id, version, tools, model: shown, skills, mcp_servers, mcp_services, metadata } = made
  expect(
    (await call('PATCH', `/${id}`, { version, tools, model: shown, skills, mcp_servers, mcp_services, metadata })).body,
  ).toEqual(made)
})

test('the restrictions of web tools come back as they were sent, and may be sent back', async () => {
  const web_fetch = {
    name: 'web_fetch',
    allowed_domains: ['Docs.Example.com.', 'bücher.example'],
    max_content_tokens: 2000,
  }
  const web_search = { name: 'web_search', blocked_domains: ['ads.example.com/x'] }
  const rest = { enabled: true, permission_policy: { type: 'always_allow' } }
  const made = await make({
    tools: [
      {
        type: 'agent_toolset_20260401',
        configs: [
          { type: 'web_fetch', url_sources: null, ...web_fetch },
          { ...web_search, user_location: null },
        ],
      },
    ],
  })
  expect(made.tools).toMatchObject([
    {
      configs: [
        { ...web_fetch, ...rest },
        { ...web_search, ...rest },
      ],
    },
  ])
  expect((await call('PATCH', `/${made.id}`, { version: 1, tools: made.tools })).body).toEqual(made)
})

const standard = (...configs: object[]): Record<string, unknown> => ({
  tools: [{ type: 'agent_toolset_20260401', configs }],
})
const fetches = (fields: object): Record<string, unknown> => standard({ name: 'web_fetch', ...fields })
const custom = { type: 'custom', name: 'x', description: 'd', input_schema: { type: 'object' } }
test.each<[Record<string, unknown>, string, string?]>([
  [{ name: '' }, 'name'],
  [{ name: 'x'.repeat(256) }, 'name'],
  [{ name: 5 }, 'name'],
  [{ name: null }, 'name is required'],
  [{ model: null }, 'model is required'],
  [{ model: 5 }, 'model'],
  [{ model: {} }, 'model.id'],
  [{ model: 'nobody/nothing' }, 'GET /agents/v1/models', 'unknown_model'],
  [{ model: { id: 'nobody/nothing' } }, 'GET /agents/v1/models', 'unknown_model'],
  [{ model: { id: model, effort: 'huge' } }, 'model.effort'],
  [{ model: { id: model, effort: 'max' } }, 'model.effort'],
  [{ model: { id: model, speed: 'warp' } }, 'model.speed'],
  [{ description: 'x'.repeat(2049) }, 'description'],
  [{ system: 'x'.repeat(100_001) }, 'system'],
  [{ multiagent: { type: 'coordinator' } }, 'multiagent'],
  [{ metadata: [] }, 'metadata'],
  [{ metadata: { a: 5 } }, 'metadata'],
  [{ metadata: { a: null } }, 'metadata'],
  [{ metadata: { ['x'.repeat(65)]: '' } }, 'metadata'],
  [{ metadata: { a: 'x'.repeat(513) } }, 'metadata'],
  [{ metadata: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, ''])) }, 'metadata'],
  [{ tools: {} }, 'tools'],
  [{ tools: [5] }, 'tools[0]'],
  [{ tools: [{}] }, 'tools[0].type'],
  [{ tools: [{ type: 'teleport' }] }, 'tools[0].type', 'unknown_tool'],
  [
    { tools: [{ type: 'agent_toolset_20260401', configs: [{ name: 'teleport' }] }] },
    'tools[0].configs[0].name',
    'unknown_tool',
  ],
  [
    { tools: [{ type: 'agent_toolset_20260401', configs: [{ name: 'remember' }] }] },
    'tools[0].configs[0].name',
    'unknown_tool',
  ],
  [
    { tools: [{ type: 'agent_toolset_20260401', configs: [{ name: 'bash', permission_policy: { type: 'auto' } }] }] },
    'permission_policy',
  ],
  [
    { tools: [{ type: 'agent_toolset_20260401', configs: [{ name: 'bash' }, { name: 'bash' }] }] },
    'tools[0].configs[1]',
  ],
  [{ tools: [{ type: 'agent_toolset_20260401' }, { type: 'agent_toolset_20260401' }] }, 'tools[1]'],
  [{ tools: [{ type: 'mcp_toolset', mcp_server_name: 'none' }] }, 'mcp_server_name'],
  [{ tools: [{ ...custom, name: 'a b' }] }, 'tools[0].name'],
  [{ tools: [{ ...custom, name: 'bash' }] }, 'built-in'],
  [{ tools: [custom, custom] }, 'tools[1]'],
  [{ tools: [{ ...custom, input_schema: { type: 'array' } }] }, 'input_schema'],
  [{ tools: [{ ...custom, description: '' }] }, 'description'],
  [{ tools: [{ ...custom, input_schema: { type: 'object', description: 'x'.repeat(70_000) } }] }, '64 KiB'],
  [{ tools: Array.from({ length: 129 }, (_, i) => ({ ...custom, name: `t${i}` })) }, '128'],
  [standard({ name: 'bash', allowed_domains: ['a.com'] }), 'allowed_domains'],
  [standard({ name: 'web_search', max_content_tokens: 5 }), 'max_content_tokens'],
  [fetches({ max_uses: 1 }), 'max_uses'],
  [fetches({ allowed_domain: ['a.com'] }), 'allowed_domain'],
  [fetches({ allowed_domains: [] }), '1 to 64'],
  [fetches({ blocked_domains: Array.from({ length: 65 }, (_, i) => `h${i}.com`) }), '1 to 64'],
  [fetches({ allowed_domains: ['a.com'], blocked_domains: ['b.com'] }), 'give one of them'],
  [fetches({ type: 'bash' }), 'type'],
  ...[
    'https://a.com',
    'a.com:443',
    'a.com/x',
    '*.a.com',
    'u@a.com',
    'a b',
    '',
    '.',
    'a..com',
    `${'x'.repeat(600)}.com`,
    5,
    'a.com\\b',
  ].map((domain): [Record<string, unknown>, string] => [
    fetches({ allowed_domains: [domain] }),
    'configs[0].allowed_domains[0]',
  ]),
  [standard({ name: 'web_search', allowed_domains: ['a.com/x?y'] }), 'allowed_domains[0]'],
  [fetches({ max_content_tokens: 0 }), 'max_content_tokens'],
  [fetches({ max_content_tokens: 1.5 }), 'max_content_tokens'],
  [fetches({ url_sources: { user_input: 'none' } }), 'url_sources'],
  [standard({ name: 'web_search', user_location: { type: 'approximate', country: 'IT' } }), 'user_location'],
  [{ tools: [{ type: 'agent_toolset_20260401', default_config: { allowed_domains: ['a.com'] } }] }, 'allowed_domains'],
  [{ mcp_servers: [{ type: 'stdio', name: 'x' }] }, 'mcp_servers[0]'],
  [{ mcp_servers: [{ type: 'url', name: 'x', url: 'file:///etc/passwd' }] }, 'mcp_servers[0].url'],
  [{ mcp_servers: [{ type: 'url', name: 'x', url: 'https://u:canary-51@example.com' }] }, 'mcp_servers[0].url'],
  [{ mcp_servers: [1, 2].map(() => ({ type: 'url', name: 'x', url: 'https://example.com' })) }, 'mcp_servers[1]'],
  [
    { mcp_servers: Array.from({ length: 21 }, (_, i) => ({ type: 'url', name: `s${i}`, url: 'https://example.com' })) },
    '20',
  ],
  [{ mcp_services: [{ id: 'Not A Slug' }] }, 'mcp_services[0].id'],
  [{ mcp_services: [{ id: 'a' }, { id: 'a' }] }, 'mcp_services[1]'],
  [{ mcp_services: Array.from({ length: 21 }, (_, i) => ({ id: `s${i}` })) }, '20'],
  [{ skills: [{ type: 'magic', skill_id: 'x' }] }, 'skills[0].type'],
])(
  'a create or an update with %j is refused with 400, a sentence and a code',
  async (fields, words, code = 'invalid_request') => {
    const before = await make()
    const created = await call<Refusal>('POST', '', { name: 'x', model, ...fields })
    expect(created).toMatchObject(refusal(400, 'invalid_request_error', code))
    expect(created.body.error.message).toContain(words)
    expect(JSON.stringify(created.body)).not.toContain('canary')
    if ('metadata' in fields && JSON.stringify(fields).includes('null')) return // there a null deletes its key
    expect((await call('PATCH', `/${before.id}`, { version: 1, ...fields })).status).toBe(400)
    expect((await call('GET', `/${before.id}`)).body).toEqual(before)
  },
)

describe('an update', () => {
  test('makes a new version that says what changed; the versions before stay as they were', async () => {
    const one = await make({ description: 'one', metadata: { a: '1', b: '2' } })
    const two = await call('PATCH', `/${one.id}`, { version: 1, description: 'two', metadata: { a: null, c: '3' } })
    expect(two).toMatchObject({
      status: 200,
      body: {
        version: 2,
        name: 'helper',
        description: 'two',
        metadata: { b: '2', c: '3' },
        created_at: one['created_at'],
      },
    })
    const three = await call('PATCH', `/${one.id}`, { version: 2, description: null, name: 'renamed' })
    expect(three.body).toMatchObject({ version: 3, description: null, name: 'renamed' })
    const versions = await call<{ data: Agent[] }>('GET', `/${one.id}/versions`)
    expect(versions.body).toEqual({ data: [three.body, two.body, one], has_more: false, next_page: null })
    expect((await call('GET', `/${one.id}?version=2`)).body).toEqual(two.body)
    expect(await call('GET', `/${one.id}?version=9`)).toMatchObject(refusal(404, 'not_found_error', 'not_found'))
    const page = await call<{ data: Agent[]; next_page: string }>('GET', `/${one.id}/versions?limit=2`)
    expect(page.body).toMatchObject({ data: [{ version: 3 }, { version: 2 }], has_more: true })
    expect((await call('GET', `/${one.id}/versions?limit=2&page=${page.body.next_page}`)).body).toMatchObject({
      data: [{ version: 1 }],
      has_more: false,
      next_page: null,
    })
    expect(await call('GET', `/${one.id}/versions?page=nonsense`)).toMatchObject(
      refusal(400, 'invalid_request_error', 'invalid_request'),
    )
    expect(
      (await call<{ data: unknown[] }>('GET', `/${one.id}/versions?page=v999999999999999`)).body.data,
    ).toHaveLength(3)
  })

  test('that changes nothing makes no new version', async () => {
    const made = await make({ metadata: { b: '1', a: '2' } })
    const same = await call('PATCH', `/${made.id}`, {
      version: 1,
      name: 'helper',
      model: { id: model },
      metadata: { a: '2' },
      tools: [],
      system: null,
    })
    expect(same).toMatchObject({ status: 200, body: made })
    expect((await call<{ data: Agent[] }>('GET', `/${made.id}/versions`)).body.data).toHaveLength(1)
  })

  test('based on an older version answers 409 and changes nothing; without a version only POST works', async () => {
    const made = await make()
    for (const version of [0, 2, -1])
      expect(await call('PATCH', `/${made.id}`, { version, name: 'y' })).toMatchObject(
        refusal(409, 'conflict_error', 'agent_version_mismatch'),
      )
    expect(await call('POST', `/${made.id}`, { version: 7, name: 'y' })).toMatchObject(
      refusal(409, 'conflict_error', 'agent_version_mismatch'),
    )
    expect(await call('PATCH', `/${made.id}`, { name: 'y' })).toMatchObject(
      refusal(400, 'invalid_request_error', 'invalid_request'),
    )
    expect((await call('GET', `/${made.id}`)).body).toEqual(made)
    expect(await call('POST', `/${made.id}`, { name: 'y' })).toMatchObject({
      status: 200,
      body: { version: 2, name: 'y' },
    })
  })

  test('by many at once from the same version succeeds for exactly one', async () => {
    const made = await make()
    const said = await Promise.all(
      Array.from({ length: 8 }, (_, i) => call('PATCH', `/${made.id}`, { version: 1, name: `n${i}` })),
    )
    expect(said.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      200, 409, 409, 409, 409, 409, 409, 409,
    ])
  })

  test('that removes a tool server while a toolset needs it is refused', async () => {
    const made = await make({
      mcp_servers: [{ type: 'url', name: 'docs', url: 'https://example.com' }],
      tools: [{ type: 'mcp_toolset', mcp_server_name: 'docs' }],
    })
    expect(await call('PATCH', `/${made.id}`, { version: 1, mcp_servers: [] })).toMatchObject(
      refusal(400, 'invalid_request_error', 'invalid_request'),
    )
    expect(await call('PATCH', `/${made.id}`, { version: 1, mcp_servers: null, tools: null })).toMatchObject({
      status: 200,
      body: { version: 2, tools: [], mcp_servers: [] },
    })
  })
})

test('an archived agent is not listed unless asked for, cannot be changed, and may be read, archived again and deleted', async () => {
  const made = await make()
  const archived = await call('POST', `/${made.id}/archive`)
  expect(archived).toMatchObject({ status: 200, body: { archived_at: expect.any(String), version: 1 } })
  expect((await call('POST', `/${made.id}/archive`)).body).toEqual(archived.body)
  for (const method of ['PATCH', 'POST'])
    expect(await call(method, `/${made.id}`, { version: 1, name: 'y' })).toMatchObject(
      refusal(409, 'conflict_error', 'resource_archived'),
    )
  const ids = async (query: string): Promise<string[]> =>
    (await call<{ data: Agent[] }>('GET', query)).body.data.map(({ id }) => id)
  expect(await ids('')).not.toContain(made.id)
  expect(await ids('?include_archived=true')).toContain(made.id)
  expect((await call('DELETE', `/${made.id}`)).status).toBe(204)
  expect(await call('GET', `/${made.id}`)).toMatchObject(refusal(404, 'not_found_error', 'not_found'))
})

test('deleting answers 204 without a body, and to Anthropic’s client 200 with what was deleted; the versions go too', async () => {
  const [one, two] = [await make(), await make()]
  expect(await call('DELETE', `/${one.id}`)).toMatchObject({ status: 204, body: null })
  expect(
    await call('DELETE', `/${two.id}`, undefined, token, { 'anthropic-beta': 'managed-agents-2026-04-01' }),
  ).toMatchObject({ status: 200, body: { id: two.id, type: 'agent_deleted' } })
  for (const { id } of [one, two])
    for (const path of ['', '/versions'])
      expect(await call('GET', `/${id}${path}`)).toMatchObject(refusal(404, 'not_found_error', 'not_found'))
  const { rows } = await berth.services.database.pool.query(
    'select 1 from agent_versions v left join agents a on a.id = v.agent_id where a.id is null',
  )
  expect(rows).toEqual([])
})

test('a list is newest first, pages by limit and page, and says when there is more', async () => {
  const person = await berth.token('lister', 'lists', 'member')
  const made: string[] = []
  for (let i = 0; i < 5; i++) made.unshift((await make({ name: `n${i}` }, person)).id)
  const seen: string[] = []
  let page: string | null = null
  do {
    const { body }: Answer<{ data: Agent[]; has_more: boolean; next_page: string | null }> = await call(
      'GET',
      `?limit=2${page ? `&page=${page}` : ''}`,
      undefined,
      person,
    )
    expect(body.has_more).toBe(body.next_page !== null)
    seen.push(...body.data.map(({ id }) => id))
    page = body.next_page
  } while (page)
  expect(seen).toEqual(made)
  for (const query of ['limit=0', 'limit=101', 'limit=x', 'page=x', `page=${newId('vm')}`, 'include_archived=maybe'])
    expect(await call('GET', `?${query}`, undefined, person)).toMatchObject(
      refusal(400, 'invalid_request_error', 'invalid_request'),
    )
})

test('the catalog lists the built-in tools with the schema of their inputs, and the models as the gateway does', async () => {
  const tools = await berth.call<{ data: { name: string; toolset: string; input_schema: { type: string } }[] }>(
    'GET',
    '/agents/v1/tools',
    { token },
  )
  expect(tools.body.data.map(({ name }) => name)).toEqual([
    'bash',
    'read',
    'write',
    'edit',
    'glob',
    'grep',
    'web_fetch',
    'web_search',
    'ask_user',
    'remember',
    'recall',
    'ask_peer',
    'deploy',
  ])
  for (const tool of tools.body.data)
    expect(tool).toEqual({
      type: 'tool',
      name: expect.any(String),
      toolset: expect.stringMatching(/^(agent_toolset_20260401|berth_toolset_v1)$/),
      description: expect.any(String),
      input_schema: expect.objectContaining({ type: 'object' }),
      requires_environment: expect.any(Boolean),
      default_permission_policy: { type: 'always_allow' },
    })
  const [agentsSide, gatewaySide] = [
    await berth.call('GET', '/agents/v1/models', { token }),
    await berth.call('GET', '/llm/v1/models', { token }),
  ]
  expect(agentsSide).toMatchObject({ status: 200, body: gatewaySide.body })
})
