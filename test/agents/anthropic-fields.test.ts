/** Every object inside the parameters of Anthropic's client, held against its declared type: each field is honoured, or refused by name. */
import Anthropic from '@anthropic-ai/sdk'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { membersOf } from '../support/declared-types.ts'
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
} from './anthropic-world.ts'

beforeAll(openAnthropicWorld)
afterAll(closeAnthropicWorld)

const mcpServers = [{ type: 'url', name: 'docs', url: 'https://example.com/mcp' }]
/** Objects inside parameters: `send` makes a request with them in their place. */
type Nested = {
  honoured: string
  refused?: Readonly<Record<string, unknown>>
  send: (extra: object) => Promise<unknown>
}
const withTool =
  (tool: object) =>
  (extra: object): Promise<unknown> =>
    makeAgent({ tools: [{ ...tool, ...extra }] })
const withConfig =
  (name: string) =>
  (extra: object): Promise<unknown> =>
    makeAgent({ tools: [{ type: 'agent_toolset_20260401', configs: [{ name, ...extra }] }] })
const withAuth =
  (auth: object) =>
  async (extra: object): Promise<unknown> =>
    makeCredential((await makeVault()).id, { auth: { ...auth, ...extra } })
const withNewAuth =
  (auth: object) =>
  (extra: object): Promise<unknown> =>
    ofCredential((id, vault_id) =>
      client.beta.vaults.credentials.update(id, {
        vault_id,
        auth: { type: 'static_bearer', ...auth, ...extra } as never,
      }),
    )
const withEvent =
  (event: object) =>
  async (extra: object): Promise<unknown> =>
    client.beta.sessions.events.send((await makeSession()).id, { events: [{ ...event, ...extra } as never] })
const withConfigOf =
  (config: object) =>
  (extra: object): Promise<unknown> =>
    makeEnvironment({ config: { ...config, ...extra } })
