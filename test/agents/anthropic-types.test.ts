/**
 * Every method of Anthropic's client that Berth has a path for, held against the types that the client declares: what it
 * answers has every declared field in the declared shape, and every parameter is honoured or refused by name.
 */
import Anthropic from '@anthropic-ai/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Event } from '../support/agent-sessions.ts'
import { membersOf } from '../support/declared-types.ts'
import { until } from '../support/until.ts'
import {
  client,
  closeAnthropicWorld,
  custom,
  declarations,
  makeAgent,
  makeCredential,
  makeEnvironment,
  makeSession,
  makeVault,
  ofCredential,
  openAnthropicWorld,
  problems,
  sessions,
  tools,
  toolset,
} from './anthropic-world.ts'

beforeAll(openAnthropicWorld)
afterAll(closeAnthropicWorld)

type Page = { data: unknown[]; next_page?: string | null }
/** What a method is asked with beside its parameter `extra`; what it answers; what becomes of each parameter. */
type Method = {
  parameters: string
  answer: string
  isList?: true
  honoured: string
  refused?: Readonly<Record<string, unknown>>
  ask: (extra: object) => Promise<unknown>
}

const everyAgent = {
  description: 'd',
  system: 's',
  model: { id: 'berth/demo', effort: 'high' },
  metadata: { a: 'b' },
  mcp_servers: [{ type: 'url', name: 'docs', url: 'https://example.com/mcp' }],
  skills: [{ type: 'anthropic', skill_id: 'xlsx' }],
  tools: [toolset, custom, { type: 'mcp_toolset', mcp_server_name: 'docs', configs: [{ name: 'x' }] }],
  execution_identity: { type: 'service_account' },
}
const awsRole = { type: 'aws_role', role_arn: 'arn:aws:iam::1:role/x' }
const coordinator = { type: 'coordinator', agents: [] }
const agentFields = 'description metadata mcp_servers model name skills system tools'
const methods: Readonly<Record<string, Method>> = {
  'agents.create': {
    parameters: 'AgentCreateParams',
    answer: 'BetaManagedAgentsAgent',
    honoured: agentFields,
    refused: { execution_identity: awsRole, multiagent: coordinator },
    ask: (extra) => makeAgent({ ...everyAgent, ...extra }),
  },
  'agents.retrieve': {
    parameters: 'AgentRetrieveParams',
    answer: 'BetaManagedAgentsAgent',
    honoured: 'version',
    ask: async (extra) => client.beta.agents.retrieve((await makeAgent(everyAgent)).id, { version: 1, ...extra }),
  },
  'agents.update': {
    parameters: 'AgentUpdateParams',
    answer: 'BetaManagedAgentsAgent',
    honoured: `${agentFields} version`,
    refused: { execution_identity: awsRole, multiagent: coordinator },
    ask: async (extra) =>
      client.beta.agents.update((await makeAgent()).id, {
        version: 1,
        ...everyAgent,
        ...extra,
      } as Anthropic.Beta.AgentUpdateParams),
  },
  'agents.list': {
    parameters: 'AgentListParams',
    answer: 'BetaManagedAgentsAgent',
    isList: true,
    honoured: 'limit page include_archived created_at[gte] created_at[lte]',
    ask: async (extra) => (await makeAgent(everyAgent), client.beta.agents.list(extra)),
  },
  'agents.archive': {
    parameters: 'AgentArchiveParams',
    answer: 'BetaManagedAgentsAgent',
    honoured: '',
    ask: async (extra) => client.beta.agents.archive((await makeAgent()).id, extra),
  },
  'agents.versions.list': {
    parameters: 'VersionListParams',
    answer: 'BetaManagedAgentsAgent',
    isList: true,
    honoured: 'limit page',
    ask: async (extra) => client.beta.agents.versions.list((await makeAgent(everyAgent)).id, extra),
  },
  'environments.create': {
    parameters: 'EnvironmentCreateParams',
    answer: 'BetaEnvironment',
    honoured: 'name config description metadata',
    refused: { scope: 'organization' },
    ask: (extra) =>
      makeEnvironment({
        config: {
          type: 'cloud',
          networking: { type: 'limited', allowed_hosts: ['example.com'], allow_package_managers: true },
          packages: { type: 'packages', pip: ['x'] },
        },
        scope: 'account',
        ...extra,
      }),
  },
  'environments.retrieve': {
    parameters: 'EnvironmentRetrieveParams',
    answer: 'BetaEnvironment',
    honoured: '',
    ask: async (extra) => client.beta.environments.retrieve((await makeEnvironment()).id, extra),
  },
  'environments.update': {
    parameters: 'EnvironmentUpdateParams',
    answer: 'BetaEnvironment',
    honoured: 'name config description metadata',
    refused: { scope: 'organization' },
    ask: async (extra) =>
      client.beta.environments.update((await makeEnvironment()).id, { description: 'd', scope: 'account', ...extra }),
  },
  'environments.list': {
    parameters: 'EnvironmentListParams',
    answer: 'BetaEnvironment',
    isList: true,
    honoured: 'limit page include_archived',
    ask: async (extra) => (
      await makeEnvironment({ config: { type: 'self_hosted' } }), client.beta.environments.list(extra)
    ),
  },
  'environments.delete': {
    parameters: 'EnvironmentDeleteParams',
    answer: 'BetaEnvironmentDeleteResponse',
    honoured: '',
    ask: async (extra) => client.beta.environments.delete((await makeEnvironment()).id, extra),
  },
  'environments.archive': {
    parameters: 'EnvironmentArchiveParams',
    answer: 'BetaEnvironment',
    honoured: '',
    ask: async (extra) => client.beta.environments.archive((await makeEnvironment()).id, extra),
  },
  'sessions.create': {
    parameters: 'SessionCreateParams',
    answer: 'BetaManagedAgentsSession',
    honoured: 'agent environment_id budget initial_events metadata resources title vault_ids',
    ask: async (extra) =>
      makeSession({
        agent: (await makeAgent(everyAgent)).id,
        budget: { type: 'limit', max_list_cost: { amount: '1', currency: 'USD' } },
        title: 't',
        vault_ids: [(await makeVault()).id],
        resources: [
          { type: 'github_repository', url: 'https://github.com/a/b', checkout: { type: 'branch', name: 'c' } },
        ],
        ...extra,
      }),
  },
  'sessions.retrieve': {
    parameters: 'SessionRetrieveParams',
    answer: 'BetaManagedAgentsSession',
    honoured: '',
    ask: async (extra) => client.beta.sessions.retrieve((await makeSession()).id, extra),
  },
  'sessions.update': {
    parameters: 'SessionUpdateParams',
    answer: 'BetaManagedAgentsSession',
    honoured: 'agent budget metadata title vault_ids',
    ask: async (extra) =>
      client.beta.sessions.update((await makeSession()).id, { title: 'x', agent: { tools: [custom] }, ...extra }),
  },
  'sessions.list': {
    parameters: 'SessionListParams',
    answer: 'BetaManagedAgentsSession',
    isList: true,
    honoured:
      'limit page agent_id agent_version created_at[gt] created_at[gte] created_at[lt] created_at[lte] deployment_id include_archived order statuses',
    refused: { memory_store_id: 'memstore_x' },
    ask: async (extra) => (await makeSession(), client.beta.sessions.list(extra)),
  },
  'sessions.delete': {
    parameters: 'SessionDeleteParams',
    answer: 'BetaManagedAgentsDeletedSession',
    honoured: '',
    ask: async (extra) => client.beta.sessions.delete((await makeSession()).id, extra),
  },
  'sessions.archive': {
    parameters: 'SessionArchiveParams',
    answer: 'BetaManagedAgentsSession',
    honoured: '',
    ask: async (extra) => client.beta.sessions.archive((await makeSession()).id, extra),
  },
  'sessions.events.list': {
    parameters: 'EventListParams',
    answer: 'BetaManagedAgentsSessionEvent',
    isList: true,
    honoured: 'limit page created_at[gt] created_at[gte] created_at[lt] created_at[lte] order types',
    ask: async (extra) => client.beta.sessions.events.list(await restedSession(), extra),
  },
  'sessions.events.send': {
    parameters: 'EventSendParams',
    answer: 'BetaManagedAgentsSendSessionEvents',
    honoured: 'events',
    ask: async (extra) =>
      client.beta.sessions.events.send((await makeSession()).id, {
        events: [
          { type: 'user.message', content: [{ type: 'text', text: 'x' }] },
          { type: 'system.message', content: [{ type: 'text', text: 'x' }] },
        ],
        ...extra,
      }),
  },
  'vaults.create': {
    parameters: 'VaultCreateParams',
    answer: 'BetaManagedAgentsVault',
    honoured: 'display_name metadata',
    ask: makeVault,
  },
  'vaults.retrieve': {
    parameters: 'VaultRetrieveParams',
    answer: 'BetaManagedAgentsVault',
    honoured: '',
    ask: async (extra) => client.beta.vaults.retrieve((await makeVault()).id, extra),
  },
  'vaults.update': {
    parameters: 'VaultUpdateParams',
    answer: 'BetaManagedAgentsVault',
    honoured: 'display_name metadata',
    ask: async (extra) => client.beta.vaults.update((await makeVault()).id, { display_name: 'x', ...extra }),
  },
  'vaults.list': {
    parameters: 'VaultListParams',
    answer: 'BetaManagedAgentsVault',
    isList: true,
    honoured: 'limit page include_archived',
    ask: async (extra) => (await makeVault(), client.beta.vaults.list(extra)),
  },
  'vaults.delete': {
    parameters: 'VaultDeleteParams',
    answer: 'BetaManagedAgentsDeletedVault',
    honoured: '',
    ask: async (extra) => client.beta.vaults.delete((await makeVault()).id, extra),
  },
  'vaults.archive': {
    parameters: 'VaultArchiveParams',
    answer: 'BetaManagedAgentsVault',
    honoured: '',
    ask: async (extra) => client.beta.vaults.archive((await makeVault()).id, extra),
  },
  'vaults.credentials.create': {
    parameters: 'CredentialCreateParams',
    answer: 'BetaManagedAgentsCredential',
    honoured: 'auth display_name metadata',
    ask: async (extra) => makeCredential((await makeVault()).id, extra),
  },
  'vaults.credentials.retrieve': {
    parameters: 'CredentialRetrieveParams',
    answer: 'BetaManagedAgentsCredential',
    honoured: 'vault_id',
    ask: (extra) => ofCredential((id, vault_id) => client.beta.vaults.credentials.retrieve(id, { vault_id, ...extra })),
  },
  'vaults.credentials.update': {
    parameters: 'CredentialUpdateParams',
    answer: 'BetaManagedAgentsCredential',
    honoured: 'vault_id auth display_name metadata',
    ask: (extra) =>
      ofCredential((id, vault_id) =>
        client.beta.vaults.credentials.update(id, { vault_id, auth: { type: 'static_bearer', token: 'y' }, ...extra }),
      ),
  },
  'vaults.credentials.list': {
    parameters: 'CredentialListParams',
    answer: 'BetaManagedAgentsCredential',
    isList: true,
    honoured: 'limit page include_archived',
    ask: async (extra) => client.beta.vaults.credentials.list(await vaultOfEveryKind(), extra),
  },
  'vaults.credentials.delete': {
    parameters: 'CredentialDeleteParams',
    answer: 'BetaManagedAgentsDeletedCredential',
    honoured: 'vault_id',
    ask: (extra) => ofCredential((id, vault_id) => client.beta.vaults.credentials.delete(id, { vault_id, ...extra })),
  },
  'vaults.credentials.archive': {
    parameters: 'CredentialArchiveParams',
    answer: 'BetaManagedAgentsCredential',
    honoured: 'vault_id',
    ask: (extra) => ofCredential((id, vault_id) => client.beta.vaults.credentials.archive(id, { vault_id, ...extra })),
  },
  'vaults.credentials.mcpOAuthValidate': {
    parameters: 'CredentialMCPOAuthValidateParams',
    answer: 'BetaManagedAgentsCredentialValidation',
    honoured: 'vault_id',
    ask: async (extra) => {
      const { id: vault_id } = await makeVault()
      const { id } = await makeCredential(vault_id, {
        auth: { type: 'mcp_oauth', mcp_server_url: tools.url, access_token: 'bad' },
      })
      return client.beta.vaults.credentials.mcpOAuthValidate(id, { vault_id, ...extra })
    },
  },
  'models.retrieve': {
    parameters: 'ModelRetrieveParams',
    answer: 'BetaModelInfo',
    honoured: '',
    ask: (extra) => client.beta.models.retrieve('berth/demo', extra),
  },
  'models.list': {
    parameters: 'ModelListParams',
    answer: 'BetaModelInfo',
    isList: true,
    honoured: 'limit before_id after_id lifecycle',
    ask: (extra) => client.beta.models.list(extra),
  },
}
/** What the client sends as headers: the first means nothing here, the second is refused. */
const headers = ['betas', 'workspace_id']

