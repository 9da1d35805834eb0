/** Anthropic's client at a Berth with a worker and no VMs, the types that the client declares, and makers through it. */
import Anthropic from '@anthropic-ai/sdk'
import { agentSessions, type AgentSessions } from '../support/agent-sessions.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { anthropicTypes } from '../support/declared-types.ts'
import { startMcpServer, type TestMcpServer } from '../support/mcp-server.ts'

/** What the client declares of what Berth has paths for, and how a value differs from one of its types. */
export const { declarations, problems } = anthropicTypes([
  'agents/agents',
  'agents/versions',
  'environments/environments',
  'sessions/sessions',
  'sessions/events',
  'sessions/resources',
  'vaults/vaults',
  'vaults/credentials',
  'files',
  'models',
  'beta',
])

let berth: Berth
/** A tool server that takes the credential `good`. */
export let tools: TestMcpServer
/** Anthropic's client with the token of a person. */
export let client: Anthropic
/** The same person's sessions by their paths. */
export let sessions: AgentSessions
/** Starts all of it. */
export async function openAnthropicWorld(): Promise<void> {
  tools = await startMcpServer((given) => given === 'good')
  berth = await startBerth({
    worker: true,
    settings: { BERTH_VMS: 'off', BERTH_RATE_LIMIT_FACTOR: '100', BERTH_PRIVATE_HOSTS: tools.hostPort },
  })
  const token = await berth.token()
  client = new Anthropic({ baseURL: `${berth.url}/agents`, apiKey: null, authToken: token, maxRetries: 0 })
  sessions = agentSessions(berth, token)
}

/** Ends it. */
export async function closeAnthropicWorld(): Promise<void> {
  await berth?.stop()
  await tools?.close()
}

let names = 0
const fresh = (): string => `n${names++}`
/** A tool of the client's. */
export const custom = { type: 'custom', name: 'weather', description: 'w', input_schema: { type: 'object' } } as const
/** Built-in tools, each configured in another way. */
export const toolset = {
  type: 'agent_toolset_20260401',
  configs: [
    { name: 'bash', permission_policy: { type: 'always_ask' } },
    { name: 'web_fetch', allowed_domains: ['example.com'] },
    { name: 'web_search' },
  ],
} as const
/** An agent. */
export const makeAgent = (fields: object = {}): Promise<{ id: string; version: number }> =>
  client.beta.agents.create({ name: fresh(), model: 'berth/demo', ...fields })
/** An environment. */
export const makeEnvironment = (fields: object = {}): Promise<{ id: string }> =>
  client.beta.environments.create({ name: fresh(), config: { type: 'cloud' }, ...fields })
/** A vault. */
export const makeVault = (fields: object = {}): Promise<{ id: string }> =>
  client.beta.vaults.create({ display_name: fresh(), ...fields })
/** A credential of a tool server. */
export const makeCredential = (vault: string, fields: object = {}): Promise<{ id: string }> =>
  client.beta.vaults.credentials.create(vault, {
    auth: { type: 'static_bearer', mcp_server_url: `https://example.com/${fresh()}`, token: 'x' },
    ...fields,
  })
/** A session of a new agent in a new environment. */
export const makeSession = async (fields: object = {}): Promise<{ id: string }> =>
  client.beta.sessions.create({
    agent: (await makeAgent()).id,
    environment_id: (await makeEnvironment()).id,
    ...fields,
  })

/** Asks about a credential in a new vault. */
export async function ofCredential(ask: (id: string, vault: string) => Promise<unknown>): Promise<unknown> {
  const { id: vault } = await makeVault()
  return ask((await makeCredential(vault)).id, vault)
}
