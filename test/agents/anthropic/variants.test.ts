/** What Anthropic's client is answered to the least and to the most that it can ask for, held against the types that it declares. */
import type Anthropic from '@anthropic-ai/sdk'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { anthropicTypes } from '../../support/declared-types.ts'
import {
  client,
  closeAnthropicWorld,
  custom,
  makeAgent,
  makeCredential,
  makeEnvironment,
  makeSession,
  makeVault,
  openAnthropicWorld,
  problems,
  sessions,
  toolset,
} from '../anthropic-world.ts'

beforeAll(openAnthropicWorld)
afterAll(closeAnthropicWorld)

const deployments = anthropicTypes([
  'agents/agents',
  'sessions/sessions',
  'sessions/events',
  'sessions/resources',
  'deployments',
  'beta',
])

test.each([
  {},
  { description: null, system: null, tools: [], skills: [], mcp_servers: [], metadata: {} },
  { model: { id: 'berth/demo' } },
  { model: { id: 'berth/demo', speed: 'standard', effort: 'low' } },
  { tools: [{ type: 'agent_toolset_20260401' }, custom] },
  { tools: [{ ...toolset, default_config: { enabled: false } }] },
  { tools: [{ type: 'agent_toolset_20260401', default_config: { permission_policy: { type: 'always_ask' } } }] },
  {
    mcp_servers: [{ type: 'url', name: 'docs', url: 'https://example.com/mcp' }],
    tools: [{ type: 'mcp_toolset', mcp_server_name: 'docs' }],
  },
])('an agent made with %j', async (fields) => {
  expect(problems(await makeAgent(fields), 'BetaManagedAgentsAgent')).toEqual([])
})

test.each([
  { config: { type: 'cloud', networking: { type: 'unrestricted' } } },
  { config: { type: 'cloud', networking: { type: 'limited' } } },
  { config: { type: 'cloud', packages: { type: 'packages' } } },
  {
    config: {
      type: 'cloud',
      packages: { type: 'packages', apt: ['a'], cargo: ['b'], gem: ['c'], go: ['d'], npm: ['e'], pip: ['f'] },
    },
  },
  { config: { type: 'self_hosted' }, description: null, metadata: {} },
])('an environment made with %j', async (fields) => {
  expect(problems(await makeEnvironment(fields), 'BetaEnvironment')).toEqual([])
})

test('a credential of each kind that is updated', async () => {
  const { id: vault_id } = await makeVault()
  const refresh = {
    client_id: 'c',
    refresh_token: 'r',
    token_endpoint: 'https://example.com/token',
    token_endpoint_auth: { type: 'none' },
  }
  const kinds = [
    { type: 'static_bearer', mcp_server_url: 'https://example.com/a', token: 'x' },
    { type: 'mcp_oauth', mcp_server_url: 'https://example.com/b', access_token: 'x', refresh },
    { type: 'mcp_oauth', mcp_server_url: 'https://example.com/c', access_token: 'x' },
    { type: 'environment_variable', secret_name: 'A', secret_value: 'x', networking: { type: 'unrestricted' } },
  ]
  for (const auth of kinds) {
    const { id } = await makeCredential(vault_id, { auth })
    for (const fields of [{}, { display_name: null }, { display_name: 'n', metadata: { a: 'b' } }]) {
      const told = await client.beta.vaults.credentials.update(id, { vault_id, ...fields })
      expect([auth, problems(told, 'BetaManagedAgentsCredential')]).toEqual([auth, []])
    }
  }
})

test('sessions of every kind in a list', async () => {
  await makeSession()
  await makeSession({
    title: 't',
    metadata: { a: 'b' },
    initial_events: [{ type: 'user.message', content: [{ type: 'text', text: '!say x' }] }],
  })
  await makeSession({
    initial_events: [{ type: 'user.define_outcome', description: 'd', rubric: { type: 'text', content: 'r' } }],
  })
  await client.beta.sessions.archive((await makeSession()).id)
  for (const params of [
    {},
    { include_archived: true },
    { order: 'asc' as const, limit: 2 },
    { statuses: ['idle' as const] },
  ]) {
    const { data } = await client.beta.sessions.list(params)
    expect(data.length).toBeGreaterThan(0)
    expect(data.flatMap((one) => problems(one, 'BetaManagedAgentsSession'))).toEqual([])
  }
})