const fixedNames = 'enabled name permission_policy type'
const ofBuiltIns = Object.fromEntries(
  ['Bash', 'Edit', 'Read', 'Write', 'Glob', 'Grep'].map((name): [string, Nested] => [
    `BetaManagedAgents${name}ToolConfigParams`,
    { honoured: fixedNames, send: withConfig(name.toLowerCase()) },
  ]),
)
const nested: Readonly<Record<string, Nested>> = {
  ...ofBuiltIns,
  BetaManagedAgentsWebFetchToolConfigParams: {
    honoured: `${fixedNames} allowed_domains blocked_domains max_content_tokens`,
    refused: { url_sources: { user_input: 'none' } },
    send: withConfig('web_fetch'),
  },
  BetaManagedAgentsWebSearchToolConfigParams: {
    honoured: `${fixedNames} allowed_domains blocked_domains`,
    refused: { user_location: { type: 'approximate', country: 'CH' } },
    send: withConfig('web_search'),
  },
  BetaManagedAgentsAgentToolset20260401Params: {
    honoured: 'type configs default_config',
    send: withTool({ type: 'agent_toolset_20260401' }),
  },
  BetaManagedAgentsAgentToolsetDefaultConfigParams: {
    honoured: 'enabled permission_policy',
    send: (extra) => makeAgent({ tools: [{ type: 'agent_toolset_20260401', default_config: extra }] }),
  },
  BetaManagedAgentsMCPToolsetParams: {
    honoured: 'type mcp_server_name configs default_config',
    send: (extra) =>
      makeAgent({
        mcp_servers: mcpServers,
        tools: [{ type: 'mcp_toolset', mcp_server_name: 'docs', ...extra }],
      }),
  },
  BetaManagedAgentsMCPToolConfigParams: {
    honoured: 'name enabled permission_policy',
    send: (extra) =>
      makeAgent({
        mcp_servers: mcpServers,
        tools: [{ type: 'mcp_toolset', mcp_server_name: 'docs', configs: [{ name: 'x', ...extra }] }],
      }),
  },
  BetaManagedAgentsCustomToolParams: { honoured: 'type name description input_schema', send: withTool(custom) },
  BetaManagedAgentsModelConfigParams: {
    honoured: 'id effort speed',
    refused: { inference_geo: 'eu' },
    send: (extra) => makeAgent({ model: { id: 'berth/demo', ...extra } }),
  },
  BetaManagedAgentsAnthropicSkillParams: {
    honoured: 'skill_id type version',
    send: (extra) => makeAgent({ skills: [{ type: 'anthropic', skill_id: 'x', ...extra }] }),
  },
  BetaManagedAgentsCustomSkillParams: {
    honoured: 'skill_id type version',
    send: (extra) => makeAgent({ skills: [{ type: 'custom', skill_id: 'x', ...extra }] }),
  },
  BetaManagedAgentsURLMCPServerParams: {
    honoured: 'name type url',
    send: (extra) => makeAgent({ mcp_servers: [{ type: 'url', name: 'x', url: 'https://example.com', ...extra }] }),
  },
  BetaCloudConfigParams: { honoured: 'type networking packages', send: withConfigOf({ type: 'cloud' }) },
  BetaSelfHostedConfigParams: { honoured: 'type', send: withConfigOf({ type: 'self_hosted' }) },
  BetaLimitedNetworkParams: {
    honoured: 'type allow_mcp_servers allow_package_managers allowed_hosts',
    send: (extra) => makeEnvironment({ config: { type: 'cloud', networking: { type: 'limited', ...extra } } }),
  },
  BetaPackagesParams: {
    honoured: 'apt cargo gem go npm pip type',
    send: (extra) => makeEnvironment({ config: { type: 'cloud', packages: extra } }),
  },
  BetaManagedAgentsAgentParams: {
    honoured: 'id type version',
    send: async (extra) => makeSession({ agent: { type: 'agent', id: (await makeAgent()).id, ...extra } }),
  },
  BetaManagedAgentsAgentWithOverridesParams: {
    honoured: 'id type version mcp_servers model skills system tools',
    send: async (extra) =>
      makeSession({ agent: { type: 'agent_with_overrides', id: (await makeAgent()).id, ...extra } }),
  },
  BetaManagedAgentsSessionAgentUpdate: {
    honoured: 'mcp_servers tools',
    send: async (extra) => client.beta.sessions.update((await makeSession()).id, { agent: extra }),
  },
  BetaManagedAgentsBudgetLimit: {
    honoured: 'type max_list_cost',
    send: (extra) =>
      makeSession({ budget: { type: 'limit', max_list_cost: { amount: '1', currency: 'USD' }, ...extra } }),
  },
  BetaManagedAgentsStaticBearerCreateParams: {
    honoured: 'type token mcp_server_url',
    send: withAuth({ type: 'static_bearer', mcp_server_url: 'https://example.com', token: 'x' }),
  },
  BetaManagedAgentsMCPOAuthCreateParams: {
    honoured: 'type access_token mcp_server_url expires_at refresh',
    send: withAuth({ type: 'mcp_oauth', mcp_server_url: 'https://example.com', access_token: 'x' }),
  },
  BetaManagedAgentsMCPOAuthRefreshParams: {
    honoured: 'client_id refresh_token token_endpoint token_endpoint_auth resource scope',
    send: (extra) =>
      withAuth({ type: 'mcp_oauth', mcp_server_url: 'https://example.com', access_token: 'x' })({
        refresh: {
          client_id: 'c',
          refresh_token: 'r',
          token_endpoint: 'https://example.com/t',
          token_endpoint_auth: { type: 'none' },
          ...extra,
        },
      }),
  },
  BetaManagedAgentsEnvironmentVariableCreateParams: {
    honoured: 'type secret_name secret_value networking injection_location',
    send: withAuth({
      type: 'environment_variable',
      secret_name: 'A',
      secret_value: 'x',
      networking: { type: 'unrestricted' },
    }),
  },
  BetaManagedAgentsStaticBearerUpdateParams: { honoured: 'type token', send: withNewAuth({}) },
  BetaManagedAgentsMCPOAuthUpdateParams: {
    honoured: 'type',
    refused: { access_token: 'x', expires_at: '2030-01-01T00:00:00Z', refresh: { scope: 'x' } },
    send: withNewAuth({}),
  },
  BetaManagedAgentsEnvironmentVariableUpdateParams: {
    honoured: 'type',
    refused: { secret_value: 'x', networking: { type: 'unrestricted' }, injection_location: { body: true } },
    send: withNewAuth({}),
  },
  BetaManagedAgentsUserMessageEventParams: {
    honoured: 'type content',
    send: withEvent({ type: 'user.message', content: [{ type: 'text', text: 'x' }] }),
  },
  BetaManagedAgentsUserInterruptEventParams: {
    honoured: 'type',
    refused: { session_thread_id: 'x' },
    send: withEvent({ type: 'user.interrupt' }),
  },
  BetaManagedAgentsUserDefineOutcomeEventParams: {
    honoured: 'type description rubric max_iterations',
    send: withEvent({ type: 'user.define_outcome', description: 'x', rubric: { type: 'text', content: 'x' } }),
  },
  BetaManagedAgentsSystemMessageEventParams: {
    honoured: 'type content',
    send: withEvent({ type: 'system.message', content: [{ type: 'text', text: 'x' }] }),
  },
}

test.each(Object.entries(nested))(
  'every field of %s is honoured, or refused by name',
  async (type, { honoured, refused = {}, send }) => {
    expect([...honoured.split(' '), ...Object.keys(refused)].sort()).toEqual(
      [...membersOf(declarations, type).keys()].sort(),
    )
    for (const [name, value] of Object.entries({ ...refused, frobnicate: 1 })) {
      const error: unknown = await send({ [name]: value }).catch((thrown: unknown) => thrown)
      expect(error, name).toBeInstanceOf(Anthropic.BadRequestError)
      expect(String((error as Error).message), name).toContain(name)
    }
  },
)

test('the permission policy auto, which nobody decides here, is refused by name', async () => {
  for (const tool of [
    { type: 'agent_toolset_20260401', default_config: { permission_policy: { type: 'auto' } } },
    { type: 'agent_toolset_20260401', configs: [{ name: 'bash', permission_policy: { type: 'auto' } }] },
  ])
    await expect(makeAgent({ tools: [tool] })).rejects.toThrow('permission_policy.type')
})
