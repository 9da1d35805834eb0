/** What an agent's tool servers offer, asked of real ones: open, closed, silent, absent, and ones that may not be reached. */
import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { listedMcpTools, listSessionTools, type McpSession } from '#src/resources/agents/turns/mcp-calls.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { startMcpServer, type TestMcpServer } from '../support/mcp-server.ts'
import { freePort } from '../support/ports.ts'

type Found = {
  data: {
    server_name: string
    url: string
    status: string
    error: string | null
    tools: { name: string; description: string | null; input_schema: { type: string } }[]
  }[]
}

let berth: Berth
let token: string
let free: TestMcpServer
let closed: TestMcpServer
let silent: Server
let silentPort: number
let emptyPort: number
beforeAll(async () => {
  free = await startMcpServer()
  closed = await startMcpServer((given) => given === 'good')
  ;[silentPort, emptyPort] = [await freePort(), await freePort()]
  silent = createServer(() => undefined).listen(silentPort, '127.0.0.1')
  await once(silent, 'listening')
  berth = await startBerth({
    settings: {
      BERTH_PRIVATE_HOSTS: [free.hostPort, closed.hostPort, `127.0.0.1:${silentPort}`, `127.0.0.1:${emptyPort}`].join(),
    },
  })
  token = await berth.token()
})
afterAll(async () => {
  await berth.stop()
  await free.close()
  await closed.close()
  silent.closeAllConnections()
  silent.close()
})

async function discover(servers: Record<string, string>, as = token): Promise<Found['data']> {
  const made = await berth.call<{ id: string }>('POST', '/agents/v1/agents', {
    token: as,
    body: {
      name: 'x',
      model: 'berth/demo',
      mcp_servers: Object.entries(servers).map(([name, url]) => ({ type: 'url', name, url })),
    },
  })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  const found = await berth.call<Found>('GET', `/agents/v1/agents/${made.body.id}/mcp-tools`, { token: as })
  expect(found.status).toBe(200)
  return found.body.data
}

test('tools come with their schemas; a server that requires a credential, or is unreachable, is reported beside them', async () => {
  expect(
    await discover({
      free: free.url,
      closed: closed.url,
      absent: `http://127.0.0.1:${emptyPort}/mcp`,
      own: 'https://127.0.0.1:8443/mcp',
    }),
  ).toEqual([
    {
      server_name: 'free',
      url: free.url,
      status: 'ok',
      error: null,
      tools: [
        {
          name: 'add',
          description: 'Adds two numbers.',
          input_schema: expect.objectContaining({
            type: 'object',
            properties: expect.objectContaining({ a: expect.anything() }),
          }),
        },
        expect.objectContaining({ name: 'show' }),
      ],
    },
    {
      server_name: 'closed',
      url: closed.url,
      status: 'auth_required',
      error: expect.stringContaining('vault'),
      tools: [],
    },
    {
      server_name: 'absent',
      url: `http://127.0.0.1:${emptyPort}/mcp`,
      status: 'unreachable',
      error: expect.any(String),
      tools: [],
    },
    {
      server_name: 'own',
      url: 'https://127.0.0.1:8443/mcp',
      status: 'unreachable',
      error: 'Loopback addresses may not be reached.',
      tools: [],
    },
  ])
})

test('a silent server is given up after 10 s, and does not delay the others', async () => {
  expect(await discover({ silent: `http://127.0.0.1:${silentPort}/mcp`, free: free.url })).toMatchObject([
    { status: 'unreachable', error: 'The server did not answer within 10 s.' },
    { status: 'ok' },
  ])
})

test('a credential in one of the caller’s own vaults is sent to its server, and never another person’s', async () => {
  const vault = await berth.call<{ id: string }>('POST', '/agents/v1/vaults', { token, body: { display_name: 'v' } })
  const put = await berth.call<{ id: string }>('POST', `/agents/v1/vaults/${vault.body.id}/credentials`, {
    token,
    body: { display_name: 'c', auth: { type: 'static_bearer', mcp_server_url: closed.url, token: 'good' } },
  })
  expect(put.status, JSON.stringify(put.body)).toBe(201)
  expect(await discover({ closed: closed.url })).toMatchObject([
    { status: 'ok', tools: [{ name: 'add' }, { name: 'show' }] },
  ])
  const rotate = (secret: string): Promise<unknown> =>
    berth.call('PUT', `/agents/v1/vaults/${vault.body.id}/credentials/${put.body.id}`, {
      token,
      body: { auth: { type: 'static_bearer', token: secret } },
    })
  await rotate('bad')
  expect(await discover({ closed: closed.url })).toMatchObject([
    { status: 'auth_required', error: expect.stringContaining('refuses the credential') },
  ])
  await rotate('good')
  free.tokens.length = 0
  expect(await discover({ free: free.url })).toMatchObject([{ status: 'ok' }])
  expect(free.tokens).not.toContain('good')
  expect(await discover({ closed: closed.url }, await berth.token('mallory', 'evil', 'owner'))).toMatchObject([
    { status: 'auth_required' },
  ])
  await berth.call('POST', `/agents/v1/vaults/${vault.body.id}/archive`, { token })
  expect(await discover({ closed: closed.url })).toMatchObject([{ status: 'auth_required' }])
})

