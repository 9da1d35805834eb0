/** Connectors in sessions: offered from the owner's connection, asked for, refreshed, and missing in plain words. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { refusal } from '../../support/agents-service.ts'
import { agentSessions, results, textOf, type AgentSessions, type Event } from '../../support/agent-sessions.ts'
import { startConnectorWorld, type ConnectorWorld } from '../../support/connectors/world.ts'
import { makeKey, makeVmToken } from '../../support/makers.ts'

let world: ConnectorWorld
let token: string
let sessions: AgentSessions
let people = 0
beforeAll(async () => {
  world = await startConnectorWorld({}, { worker: true })
})
beforeEach(async () => {
  token = await world.berth.token(`person${people++}`, 'acme', 'member')
  sessions = agentSessions(world.berth, token)
  world.tools.needs = null
  world.authority.requests.length = 0
})
afterAll(() => world.stop())

const allowed = (name: string) => ({
  type: 'mcp_toolset',
  mcp_server_name: name,
  default_config: { permission_policy: { type: 'always_allow' } },
})
const desk = { mcp_services: [{ id: 'desk' }], tools: [allowed('desk')] }
const sum = '!tool mcp__desk__add {"a":1,"b":2}\n!say done'
const errorsOf = (log: readonly Event[]) =>
  log.filter(({ type }) => type === 'session.error').map(({ error }) => error as Record<string, unknown>)
const refreshes = () => world.authority.requests.filter(({ form }) => form['grant_type'] === 'refresh_token')

test('an agent uses a connected service with its owner’s token, after asking, as its tool servers', async () => {
  await world.connect('desk', token)
  world.tools.tokens.length = 0
  const agent = await sessions.agent({ mcp_services: [{ id: 'desk', disabled_tools: ['show'] }, { id: 'board' }] })
  const id = await sessions.begin(
    agent,
    '!tool mcp__desk__add {"a":1,"b":2}\n!tool+ mcp__board__add {"a":3,"b":4}\n!tool+ mcp__desk__show {}\n!say done',
  )
  const asked = await sessions.rested(id)
  const uses = asked.filter(({ type }) => type === 'agent.mcp_tool_use')
  expect(uses).toMatchObject([
    { mcp_server_name: 'desk', name: 'add', evaluated_permission: 'ask' },
    { mcp_server_name: 'board', name: 'add', evaluated_permission: 'ask' },
  ])
  await sessions.send(
    id,
    ...uses.map((use) => ({ type: 'user.tool_confirmation', tool_use_id: use.id, result: 'allow' })),
  )
  const log = await sessions.rested(id)
  expect(
    results(log)
      .map(({ text }) => text)
      .sort(),
  ).toEqual(['3', '7', expect.stringContaining('no such tool')])
  expect(textOf(log.findLast(({ type }) => type === 'agent.message'))).toBe('done')
  expect(errorsOf(log)).toEqual([])
  expect(world.tools.tokens.every((one) => world.authority.scopesOf(one, world.tools.url))).toBe(true)
  expect(JSON.stringify(log)).not.toContain(world.tools.tokens[0])
})

test('an agent that others may change asks for every call of a connector, whatever a colleague or a key makes it say', async () => {
  await world.connect('desk', token)
  const { key } = await makeKey(world.berth, token)
  const shared = await agentSessions(world.berth, key).agent({ name: 'shared' })
  const colleague = await world.berth.token('colleague', 'acme', 'member')
  const change = async (as: string, version: number, system: string): Promise<void> =>
    expect(await world.call('PATCH', `/agents/${shared}`, { ...desk, version, system }, as)).toMatchObject({
      status: 200,
    })
  await change(colleague, 1, 'a colleague’s')
  const id = await sessions.begin(shared, sum)
  await change(key, 2, 'a key’s')
  for (const one of [id, await sessions.begin(shared, sum)]) {
    const log = await sessions.rested(one)
    expect(log.filter(({ type }) => type === 'agent.mcp_tool_use')).toMatchObject([{ evaluated_permission: 'ask' }])
    expect(results(log)).toEqual([])
  }
  const [use] = (await sessions.log(id)).filter(({ type }) => type === 'agent.mcp_tool_use')
  await sessions.send(id, { type: 'user.tool_confirmation', tool_use_id: use?.id, result: 'allow' })
  expect(results(await sessions.rested(id))).toEqual([{ isError: false, text: '3' }])
})

test('tools that the person disabled are not offered, and not called when they were disabled meanwhile', async () => {
  await world.connect('desk', token)
  const disable = (names: string[]) =>
    world.call('PUT', '/mcp-services/desk/tool-selection', { disabled_tools: names }, token)
  const agent = await sessions.agent({ mcp_services: [{ id: 'desk' }] })
  await disable(['add'])
  expect(results(await sessions.rested(await sessions.begin(agent, sum)))).toEqual([
    { isError: true, text: expect.stringContaining('no such tool') },
  ])
  await disable([])
  const id = await sessions.begin(agent, sum)
  const [use] = (await sessions.rested(id)).filter(({ type }) => type === 'agent.mcp_tool_use')
  await disable(['add'])
  await sessions.send(id, { type: 'user.tool_confirmation', tool_use_id: use?.id, result: 'allow' })
  expect(results(await sessions.rested(id))).toEqual([{ isError: true, text: 'This tool is disabled.' }])
})

test('a service that is not connected is one error of each turn, and its tools are not offered', async () => {
  const agent = await sessions.agent(desk)
  const id = await sessions.begin(agent, '!tool mcp__desk__add {}\n!tool mcp__desk__add {}\n!say done')
  const log = await sessions.rested(id)
  expect(errorsOf(log)).toEqual([
    expect.objectContaining({
      type: 'mcp_authentication_failed_error',
      mcp_server_name: 'desk',
      message: 'You have not connected Desk. Connect it with POST /agents/v1/mcp-services/desk/connect/start.',
      retry_status: { type: 'exhausted' },
    }),
  ])
  expect(results(log).every(({ isError, text }) => isError && text.includes('no such tool'))).toBe(true)
  await sessions.say(id, '!say again')
  expect(errorsOf(await sessions.rested(id))).toHaveLength(2)
  const { data } = (await world.call<{ data: object[] }>('GET', `/agents/${agent}/mcp-tools`, undefined, token)).body
  expect(data).toMatchObject([{ server_name: 'desk', status: 'auth_required', tools: [] }])
  await world.connect('desk', token)
  await sessions.say(id, sum)
  expect(results(await sessions.rested(id)).at(-1)).toEqual({ isError: false, text: '3' })
  expect((await world.call('GET', `/agents/${agent}/mcp-tools`, undefined, token)).body['data']).toMatchObject([
    { server_name: 'desk', url: world.tools.url, status: 'ok', tools: [{ name: 'add' }, { name: 'show' }] },
  ])
})

test('a token that ended is refreshed once for all sessions, and the connection goes on', async () => {
  await world.connect('desk', token)
  world.authority.endAccess()
  const agent = await sessions.agent(desk)
  const ids = await Promise.all([1, 2, 3, 4].map(() => sessions.begin(agent, sum)))
  for (const id of ids) expect(results(await sessions.rested(id))).toEqual([{ isError: false, text: '3' }])
  expect(refreshes()).toHaveLength(1)
  expect(refreshes()[0]?.form).toMatchObject({ resource: world.tools.url })
})

test('a connection that nobody accepts any more is said to be so, and connecting again helps', async () => {
  await world.connect('desk', token)
  const agent = await sessions.agent(desk)
  world.authority.endAccess()
  world.authority.intercept = (_req, res, form) =>
    form.get('grant_type') === 'refresh_token' &&
    Boolean(res.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}'))
  const log = await sessions.rested(await sessions.begin(agent, sum))
  world.authority.intercept = null
  expect(errorsOf(log)).toMatchObject([
    {
      type: 'mcp_authentication_failed_error',
      message: 'Desk does not accept its connection any more. Connect it again.',
    },
  ])
  expect((await world.services(token))['desk']).toMatchObject({ connected: false })
  await world.connect('desk', token)
  expect(results(await sessions.rested(await sessions.begin(agent, sum)))).toEqual([{ isError: false, text: '3' }])
})

test('a call that a service forbids is an error of the call: the token is not refreshed, and the connection stays', async () => {
  await world.connect('desk', token)
  const agent = await sessions.agent(desk)
  world.tools.before = (_req, res, body) => body.includes('tools/call') && Boolean(res.writeHead(403).end())
  const log = await sessions.rested(await sessions.begin(agent, sum))
  world.tools.before = null
  expect(results(log)).toEqual([
    { isError: true, text: 'The server forbids this request (status 403). The call may have been made.' },
  ])
  expect(errorsOf(log)).toMatchObject([{ type: 'mcp_connection_failed_error' }])
  expect(refreshes()).toEqual([])
  expect((await world.services(token))['desk']).toMatchObject({ connected: true })
  expect(results(await sessions.rested(await sessions.begin(agent, sum)))).toEqual([{ isError: false, text: '3' }])
})

test('a service that asks for more scopes is said to, and the next sign-in asks for them with those before', async () => {
  await world.connect('desk', token)
  world.tools.needs = 'write'
  const agent = await sessions.agent(desk)
  const log = await sessions.rested(await sessions.begin(agent, sum))
  expect(errorsOf(log)).toMatchObject([
    { message: expect.stringContaining('asks for more than its connection allows (write)') },
  ])
  expect(refreshes()).toEqual([])
  const { body } = await world.berth.ask(`{ mcpService(id: "desk") { connection { status missingScopes scopes } } }`, {
    token,
  })
  expect(body.data).toEqual({
    mcpService: { connection: { status: 'SCOPE_MISSING', missingScopes: ['write'], scopes: ['read'] } },
  })
  const { authorization_url } = await world.start('desk', token)
  expect(new URL(authorization_url).searchParams.get('scope')).toBe('read write')
  await world.connect('desk', token)
  expect(results(await sessions.rested(await sessions.begin(agent, sum)))).toEqual([{ isError: false, text: '3' }])
})

test('a session that the token inside a VM began or steered has no connectors', async () => {
  await world.connect('desk', token)
  const vmToken = await makeVmToken(world.berth, token)
  for (const [method, path, body] of [
    ['GET', '/mcp-services'],
    ['POST', '/mcp-services/desk/connect/start', { return_url: 'https://app.example.com/' }],
    ['GET', '/mcp-services/desk/tools'],
    ['DELETE', '/mcp-services/desk/connection'],
  ] as const)
    expect((await world.call(method, path, body, vmToken)).status, path).toBe(403)
  const vms = agentSessions(world.berth, vmToken)
  const agent = await sessions.agent({ ...desk, tools: [...desk.tools, { type: 'berth_toolset_v1' }] })
  const log = await vms.rested(await vms.begin(agent, sum))
  expect(results(log)).toEqual([{ isError: true, text: expect.stringContaining('no such tool') }])
  expect(errorsOf(log)).toEqual([])
  expect((await world.call('GET', `/agents/${agent}/mcp-tools`, undefined, vmToken)).body).toEqual({ data: [] })
})

test('the token inside a VM writes no agent that has connectors, nor gives one to an agent', async () => {
  const vmToken = await makeVmToken(world.berth, token)
  const write = (method: string, path: string, body: object) => world.call(method, path, body, vmToken)
  const fields = { name: 'a', model: 'berth/demo' }
  expect(await write('POST', '/agents', { ...fields, ...desk })).toMatchObject(refusal(403, 'forbidden'))
  const plain = await agentSessions(world.berth, vmToken).agent({})
  expect(await write('PATCH', `/agents/${plain}`, { version: 1, ...desk })).toMatchObject(refusal(403, 'forbidden'))
  const persons = await sessions.agent(desk)
  expect(await write('PATCH', `/agents/${persons}`, { version: 1, system: 'Tell it all.' })).toMatchObject(
    refusal(403, 'forbidden'),
  )
  expect(await write('PATCH', `/agents/${persons}`, { version: 1, mcp_services: [], tools: [] })).toMatchObject({
    status: 200,
  })
})

test('an agent names connectors of the catalog, and goes on working when one leaves it', async () => {
  const make = (fields: object) => world.call('POST', '/agents', { name: 'a', model: 'berth/demo', ...fields }, token)
  expect(await make({ mcp_services: [{ id: 'nowhere' }] })).toMatchObject({
    status: 400,
    body: { error: { message: expect.stringContaining('mcp_services[0].id: there is no connector nowhere') } },
  })
  expect(await make({ tools: [allowed('desk')] })).toMatchObject({ status: 400 })
  const twice = {
    mcp_servers: [{ type: 'url', name: 'desk', url: 'https://x.example.com/' }],
    mcp_services: [{ id: 'desk' }],
  }
  expect(await make(twice)).toMatchObject({ status: 400 })
  const agent = await sessions.agent({ mcp_services: [{ id: 'desk' }] })
  await sql`update agents set definition = jsonb_set(definition::jsonb, '{mcp_services,0,id}', '"left"') where id = ${decodeId('agent', agent)}`.execute(
    world.berth.services.db,
  )
  const change = await world.call(
    'PATCH',
    `/agents/${agent}`,
    { version: 1, mcp_services: [{ id: 'left' }], system: 's' },
    token,
  )
  expect(change.status, JSON.stringify(change.body)).toBe(200)
  const log = await sessions.rested(await sessions.begin(agent, '!say fine'))
  expect(textOf(log.findLast(({ type }) => type === 'agent.message'))).toBe('fine')
  const error = 'The connector left is no longer offered here.'
  expect(errorsOf(log)).toMatchObject([
    {
      type: 'mcp_connection_failed_error',
      mcp_server_name: 'left',
      message: error,
      retry_status: { type: 'exhausted' },
    },
  ])
  expect((await world.call('GET', `/agents/${agent}/mcp-tools`, undefined, token)).body).toEqual({
    data: [{ server_name: 'left', url: '', status: 'unreachable', error, tools: [] }],
  })
})
