/** The lists of the agents service by Anthropic's own client: every filter has its effect, and every list is walked over its pages. */
import Anthropic from '@anthropic-ai/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agentSessions, type AgentSessions } from '../support/agent-sessions.ts'
import { startBerth, type Berth } from '../support/berth.ts'

let berth: Berth
let client: Anthropic
let sessions: AgentSessions
let token: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100', ANTHROPIC_API_KEY: 'a-key' } }) // with models enough for pages
  token = await berth.token()
  client = new Anthropic({ baseURL: `${berth.url}/agents`, apiKey: null, authToken: token, maxRetries: 0 })
  sessions = agentSessions(berth, token)
})
afterAll(() => berth.stop())

let names = 0
const fresh = (): string => `n${names++}`
const makeAgent = (): Promise<{ id: string }> => client.beta.agents.create({ name: fresh(), model: 'berth/demo' })
const makeEnvironment = (): Promise<{ id: string }> =>
  client.beta.environments.create({ name: fresh(), config: { type: 'self_hosted' } })
const makeVault = (): Promise<{ id: string }> => client.beta.vaults.create({ display_name: fresh() })
const makeCredential = (vault: string): Promise<{ id: string }> =>
  client.beta.vaults.credentials.create(vault, {
    auth: { type: 'static_bearer', mcp_server_url: `https://example.com/${fresh()}`, token: 'x' },
  })
const makeSession = async (fields: { agent?: string } = {}): Promise<{ id: string }> =>
  client.beta.sessions.create({
    agent: (await makeAgent()).id,
    environment_id: (await makeEnvironment()).id,
    ...fields,
  })
type Page = { data: unknown[] }

describe('a list’s filters', () => {
  const idsOf = async (list: AsyncIterable<{ id: string }>): Promise<string[]> => {
    const ids: string[] = []
    for await (const { id } of list) ids.push(id)
    return ids
  }

  test('of agents: by creation time', async () => {
    const { id } = await makeAgent()
    const { created_at } = await client.beta.agents.retrieve(id)
    const later = (await makeAgent()).id
    const before = new Date(Date.parse(created_at) + 60_000).toISOString()
    expect(await idsOf(client.beta.agents.list({ 'created_at[gte]': created_at }))).toEqual(
      expect.arrayContaining([id, later]),
    )
    expect(await idsOf(client.beta.agents.list({ 'created_at[gte]': before }))).toEqual([])
    expect(await idsOf(client.beta.agents.list({ 'created_at[lte]': before }))).toEqual(
      expect.arrayContaining([id, later]),
    )
    await expect(client.beta.agents.list({ 'created_at[gte]': 'yesterday' })).rejects.toBeInstanceOf(
      Anthropic.BadRequestError,
    )
  })

  test('of sessions: by agent and version, order, status, and whether they are archived', async () => {
    const agent = await makeAgent()
    const first = (await makeSession({ agent: agent.id })).id
    await client.beta.agents.update(agent.id, { version: 1, description: 'changed' })
    const second = (await makeSession({ agent: agent.id })).id
    const list = (filter: Anthropic.Beta.SessionListParams): Promise<string[]> =>
      idsOf(client.beta.sessions.list({ agent_id: agent.id, ...filter }))
    expect(await list({ agent_version: 1 })).toEqual([first])
    expect(await list({ agent_version: 2 })).toEqual([second])
    expect(await list({ order: 'asc' })).toEqual([first, second])
    expect(await list({ statuses: ['running'] })).toEqual([])
    await client.beta.sessions.archive(first)
    expect(await list({})).toEqual([second])
    expect(await list({ include_archived: true, statuses: ['terminated'] })).toEqual([first])
    await expect(client.beta.sessions.list({ agent_version: 1 })).rejects.toThrow('agent_id')
    for (const filter of [{ agent_id: '' }, { deployment_id: '' }, { agent_id: 'x' }])
      expect(await idsOf(client.beta.sessions.list(filter))).toEqual([]) // nothing has such an id
  })

  test('of models: by the stage of their life cycle', async () => {
    expect(await idsOf(client.beta.models.list({ lifecycle: ['retired'] }))).toEqual([])
    expect(await idsOf(client.beta.models.list({ lifecycle: ['active', 'deprecated'] }))).toContain('berth/demo')
  })
})

