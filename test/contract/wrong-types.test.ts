/** A value of the wrong type in a body is refused by its place, as OpenAPI describes the body. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBerth, type Berth } from '../support/berth.ts'

let berth: Berth
let token: string
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token('alice', 'acme', 'owner')
})
afterAll(() => berth.stop())

test.each([
  ['PUT', '/mcp-services/linear/tool-selection', { disabled_tools: 'create_issue' }, 'disabled_tools'],
  ['POST', '/sessions', { agent: 'agt_x', vault_ids: 'vlt_x' }, 'vault_ids'],
  ['POST', '/agents', { name: 'x', model: 'berth/demo', tools: { type: 'berth_toolset_v1' } }, 'tools'],
  [
    'POST',
    '/agents',
    { name: 'x', model: 'berth/demo', mcp_services: [{ id: 'linear', disabled_tools: 'create_issue' }] },
    'mcp_services[0].disabled_tools',
  ],
])('one value where a list belongs is not taken for a list of one: %s %s %j', async (method, path, body, place) => {
  const answer = await berth.call<{ error: { message: string } }>(method, `/agents/v1${path}`, { token, body })
  expect(answer.status, JSON.stringify(answer.body)).toBe(400)
  expect(answer.body.error.message.startsWith(`${place} must be a list, each item `)).toBe(true)
})