async function vaultOfEveryKind(): Promise<string> {
  const { id } = await makeVault()
  await makeCredential(id)
  await makeCredential(id, {
    auth: {
      type: 'mcp_oauth',
      mcp_server_url: tools.url,
      access_token: 'x',
      refresh: {
        client_id: 'c',
        refresh_token: 'r',
        token_endpoint: 'https://example.com/token',
        token_endpoint_auth: { type: 'client_secret_basic', client_secret: 's' },
        scope: 'read',
      },
    },
  })
  await makeCredential(id, {
    auth: {
      type: 'environment_variable',
      secret_name: 'A',
      secret_value: 'x',
      networking: { type: 'limited', allowed_hosts: ['example.com'] },
    },
  })
  return id
}

/** A session that has thought, spoken, called a tool of the client's and one of a server that is not there, and was answered. */
async function restedSession(): Promise<string> {
  const agent = await sessions.agent({
    model: { id: 'berth/demo', effort: 'low' },
    tools: [
      { ...custom },
      { type: 'mcp_toolset', mcp_server_name: 'docs', default_config: { permission_policy: { type: 'always_allow' } } },
    ],
    mcp_servers: [{ type: 'url', name: 'docs', url: tools.url }],
  })
  const id = await sessions.begin(agent, '!say hello\n!tool weather {"town":"Bern"}\n!say done', {
    environment_id: (await makeEnvironment({ config: { type: 'self_hosted' } })).id,
  })
  const waiting = await sessions.rested(id)
  await sessions.send(id, {
    type: 'user.custom_tool_result',
    custom_tool_use_id: waiting.find(({ type }) => type === 'agent.custom_tool_use')?.id,
    content: [{ type: 'text', text: '20 °C' }],
  })
  await sessions.rested(id)
  return id
}

