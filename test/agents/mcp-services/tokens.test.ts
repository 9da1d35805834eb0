/** A connection's tokens: refreshed once for every process, and safe from one that dies meanwhile. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { shiftClock } from '#src/platform/clock.ts'
import { environmentWith } from '#src/platform/config.ts'
import { sql } from '#src/platform/postgres.ts'
import {
  findConnection,
  findConnectionRow,
  openSecrets,
  type McpConnection,
} from '#src/resources/agents/mcp-services/rows.ts'
import { connectionBearer } from '#src/resources/agents/mcp-services/tokens.ts'
import { newerOf } from '#src/resources/agents/mcp/refreshing.ts'
import { returnUrl, startConnectorWorld, type ConnectorWorld } from '../../support/connectors/world.ts'
import { idsOf } from '../../support/makers.ts'

let world: ConnectorWorld
let connection: McpConnection
const children: ChildProcess[] = []
beforeAll(async () => {
  const more = (id: string, name: string, variable: string, url: string): string =>
    `  ${id}: {name: ${name}, description: x, url: "${url}", client_id: ours, client_secret_env: ${variable}}\n`
  world = await startConnectorWorld(
    { OFFICE_SECRET: 'ofTheOperator' },
    { more: (url) => more('office', 'Office', 'OFFICE_SECRET', url) + more('unset', 'Unset', 'NO_SUCH_SECRET', url) },
  )
})
beforeEach(async () => {
  await world.connect()
  connection = await row()
  world.authority.requests.length = 0
})
afterEach(() => {
  shiftClock(0)
  world.authority.intercept = null
  for (const child of children.splice(0)) child.kill('SIGKILL')
})
afterAll(() => world.stop())

const row = async (service = 'desk'): Promise<McpConnection> => {
  const found = await findConnection(world.berth.services.db, idsOf(world.token), service)
  if (!found) throw new Error('there is no connection')
  return found
}
const refreshes = () => world.authority.requests.filter(({ form }) => form['grant_type'] === 'refresh_token')

/** Starts a process that waits to be told to refresh. */
async function refresher(): Promise<{ go: () => Promise<string>; child: ChildProcess }> {
  const { services } = world.berth
  const { config } = services
  const child = spawn(
    process.execPath,
    ['test/agents/mcp-services/refreshing-process.ts', services.database.url, connection.id],
    {
      env: environmentWith({
        BERTH_DATA_DIR: config.dataDir,
        BERTH_PRIVATE_HOSTS: config.privateHosts.join(),
        BERTH_CONNECTORS_FILE: config.connectorsFile ?? '',
        BERTH_LOG_LEVEL: 'error',
      }),
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  children.push(child)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  expect((await lines.next()).value).toBe('ready')
  return {
    child,
    async go() {
      child.stdin.write('now\n')
      const { value } = (await lines.next()) as { value?: string }
      return String(value).replace('token ', '')
    },
  }
}

test('four processes at once refresh once, and all get the new token', async () => {
  const processes = await Promise.all([1, 2, 3, 4].map(refresher))
  const tokens = new Set(await Promise.all(processes.map(({ go }) => go())))
  expect(tokens).toEqual(new Set([openSecrets(world.berth.services.sealer, await row()).access_token]))
  expect(refreshes()).toHaveLength(1)
})

test('a process that is killed while the server answers loses nothing: the next one refreshes', async () => {
  const asked = Promise.withResolvers<void>()
  world.authority.intercept = (req) => {
    if (req.url !== '/token') return false
    world.authority.intercept = null // only this request is never answered
    asked.resolve()
    return true
  }
  const { child, go } = await refresher()
  void go()
  await asked.promise
  child.kill('SIGKILL')
  await once(child, 'exit')
  const bearer = await connectionBearer(world.berth.services, connection)
  const newer = newerOf(await bearer.renew())
  expect(world.authority.scopesOf(newer?.token ?? '', world.tools.url)).toEqual(['read'])
  expect((await row()).tokenGeneration).toBe(connection.tokenGeneration + 1)
  expect(refreshes()).toHaveLength(2)
})

test('a token that is about to end is refreshed before it is used; when that fails the old one is', async () => {
  const before = openSecrets(world.berth.services.sealer, connection).access_token
  expect((await connectionBearer(world.berth.services, connection)).token).toBe(before)
  shiftClock(3_590_000)
  world.authority.intercept = (_req, res) => Boolean(res.writeHead(500).end())
  expect((await connectionBearer(world.berth.services, connection)).token).toBe(before)
  world.authority.intercept = null
  expect((await connectionBearer(world.berth.services, await row())).token).not.toBe(before)
})

test('what is granted to a connection that was disconnected meanwhile is withdrawn', async () => {
  let withdrawals = 0
  world.authority.intercept = async (req, res) => {
    if (req.url === '/revoke' && ++withdrawals <= 2) return Boolean(res.end()) // those of the disconnection come to nothing
    if (req.url === '/token') await world.call('DELETE', '/mcp-services/desk/connection')
    return false
  }
  const bearer = await connectionBearer(world.berth.services, connection)
  expect(await bearer.renew()).toBeNull()
  expect(await findConnectionRow(world.berth.services.db, connection.id)).toBeUndefined()
  expect(withdrawals).toBe(4)
})

test('a server that has forgotten Berth ends the connection, and the next sign-in registers anew', async () => {
  world.authority.clients.clear()
  const bearer = await connectionBearer(world.berth.services, connection)
  expect(await bearer.renew()).toBeNull()
  expect((await world.services())['desk']).toMatchObject({ connected: false })
  expect(await bearer.renew()).toBeNull()
  expect(refreshes()).toHaveLength(1)
  await world.connect()
  expect(world.authority.clients.size).toBe(1)
  expect((await row()).clientId).not.toBe(connection.clientId)
})

test('a registration is used for some days, and connections keep theirs', async () => {
  await sql`update mcp_clients set created_at = now() - interval '4 days'`.execute(world.berth.services.db)
  const { authorization_url } = await world.start()
  expect(new URL(authorization_url).searchParams.get('client_id')).not.toBe(connection.clientId)
  const bearer = await connectionBearer(world.berth.services, connection)
  expect(await bearer.renew()).not.toBeNull()
})

test('an operator’s client that is not accepted for a while ends no connection', async () => {
  const redirects = [`${world.berth.services.config.publicUrl}/agents/v1/mcp-services/callback/office`]
  world.authority.clients.set('ours', { id: 'ours', secret: 'ofTheOperator', redirects })
  await world.connect('office')
  const office = await row('office')
  world.authority.clients.set('ours', { id: 'ours', secret: 'another', redirects })
  const bearer = await connectionBearer(world.berth.services, office)
  expect(await bearer.renew()).toBe('undecided')
  expect((await world.services())['office']).toMatchObject({ connected: true })
  world.authority.clients.set('ours', { id: 'ours', secret: 'ofTheOperator', redirects })
  expect(newerOf(await bearer.renew())).not.toBeNull()
})

test('nobody is told to connect again because the authorization server is away', async () => {
  const tools = () => world.call('GET', '/mcp-services/desk/tools')
  world.authority.endAccess()
  world.authority.intercept = (req, res) => req.url === '/token' && Boolean(res.writeHead(503).end())
  const message =
    'The sign-in to Desk cannot be renewed now: its authorization server gave no new token. Try again later.'
  expect(await tools()).toMatchObject({ status: 503, body: { error: { code: 'service_unavailable', message } } })
  expect((await world.services())['desk']).toMatchObject({ connected: true })
  world.authority.intercept = null
  expect((await tools()).status).toBe(200)
})

test('the client that the operator registered is used, with its secret, instead of a registration', async () => {
  const redirects = [`${world.berth.services.config.publicUrl}/agents/v1/mcp-services/callback/office`]
  world.authority.clients.set('ours', { id: 'ours', secret: 'ofTheOperator', redirects })
  const before = world.authority.clients.size
  await world.connect('office')
  expect(world.authority.clients.size).toBe(before)
  const exchange = world.authority.requests.find(({ line }) => line === 'POST /token')
  expect(exchange?.authorization).toBe(`Basic ${btoa('ours:ofTheOperator')}`)
  expect(JSON.stringify((await world.services())['office'])).not.toContain('ofTheOperator')
  expect(await world.call('POST', '/mcp-services/unset/connect/start', { return_url: returnUrl })).toMatchObject({
    status: 400,
    body: { error: { message: 'Unset is not set up here. Ask the operator to set NO_SUCH_SECRET.' } },
  })
})
