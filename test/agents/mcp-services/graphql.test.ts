/** Connectors over GraphQL: the catalog, connections as nodes, the mutations, and what happens as it happens. */
import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, expect, test } from 'vitest'
import WebSocket from 'ws'
import { passBy, returnUrl, startConnectorWorld, type ConnectorWorld } from '../../support/connectors/world.ts'

let world: ConnectorWorld
let bob: string
beforeAll(async () => {
  world = await startConnectorWorld()
  bob = await world.berth.token('bob', 'acme', 'member')
})
afterAll(() => world.stop())

const ask = async (query: string, variables: object = {}, token = world.token) =>
  (await world.berth.ask(query, { token, variables })).body as {
    data: Record<string, unknown>
    errors?: { extensions: { code: string } }[]
  }

test('a connection is made, read as a node, chosen from, followed, and deleted', async () => {
  const client = createClient({
    url: `${world.berth.url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${world.token}` },
  })
  const follow = (after: string) =>
    client.iterate<{ mcpServiceEvents: Record<string, unknown> }>({
      query: `subscription ($after: String) { mcpServiceEvents(after: $after) { __typename ... on McpServiceEvent { cursor type serviceId service { connected } connectionId connection { id } } } }`,
      variables: { after },
    })
  const events = follow('0') // from the beginning: who follows without a cursor may begin behind the first event
  const next = async (from = events): Promise<Record<string, unknown>> => {
    for (;;) {
      const result = (await from.next()) as { value?: { data?: { mcpServiceEvents: Record<string, unknown> } } }
      const event = result.value?.data?.mcpServiceEvents
      if (event?.['__typename'] === 'McpServiceEvent') return event
    }
  }
  const first = next()
  const started = await ask(
    'mutation ($input: StartMcpSignInInput!) { startMcpSignIn(input: $input) { authorizationUrl state expiresAt } }',
    { input: { id: 'desk', returnUrl } },
  )
  const { authorizationUrl, state } = started.data['startMcpSignIn'] as { authorizationUrl: string; state: string }
  const back = await passBy(await world.authority.visit(authorizationUrl))
  const completed = await ask(
    `mutation ($input: CompleteMcpSignInInput!) { completeMcpSignIn(input: $input) { service { id connected toolsCount connection { id status issuer scopes missingScopes service { name } user { id } organization { name } } } } }`,
    { input: { code: back.searchParams.get('code'), state } },
  )
  const { service } = completed.data['completeMcpSignIn'] as { service: { connection: { id: string } } }
  expect(service).toMatchObject({
    id: 'desk',
    connected: true,
    toolsCount: 2,
    connection: {
      id: expect.stringMatching(/^svcn_[0-9a-z]{26}$/),
      status: 'ACTIVE',
      issuer: world.authority.issuer,
      scopes: ['read'],
      missingScopes: [],
      service: { name: 'Desk' },
      organization: { name: expect.any(String) },
    },
  })
  const { id } = service.connection
  const node = '{ node(id: "ID") { id ... on ConnectedService { serviceId connectedAt expiresAt } } }'.replace('ID', id)
  expect((await ask(node)).data['node']).toMatchObject({ id, serviceId: 'desk', connectedAt: expect.any(String) })
  expect((await ask(node, {}, bob)).data['node']).toBeNull()
  const connected = await first
  expect(connected).toMatchObject({
    type: 'MCP_SERVICE_CONNECTED',
    serviceId: 'desk',
    connectionId: id,
    connection: { id },
  })
  await ask('mutation { selectMcpTools(input: { id: "desk", disabledTools: ["show"] }) { service { disabledTools } } }')
  expect(await next()).toMatchObject({
    type: 'MCP_SERVICE_TOOLS_SELECTED',
    service: { connected: true },
    connectionId: null,
  })
  expect(
    (await ask('{ mcpServiceTools(id: "desk") { tools { name inputSchema } disabledTools } }')).data['mcpServiceTools'],
  ).toMatchObject({
    tools: [{ name: 'add' }, { name: 'show' }],
    disabledTools: ['show'],
  })
  expect(
    (await ask('mutation { disconnectMcpService(input: { id: "desk" }) { deletedId } }')).data['disconnectMcpService'],
  ).toEqual({ deletedId: id })
  const gone = { type: 'MCP_SERVICE_DISCONNECTED', connectionId: id, connection: null, service: { connected: false } }
  expect(await next()).toMatchObject(gone)
  // Resuming from a cursor repeats what followed it, and nothing else.
  const resumed = follow(String(connected['cursor']))
  expect([await next(resumed), await next(resumed)]).toMatchObject([{ type: 'MCP_SERVICE_TOOLS_SELECTED' }, gone])
  await client.dispose()
})

test('pages of the catalog go both ways, and errors have their codes', async () => {
  const page = async (args: string) =>
    (await ask(`{ mcpServices(${args}) { totalCount nodes { id } pageInfo { hasNextPage endCursor startCursor } } }`))
      .data['mcpServices'] as { totalCount: number; nodes: { id: string }[] }
  const all = await page('first: 100')
  expect(all.nodes).toHaveLength(all.totalCount)
  const ids = all.nodes.map(({ id }) => id)
  expect((await page(`first: 2, after: "${ids[1]}"`)).nodes.map(({ id }) => id)).toEqual(ids.slice(2, 4))
  expect((await page(`last: 2, before: "${ids[4]}"`)).nodes.map(({ id }) => id)).toEqual(ids.slice(2, 4))
  const named = await page('first: 100, filter: { text: "DES" }')
  expect(named.nodes.map(({ id }) => id)).toContain('desk')
  expect([named.totalCount, named.nodes.length]).toEqual([named.nodes.length, named.nodes.length])
  expect(named.totalCount).toBeLessThan(all.totalCount)
  expect((await page('filter: { text: "no such connector" }')).totalCount).toBe(0)
  const codeOf = async (query: string) => (await ask(query)).errors?.[0]?.extensions.code
  expect(await codeOf(`{ mcpServices(filter: { text: "${'x'.repeat(256)}" }) { nodes { id } } }`)).toBe(
    'INVALID_REQUEST',
  )
  expect(await codeOf('{ mcpServices(after: "nowhere") { nodes { id } } }')).toBe('INVALID_REQUEST')
  expect(await codeOf('{ mcpService(id: "nowhere") { id } }')).toBe('NOT_FOUND')
  expect(await codeOf('{ mcpServiceTools(id: "desk") { disabledTools } }')).toBe('PROVIDER_NOT_CONNECTED')
})