test('the table has every method of the client for these nouns, so that an upgrade shows what is new', () => {
  const { agents, environments, sessions: ours, vaults, models } = client.beta
  const resources: Readonly<Record<string, object>> = {
    agents,
    'agents.versions': agents.versions,
    environments,
    sessions: ours,
    'sessions.events': ours.events,
    vaults,
    'vaults.credentials': vaults.credentials,
    models,
  }
  /** Streams have a test of their own; a helper makes requests of the others. */
  const elsewhere = ['sessions.events.stream', 'sessions.events.toolRunner']
  const found = Object.entries(resources).flatMap(([name, resource]) =>
    Object.getOwnPropertyNames(Object.getPrototypeOf(resource))
      .filter((method) => method !== 'constructor')
      .map((method) => `${name}.${method}`),
  )
  expect(found.filter((name) => !elsewhere.includes(name)).sort()).toEqual(Object.keys(methods).sort())
})

describe.each(Object.entries(methods))('%s', (_name, { parameters, answer, isList, honoured, refused = {}, ask }) => {
  test('answers exactly what the client’s types say', async () => {
    const said = await ask({})
    const items = isList ? (said as Page).data : [said]
    expect(items.length).toBeGreaterThan(0)
    expect(items.flatMap((item) => problems(item, answer))).toEqual([])
  })

  test('honours every parameter of the client, or refuses it by name', async () => {
    expect([...honoured.split(' ').filter((name) => name !== ''), ...Object.keys(refused)].sort()).toEqual(
      [...membersOf(declarations, parameters).keys()].filter((name) => !headers.includes(name)).sort(),
    )
    for (const [name, value] of Object.entries(refused)) {
      const error: unknown = await ask({ [name]: value }).catch((thrown: unknown) => thrown)
      expect(error, name).toBeInstanceOf(Anthropic.BadRequestError)
      expect(String((error as Error).message), name).toContain(name)
    }
    const elsewhere: unknown = await ask({ workspace_id: 'wrkspc_x' }).catch((thrown: unknown) => thrown)
    expect(elsewhere).toBeInstanceOf(Anthropic.BadRequestError)
    expect(String((elsewhere as Error).message)).toContain('anthropic-workspace-id')
  })
})

