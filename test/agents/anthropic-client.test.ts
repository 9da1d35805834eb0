/** Agents and environments by Anthropic's own client, unmodified but for its address and token. */
import Anthropic from '@anthropic-ai/sdk'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBerth, type Berth } from '../support/berth.ts'

let berth: Berth
let client: Anthropic
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  client = new Anthropic({
    baseURL: `${berth.url}/anthropic`,
    apiKey: null,
    authToken: await berth.token(),
    maxRetries: 0,
  })
})
afterAll(() => berth.stop())

test('makes an agent, changes it without naming a version, lists its versions and archives it', async () => {
  const { agents } = client.beta
  const made = await agents.create({
    name: 'helper',
    model: 'berth/demo',
    tools: [{ type: 'agent_toolset_20260401', configs: [{ name: 'bash', permission_policy: { type: 'always_ask' } }] }],
    metadata: { a: '1' },
  })
  expect(made).toMatchObject({ type: 'agent', version: 1, model: { id: 'berth/demo' }, archived_at: null })
  expect(await agents.retrieve(made.id)).toEqual(made)
  const changed = await agents.update(made.id, { description: 'changed', metadata: { a: null } })
  expect(changed).toMatchObject({ version: 2, description: 'changed', metadata: {} })
  await expect(agents.update(made.id, { version: 1, name: 'late' })).rejects.toBeInstanceOf(Anthropic.ConflictError)
  const versions: number[] = []
  for await (const one of agents.versions.list(made.id, { limit: 1 })) versions.push(one.version)
  expect(versions).toEqual([2, 1])
  expect((await agents.archive(made.id)).archived_at).toMatch(/Z$/)
})

test('walks every page of a list', async () => {
  const made: string[] = []
  for (let i = 0; i < 5; i++) made.unshift((await client.beta.agents.create({ name: `n${i}`, model: 'berth/demo' })).id)
  const seen: string[] = []
  for await (const { id } of client.beta.agents.list({ limit: 2 })) seen.push(id)
  expect(seen).toEqual(made)
})

test('makes, changes, lists, archives and deletes an environment', async () => {
  const { environments } = client.beta
  const made = await environments.create({
    name: 'box',
    config: {
      type: 'cloud',
      networking: { type: 'limited', allowed_hosts: ['example.com'], allow_package_managers: true },
      packages: { pip: ['requests'] },
    },
  })
  expect(made).toMatchObject({ type: 'environment', name: 'box', archived_at: null, scope: 'account' })
  expect(await environments.update(made.id, { description: 'changed' })).toMatchObject({
    description: 'changed',
    config: made.config,
  })
  const seen: string[] = []
  for await (const { id } of environments.list()) seen.push(id)
  expect(seen).toEqual([made.id])
  expect((await environments.archive(made.id)).archived_at).toMatch(/Z$/)
  expect(await environments.delete(made.id)).toEqual({ id: made.id, type: 'environment_deleted' })
  await expect(environments.retrieve(made.id)).rejects.toBeInstanceOf(Anthropic.NotFoundError)
})

test('understands errors: their type, their message and the request id', async () => {
  const refused: unknown = await client.beta.agents
    .create({ name: 'x', model: 'nobody/nothing' })
    .catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(Anthropic.BadRequestError)
  expect(refused).toMatchObject({
    status: 400,
    requestID: expect.stringMatching(/^req_/),
    error: { type: 'error', error: { type: 'invalid_request_error', code: 'unknown_model' } },
  })
  const nobody = new Anthropic({ baseURL: `${berth.url}/agents`, apiKey: null, authToken: 'garbage', maxRetries: 0 })
  await expect(nobody.beta.agents.list()).rejects.toBeInstanceOf(Anthropic.AuthenticationError)
})
