/** Vaults and credentials by Anthropic's own client, unmodified but for its address and token. */
import Anthropic from '@anthropic-ai/sdk'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBerth, type Berth } from '../support/berth.ts'
import { startMcpServer, type TestMcpServer } from '../support/mcp-server.ts'

let berth: Berth
let tools: TestMcpServer
let client: Anthropic
beforeAll(async () => {
  tools = await startMcpServer((token) => token === 'good')
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100', BERTH_PRIVATE_HOSTS: tools.hostPort } })
  client = new Anthropic({
    baseURL: `${berth.url}/agents`,
    apiKey: null,
    authToken: await berth.token(),
    maxRetries: 0,
  })
})
afterAll(async () => {
  await berth.stop()
  await tools.close()
})

test('makes, changes, lists, archives and deletes a vault', async () => {
  const { vaults } = client.beta
  const made = await vaults.create({ display_name: 'keys', metadata: { a: '1' } })
  expect(made).toMatchObject({ type: 'vault', display_name: 'keys', archived_at: null })
  expect(await vaults.retrieve(made.id)).toEqual(made)
  expect(await vaults.update(made.id, { display_name: 'other', metadata: { a: null } })).toMatchObject({
    display_name: 'other',
    metadata: {},
  })
  await vaults.create({ display_name: 'second' })
  const seen: string[] = []
  for await (const { display_name } of vaults.list({ limit: 1 })) seen.push(display_name)
  expect(seen).toEqual(['second', 'other'])
  expect((await vaults.archive(made.id)).archived_at).toMatch(/Z$/)
  await expect(vaults.update(made.id, { display_name: 'x' })).rejects.toBeInstanceOf(Anthropic.ConflictError)
  expect(await vaults.delete(made.id)).toEqual({ id: made.id, type: 'vault_deleted' })
  await expect(vaults.retrieve(made.id)).rejects.toBeInstanceOf(Anthropic.NotFoundError)
})

test('makes, rotates, validates, lists, archives and deletes credentials', async () => {
  const { id: vault_id } = await client.beta.vaults.create({ display_name: 'keys' })
  const { credentials } = client.beta.vaults
  const bearer = await credentials.create(vault_id, {
    auth: { type: 'static_bearer', mcp_server_url: 'https://mcp.example.com', token: 'one' },
    display_name: 'docs',
  })
  expect(bearer).toMatchObject({
    type: 'vault_credential',
    vault_id,
    display_name: 'docs',
    auth: { type: 'static_bearer', mcp_server_url: 'https://mcp.example.com' },
  })
  expect(
    await credentials.update(bearer.id, { vault_id, auth: { type: 'static_bearer', token: 'two' } }),
  ).toMatchObject({ id: bearer.id, auth: bearer.auth })
  const oauth = await credentials.create(vault_id, {
    auth: { type: 'mcp_oauth', mcp_server_url: tools.url, access_token: 'good' },
  })
  expect(await credentials.mcpOAuthValidate(oauth.id, { vault_id })).toMatchObject({
    type: 'vault_credential_validation',
    status: 'valid',
    has_refresh_token: false,
  })
  await expect(
    credentials.update(oauth.id, { vault_id, auth: { type: 'mcp_oauth', access_token: 'x' } }),
  ).rejects.toBeInstanceOf(Anthropic.BadRequestError)
  const variable = await credentials.create(vault_id, {
    auth: {
      type: 'environment_variable',
      secret_name: 'API_KEY',
      secret_value: 'x',
      networking: { type: 'limited', allowed_hosts: ['api.example.com'] },
    },
  })
  expect(variable.auth).toEqual({
    type: 'environment_variable',
    secret_name: 'API_KEY',
    networking: { type: 'limited', allowed_hosts: ['api.example.com'] },
    injection_location: { header: true, body: false },
  })
  const seen: string[] = []
  for await (const { id } of credentials.list(vault_id, { limit: 2 })) seen.push(id)
  expect(seen).toEqual([variable.id, oauth.id, bearer.id])
  expect(await credentials.retrieve(bearer.id, { vault_id })).toMatchObject({ id: bearer.id })
  expect((await credentials.archive(bearer.id, { vault_id })).archived_at).toMatch(/Z$/)
  expect(await credentials.delete(oauth.id, { vault_id })).toEqual({ id: oauth.id, type: 'vault_credential_deleted' })
})