test('every event of a stream is one that the client’s types know', async () => {
  const { id } = await makeSession({
    agent: await sessions.agent({ tools: [custom] }),
    environment_id: (await makeEnvironment({ config: { type: 'self_hosted' } })).id,
  })
  const stream = await client.beta.sessions.events.stream(id, { event_deltas: ['agent.message'] })
  await sessions.say(id, '!pace 100\n!repeat 10 word')
  const seen: Event[] = []
  for await (const event of stream) {
    seen.push(event as unknown as Event)
    if (event.type === 'session.status_idle') break
  }
  expect(seen.map(({ type }) => type)).toEqual(
    expect.arrayContaining(['event_start', 'event_delta', 'agent.message', 'session.usage']),
  )
  expect(seen.flatMap((event) => problems(event, 'BetaManagedAgentsStreamSessionEvents'))).toEqual([])
})

test('a log has everything that happened, and the table above has covered each kind of event', async () => {
  const seen = new Set((await sessions.log(await restedSession())).map(({ type }) => type))
  expect([...seen]).toEqual(
    expect.arrayContaining([
      'user.message',
      'session.status_running',
      'span.model_request_start',
      'agent.thinking',
      'agent.message',
      'span.model_request_end',
      'agent.custom_tool_use',
      'user.custom_tool_result',
      'session.error',
      'session.usage',
      'session.status_idle',
    ]),
  )
})