describe('every list is walked by the client over three pages:', () => {
  const made = async (make: () => Promise<{ id: string }>): Promise<string[]> => {
    const ids: string[] = []
    for (let count = 0; count < 5; count++) ids.unshift((await make()).id)
    return ids
  }
  type Walk = { pages: () => Promise<AsyncIterable<Page & { has_more?: boolean }>>; wanted: string[] }
  const walked = async ({ pages, wanted }: Walk, idOf: (item: never) => string): Promise<void> => {
    const sizes: number[] = []
    const seen: string[] = []
    for await (const page of await pages()) {
      sizes.push(page.data.length)
      seen.push(...page.data.map((item) => idOf(item as never)))
    }
    expect(sizes).toEqual([2, 2, 1])
    expect(seen).toEqual(wanted)
  }
  const pagesOf = async (
    list: PromiseLike<{ iterPages: () => AsyncIterable<unknown> }>,
  ): Promise<AsyncIterable<Page>> => (await list).iterPages() as AsyncIterable<Page>
  const id = (item: { id: string }): string => item.id

  test('agents, environments, vaults', async () => {
    const other = new Anthropic({
      baseURL: `${berth.url}/agents`,
      apiKey: null,
      authToken: await berth.token('walker', 'walks', 'owner'),
      maxRetries: 0,
    }).beta
    await walked(
      {
        wanted: await made(() => other.agents.create({ name: 'x', model: 'berth/demo' })),
        pages: () => pagesOf(other.agents.list({ limit: 2 })),
      },
      id,
    )
    await walked(
      {
        wanted: await made(() => other.environments.create({ name: fresh() })),
        pages: () => pagesOf(other.environments.list({ limit: 2 })),
      },
      id,
    )
    await walked(
      {
        wanted: await made(() => other.vaults.create({ display_name: 'x' })),
        pages: () => pagesOf(other.vaults.list({ limit: 2 })),
      },
      id,
    )
  })

  test('versions, credentials, events', async () => {
    const agent = await makeAgent()
    for (let version = 1; version < 5; version++)
      await client.beta.agents.update(agent.id, { version, description: `d${version}` })
    await walked(
      {
        wanted: ['5', '4', '3', '2', '1'],
        pages: () => pagesOf(client.beta.agents.versions.list(agent.id, { limit: 2 })),
      },
      ({ version }: { version: number }) => String(version),
    )
    const vault = (await makeVault()).id
    await walked(
      {
        wanted: await made(() => makeCredential(vault)),
        pages: () => pagesOf(client.beta.vaults.credentials.list(vault, { limit: 2 })),
      },
      id,
    )
    const session = (await makeSession()).id
    const sent = await sessions.send(
      session,
      ...Array.from({ length: 5 }, () => ({ type: 'system.message', content: [{ type: 'text', text: 'x' }] })),
    )
    await walked(
      {
        wanted: sent.map((event) => event.id),
        pages: () => pagesOf(client.beta.sessions.events.list(session, { limit: 2 })),
      },
      id,
    )
  })

  test('sessions, forward and back again', async () => {
    const agent = (await makeAgent()).id
    const wanted = await made(() => makeSession({ agent }))
    await walked({ wanted, pages: () => pagesOf(client.beta.sessions.list({ agent_id: agent, limit: 2 })) }, id)
    const first = await client.beta.sessions.list({ agent_id: agent, limit: 2 })
    const second = await first.getNextPage()
    const third = await second.getNextPage()
    expect([first.prev_page, third.next_page]).toEqual([null, null])
    const back = await client.beta.sessions.list({ agent_id: agent, limit: 2, page: third.prev_page })
    expect(back.data.map(id)).toEqual(second.data.map(id))
    const backAgain = await client.beta.sessions.list({ agent_id: agent, limit: 2, page: back.prev_page })
    expect([backAgain.data.map(id), backAgain.prev_page]).toEqual([first.data.map(id), null])
    expect((await backAgain.getNextPage()).data.map(id)).toEqual(second.data.map(id))
    await expect(client.beta.sessions.list({ page: '-' })).rejects.toBeInstanceOf(Anthropic.BadRequestError)
  })

  test('models, forward and back', async () => {
    const { body } = await berth.call<{ data: { id: string }[] }>('GET', '/agents/v1/models', { token })
    const all = body.data.map(id)
    const forward: string[] = []
    for await (const model of client.beta.models.list({ limit: 1 })) forward.push(model.id)
    expect(forward).toEqual(all)
    expect(all.length).toBeGreaterThanOrEqual(3)
    const back = await client.beta.models.list({ before_id: all.at(-1) ?? '', limit: 2 })
    expect([back.data.map(id), back.has_more]).toEqual([all.slice(-3, -1), all.length > 3])
    expect((await client.beta.models.list({ before_id: all[0] ?? '' })).data).toEqual([])
    await expect(client.beta.models.list({ after_id: 'nobody/nothing' })).rejects.toThrow('after_id')
  })
})
