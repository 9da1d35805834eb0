/** `berth mcp`: the tool server for programs that start it, by the protocol's own client. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client, type CallToolResult } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startOAuthWorld, type OAuthWorld } from '../identity/oauth/world.ts'
import { freePort } from '../support/ports.ts'
import type { Person } from './command.ts'
import { keep, keptBy, signedIn } from './signed-in.ts'

let world: OAuthWorld
let person: Person
beforeAll(async () => {
  world = await startOAuthWorld()
  person = await signedIn(world, await world.signIn())
})
afterAll(async () => {
  person.leave()
  await world.stop()
})

const main = join(import.meta.dirname, '../../cli/main.ts')
async function start(...words: string[]): Promise<{ client: Client; transport: StdioClientTransport }> {
  const client = new Client({ name: 'test', version: '1.0.0' })
  const env = { ...person.env, NODE_NO_WARNINGS: '1', PATH: '/usr/bin:/bin' }
  const transport = new StdioClientTransport({ command: process.execPath, args: [main, 'mcp', ...words], env })
  await client.connect(transport)
  return { client, transport }
}
const valueOf = (answer: unknown): unknown => {
  const [block] = (answer as CallToolResult).content
  return JSON.parse(block?.type === 'text' ? block.text : '')
}

test('a client lists the tools and calls them, also once its token has ended, and no token is among the words', async () => {
  expect((await person.run(['project', 'create', 'shop'])).exit).toBe(0)
  const { client, transport } = await start()
  const names = (await client.listTools()).tools.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(['list_vms', 'create_vm', 'run_sql', 'graphql_query']))
  const ask = async () =>
    valueOf(await client.callTool({ name: 'graphql_query', arguments: { query: '{ viewer { user { name } } }' } }))
  expect(await ask()).toMatchObject({ viewer: { user: { name: 'alice' } } })
  const words = readFileSync(`/proc/${transport.pid}/cmdline`, 'utf8')
  expect(words).toContain('mcp')
  for (const secret of [keptBy(person).token, keptBy(person).grant.refreshToken]) expect(words).not.toContain(secret)
  expect(await Promise.all([ask(), ask(), ask()])).toHaveLength(3)
  await client.close()
  keep(person, { token: 'berth_at_unknown' })
  const again = await start()
  expect((await again.client.listTools()).tools).toHaveLength(names.length)
  expect(await world.ask(keptBy(person).token)).toBe('200')
  await again.client.close()
}, 60_000)

test('what is narrowed has fewer tools, by the name of a project too', async () => {
  const { client } = await start('--read-only', '--project', 'shop', '--features', 'vms,databases')
  const names = (await client.listTools()).tools.map(({ name }) => name)
  expect(names).toContain('list_vms')
  expect(names).not.toContain('create_vm')
  expect(names).not.toContain('list_builds')
  await client.close()
  await expect(start('--features', 'everything')).rejects.toThrow('There is no feature')
}, 60_000)

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
}

test('it ends when stdin ends, with messages alone on stdout; what is none, or finds no connection, is an error of JSON-RPC', async () => {
  const lines = ['nonsense', JSON.stringify(initialize), JSON.stringify({ jsonrpc: '2.0', id: 'a', method: 'ping' })]
  const { exit, out, err } = await person.run(['mcp'], lines.join('\n'))
  expect([exit, err]).toEqual([0, ''])
  const answers = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  expect(answers).toMatchObject([
    { id: null, error: { code: -32_700 } },
    { id: 1, result: { serverInfo: { name: 'berth' } } },
    { id: 'a', result: {} },
  ])
  const lost = await person.run(['mcp'], JSON.stringify(initialize), {
    BERTH_URL: `http://127.0.0.1:${await freePort()}`,
    BERTH_TOKEN: 'x',
  })
  expect(JSON.parse(lost.out)).toMatchObject({ id: 1, error: { message: expect.stringContaining('no connection') } })
  const refused = await person.run(['mcp'], JSON.stringify(initialize), { BERTH_URL: world.origin, BERTH_TOKEN: 'x' })
  expect(JSON.parse(refused.out)).toMatchObject({ id: 1, error: { message: expect.stringContaining('berth login') } })
}, 60_000)