/** Makes the free server answer listings with these pages, one after the other and again. */
function listsPages(pages: readonly { tools: object[]; nextCursor?: string }[]): void {
  let asked = 0
  free.intercept = (_req, res, body) => {
    const { id, method } = JSON.parse(body || '{}') as { id?: number; method?: string }
    if (method !== 'tools/list') return false
    res
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', ...pages[asked++ % pages.length] } }))
    return true
  }
}
const bigTool = (name: string, bytes: number): object => ({
  name,
  description: 'x'.repeat(bytes),
  inputSchema: { type: 'object' },
})

test.each([
  ['expired', '2020-01-01T00:00:00Z'],
  ['refused', '2099-01-01T00:00:00Z'],
  ['lasting', null],
])('a credential (%s) is not to be replaced while its authorization server is away', async (name, expires_at) => {
  const person = await berth.token(name)
  const post = (path: string, body: object) =>
    berth.call<{ id: string }>('POST', `/agents/v1${path}`, { token: person, body })
  const vault = await post('/vaults', { display_name: 'v' })
  const refresh = {
    client_id: 'c',
    refresh_token: 'r',
    token_endpoint: `http://127.0.0.1:${emptyPort}/token`, // nobody is there
    token_endpoint_auth: { type: 'none' },
  }
  const auth = {
    type: 'mcp_oauth',
    mcp_server_url: closed.url,
    access_token: 'old',
    expires_at,
  }
  const made = await post(`/vaults/${vault.body.id}/credentials`, { display_name: 'c', auth: { ...auth, refresh } })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  expect(await discover({ closed: closed.url }, person)).toMatchObject([
    {
      status: 'unreachable',
      error: expect.stringContaining('token endpoint that renews it could not be reached. Try again later.'),
    },
  ])
  await berth.call('POST', `/agents/v1/vaults/${vault.body.id}/credentials/${made.body.id}/archive`, { token: person })
  await post(`/vaults/${vault.body.id}/credentials`, { display_name: 'c', auth })
  expect(await discover({ closed: closed.url }, person)).toMatchObject([
    { status: 'auth_required', error: expect.stringContaining('Replace it with a new one.') },
  ])
})

test('a listing of more than 1 MiB is refused, in one answer and over many pages', async () => {
  const big = limits.mcpListingBytes * 0.6
  for (const pages of [
    [{ tools: [bigTool('one', 2 * big)] }],
    [{ tools: [bigTool('one', big)], nextCursor: 'next' }, { tools: [bigTool('two', big)] }],
  ]) {
    listsPages(pages)
    expect(await discover({ free: free.url })).toMatchObject([
      { status: 'unreachable', error: 'The host answered with more than 1 MiB.', tools: [] },
    ])
  }
  listsPages([{ tools: [bigTool('one', big)] }])
  expect(await discover({ free: free.url })).toMatchObject([{ status: 'ok', tools: [{ name: 'one' }] }])
  free.intercept = null
})

test('of large listings only the newest are cached', async () => {
  listsPages([{ tools: [bigTool('one', limits.mcpListingBytes * 0.9)] }])
  const session = {
    id: newUuid(),
    organizationId: newUuid(),
    ownerUserId: newUuid(),
    vaultIds: [],
    agentDefinition: { mcp_servers: [{ type: 'url', name: 'free', url: free.url }], mcp_services: [] },
  } as unknown as McpSession // the part that listing reads
  const turns = Array.from({ length: 40 }, (_, turn) => `turn ${turn}`)
  for (const turn of turns)
    expect((await listSessionTools(berth.services, session, turn, new AbortController().signal)).errors).toEqual([])
  expect(turns.map((turn) => listedMcpTools(session, turn) !== undefined)).toEqual(turns.map((_, place) => place >= 5))
  free.intercept = null
})

test('an agent without tool servers has none to ask', async () => {
  expect(await discover({})).toEqual([])
})