test('the client’s own tool runner works: nothing that it sends is refused', async () => {
  const { id } = await makeSession({
    agent: await sessions.agent({ tools: [custom] }),
    environment_id: (await makeEnvironment({ config: { type: 'self_hosted' } })).id,
  })
  const asked: unknown[] = []
  const weather = {
    type: 'custom' as const,
    name: 'weather',
    input_schema: { type: 'object' as const },
    parse: (input: unknown) => input,
    run: (input: unknown) => (asked.push(input), [{ type: 'text' as const, text: '20 °C' }]),
  }
  const stop = new AbortController()
  const runner = client.beta.sessions.events.toolRunner(id, {
    tools: [weather as never],
    maxIdleMs: 50,
    signal: stop.signal,
  }) // its types want a tool of the Messages API, of which this is one
  const running = (async () => {
    for await (const call of runner) void call
  })()
  await sessions.say(id, '!tool weather {"town":"Bern"}\n!say done')
  await until('the runner’s result came and the turn is over', async () =>
    (await sessions.log(id)).some(
      (event) => event.type === 'session.status_idle' && (event['stop_reason'] as { type: string }).type === 'end_turn',
    ),
  )
  await running
  stop.abort()
  expect(asked).toEqual([{ town: 'Bern' }])
  expect((await sessions.log(id)).filter(({ type }) => type === 'session.error')).toEqual([])
})
