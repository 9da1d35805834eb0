/** Anthropic's memory stores, which Berth does not have: each method of the client says so, and what to use instead. */
import Anthropic, { NotFoundError } from '@anthropic-ai/sdk'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { agentSessions } from '../../support/agent-sessions.ts'
import { callAgents } from '../../support/agents-service.ts'
import { startBerth, type Berth } from '../../support/berth.ts'

let berth: Berth
let client: Anthropic
beforeAll(async () => {
  berth = await startBerth()
  client = new Anthropic({ authToken: await berth.token(), baseURL: `${berth.url}/agents`, maxRetries: 0 })
})
afterAll(() => berth?.stop())

const store = { memory_store_id: 'memstore_x' }
const calls: Readonly<Record<string, () => PromiseLike<unknown>>> = {
  create: () => client.beta.memoryStores.create({ name: 'notes' }),
  retrieve: () => client.beta.memoryStores.retrieve('memstore_x'),
  update: () => client.beta.memoryStores.update('memstore_x', { name: 'others' }),
  list: () => client.beta.memoryStores.list(),
  delete: () => client.beta.memoryStores.delete('memstore_x'),
  archive: () => client.beta.memoryStores.archive('memstore_x'),
  'memories.create': () => client.beta.memoryStores.memories.create('memstore_x', { path: '/notes', content: 'a' }),
  'memories.retrieve': () => client.beta.memoryStores.memories.retrieve('mem_x', store),
  'memories.update': () => client.beta.memoryStores.memories.update('mem_x', { ...store, content: 'b' }),
  'memories.list': () => client.beta.memoryStores.memories.list('memstore_x'),
  'memories.delete': () => client.beta.memoryStores.memories.delete('mem_x', store),
  'memoryVersions.list': () => client.beta.memoryStores.memoryVersions.list('memstore_x'),
  'memoryVersions.retrieve': () => client.beta.memoryStores.memoryVersions.retrieve('memver_x', store),
  'memoryVersions.redact': () => client.beta.memoryStores.memoryVersions.redact('memver_x', store),
}

test.each(Object.keys(calls))('memoryStores.%s is 404, with what to use instead', async (name) => {
  const refused = await Promise.resolve(calls[name]?.()).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(NotFoundError)
  expect(refused).toMatchObject({ type: 'not_found_error' })
  expect(String(refused)).toContain('Berth has no memory stores: keep texts')
  expect(String(refused)).toContain('/agents/v1/memories')
})

test('every method of the client is among these, and the path beside them is as it was', async () => {
  const methodsOf = (resource: object): string[] =>
    Object.getOwnPropertyNames(Object.getPrototypeOf(resource)).filter((name) => name !== 'constructor')
  const { memoryStores } = client.beta
  expect(Object.keys(calls).toSorted()).toEqual(
    [
      ...methodsOf(memoryStores),
      ...methodsOf(memoryStores.memories).map((name) => `memories.${name}`),
      ...methodsOf(memoryStores.memoryVersions).map((name) => `memoryVersions.${name}`),
    ].toSorted(),
  )
  const { status, body } = await callAgents<{ error: { message: string } }>(
    berth,
    await berth.token(),
    'GET',
    '/memory_storesx',
  )
  expect([status, body.error.message]).toEqual([404, expect.not.stringContaining('no memory stores')])
})

test('a session that is to have one is refused, and does not start without it', async () => {
  const agent = await agentSessions(berth, await berth.token()).agent()
  const refused = client.beta.sessions.create({
    agent,
    environment_id: 'env_x',
    resources: [{ type: 'memory_store', memory_store_id: 'memstore_x' }],
  })
  await expect(refused).rejects.toMatchObject({ status: 400, message: expect.stringContaining('resources') })
  expect((await client.beta.sessions.list()).data).toEqual([])
})