test('events of every kind that a client sends', async () => {
  const { id: environment_id } = await makeEnvironment({ config: { type: 'self_hosted' } })
  const begin = async (script: string, tool: object): Promise<string> =>
    sessions.begin(await sessions.agent({ tools: [tool] }), script, { environment_id })
  const send = async (id: string, ...events: object[]): Promise<void> => {
    const told = await client.beta.sessions.events.send(id, {
      events: events as Anthropic.Beta.Sessions.EventSendParams['events'],
    }) // ids of what was found
    expect(problems(told, 'BetaManagedAgentsSendSessionEvents')).toEqual([])
  }
  const waiting = await begin('!tool weather {"town":"Bern"}\n!say done', custom)
  const use = (await sessions.rested(waiting)).find(({ type }) => type === 'agent.custom_tool_use')
  await send(waiting, {
    type: 'user.custom_tool_result',
    custom_tool_use_id: use?.id,
    content: [{ type: 'text', text: 'x' }],
  })
  const asking = await begin('!tool bash {"command":"x"}\n!say done', { ...toolset })
  const asked = (await sessions.rested(asking)).find(({ type }) => type === 'agent.tool_use')
  await send(asking, { type: 'user.tool_confirmation', tool_use_id: asked?.id, result: 'deny', deny_message: 'no' })
  const { id } = await makeSession()
  await send(id, { type: 'user.message', content: [{ type: 'text', text: 'x' }] }, { type: 'user.interrupt' })
  await send(id, { type: 'system.message', content: [{ type: 'text', text: 'x' }] })
})

test('deployments made with little and with much', async () => {
  const agent = (await makeAgent()).id
  const environment_id = (await makeEnvironment()).id
  const initial_events = [{ type: 'user.message' as const, content: [{ type: 'text' as const, text: 'x' }] }]
  const kinds: Partial<Anthropic.Beta.DeploymentCreateParams>[] = [
    {},
    { description: null, metadata: {}, vault_ids: [] },
    {
      agent: { type: 'agent' as const, id: agent, version: 1 },
      vault_ids: [(await makeVault()).id],
      metadata: { a: 'b' },
    },
  ]
  for (const fields of kinds) {
    const told = await client.beta.deployments.create({ name: 'd', agent, environment_id, initial_events, ...fields })
    expect([fields, deployments.problems(told, 'BetaManagedAgentsDeployment')]).toEqual([fields, []])
  }
})

/** These stand in the reference: the documents that Berth keeps to say otherwise than the types. */
test('where Berth differs, it does so in the way that its reference says', async () => {
  const environment = await client.beta.environments.create({ name: 'without a type' })
  expect(problems(environment, 'BetaEnvironment')).toEqual([
    'BetaEnvironment.config.type is "vm" and should be "cloud"',
  ])
  const outcome = { type: 'user.define_outcome', description: 'd', rubric: { type: 'text', content: 'r' } } as const
  const sent = await client.beta.sessions.events.send((await makeSession()).id, { events: [outcome] })
  expect(problems(sent, 'BetaManagedAgentsSendSessionEvents')).toEqual([
    'BetaManagedAgentsSendSessionEvents.data[0].processed_at is null and should be string',
  ])
  const { id: vault_id } = await makeVault()
  const auth = { type: 'mcp_oauth', mcp_server_url: 'https://example.com/d', access_token: 'x' }
  const { id } = await makeCredential(vault_id, { auth })
  const changed = { vault_id, auth: { type: 'mcp_oauth', access_token: 'y' } } as const
  await expect(client.beta.vaults.credentials.update(id, changed)).rejects.toThrow(
    'archive the credential and create another',
  )
  const deployment = {
    name: 'd',
    agent: (await makeAgent()).id,
    environment_id: environment.id,
    initial_events: [{ type: 'user.message' as const, content: [{ type: 'text' as const, text: 'x' }] }],
  }
  const resources = [{ type: 'github_repository' as const, url: 'https://github.com/a/b', authorization_token: 't' }]
  await expect(client.beta.deployments.create({ ...deployment, resources })).rejects.toThrow('resources must be empty')
})
