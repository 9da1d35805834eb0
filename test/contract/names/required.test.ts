/** Who leaves out what a request needs, or sends it in another form, is told what it takes. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeId } from '#src/platform/ids.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { idsOf } from '../../support/makers.ts'

let berth: Berth
let token: string
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token('alice', 'acme', 'owner')
})
afterAll(() => berth.stop())

const said = async (method: string, path: string, body?: unknown): Promise<string> => {
  const answer = await berth.call(method, path, { token, ...(body === undefined ? {} : { body }) })
  expect(answer.status).toBe(400)
  return JSON.stringify(answer.body)
}

test.each([
  ['POST', '/api/v1/databases', 'organization_id is required: it must be text.'],
  ['POST', '/api/v1/build/jobs', 'org_id is required: it must be text.'],
  ['POST', '/agents/v1/groups', 'org_id is required: it must be text.'],
  ['GET', '/api/v1/databases', 'The query parameter org_id is required: it must be text.'],
  ['GET', '/api/v1/build/jobs', 'The query parameter org_id is required: it must be text.'],
])('%s %s without an organization says which is that of the token', async (method, path, sentence) => {
  const id = encodeId('organization', idsOf(token).organizationId)
  expect(await said(method, path, method === 'POST' ? {} : undefined)).toContain(
    `${sentence} The organization of your token is ${id}.`,
  )
})

test.each([
  ['/agents/v1/agents', { name: 'a' }, 'model is required: it must be text or a JSON object.'],
  [
    '/agents/v1/agents',
    { name: 'a', model: 'berth/demo', tools: ['bash'] },
    'tools[0] must be a JSON object whose type is one of agent_toolset_20260401, berth_toolset_v1, custom, mcp_toolset.',
  ],
  [
    '/agents/v1/sessions/sesn_1/events',
    { events: [{ type: 'user.message', content: 'hi' }] },
    'events[0].content must be a list, each item a JSON object whose type is one of document, image, text.',
  ],
  [
    '/agents/v1/triggers',
    { agent: 'agt_1', repo: 'a/b', events: 'push' },
    'events must be a list, each item one of check_suite, check_suite.completed,',
  ],
])('a body of %s %o is told what it takes', async (path, body, sentence) => {
  expect(await said('POST', path, body)).toContain(sentence)
})

test('a query parameter of another name for a time is told the one that is there', async () => {
  expect(await said('GET', '/api/v1/vms/vm_1/preview-url?port=80&ttl=60')).toContain(
    'Unknown query parameter ttl. Did you mean ttl_seconds?',
  )
})

test('a build without a spec is shown one', async () => {
  const org_id = encodeId('organization', idsOf(token).organizationId)
  expect(await said('POST', '/api/v1/build/jobs', { org_id, repo_url: 'https://example.com/a/b' })).toContain(
    JSON.stringify('spec must be a JSON object, such as {"commands": ["make"]}, or').slice(1, -1),
  )
})
