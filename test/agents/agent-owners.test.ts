/** Whose an agent is: a person's own, or everybody's in the organization whose key made it. Who is refused: contract/matrix/agents.ts. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#src/platform/ids.ts'
import { callAgents, refusal } from '../support/agents-service.ts'
import { startBerth, type Answer, type Berth } from '../support/berth.ts'
import { makeKey } from '../support/makers.ts'

type Agent = Record<string, unknown> & { id: string; version: number }
type Refusal = { error: { type: string } }

let berth: Berth
let token: string
let colleague: string
let viewer: string
let stranger: string
let key: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token('alice', 'acme', 'owner')
  colleague = await berth.token('martha', 'acme', 'member')
  viewer = await berth.token('victor', 'acme', 'viewer')
  stranger = await berth.token('mallory', 'evil', 'owner')
  key = (await makeKey(berth, token, { scopes: ['agents:use'] })).key
})
afterAll(() => berth.stop())

const model = 'berth/demo'
const call = <Body = Agent>(method: string, path: string, body?: unknown, as = token): Promise<Answer<Body>> =>
  callAgents<Body>(berth, as, method, `/agents${path}`, body)
const make = async (fields: Record<string, unknown> = {}, as = token): Promise<Agent> =>
  (await call('POST', '', { name: 'helper', model, ...fields }, as)).body

describe('the owner of an agent', () => {
  test('a list has the caller’s own agents and the organization’s, but no colleague’s', async () => {
    const mine = await make()
    const theirs = await make({}, colleague)
    const shared = await make({}, key)
    const foreign = await make({}, stranger)
    const ids = async (as: string, query = ''): Promise<string[]> =>
      (await call<{ data: Agent[] }>('GET', query, undefined, as)).body.data.map(({ id }) => id)
    const organization = String((await call('GET', `/${shared.id}`, undefined, key)).body['org_id'])
    expect(organization).toMatch(/^org_/)
    for (const query of ['', `?org_id=${organization}`]) {
      expect(await ids(token, query)).toEqual(expect.arrayContaining([mine.id, shared.id]))
      expect(await ids(token, query)).not.toEqual(expect.arrayContaining([theirs.id]))
      expect(await ids(colleague, query)).toEqual(expect.arrayContaining([theirs.id, shared.id]))
      expect(await ids(key, query)).toContain(shared.id)
      for (const id of [mine.id, theirs.id, foreign.id]) expect(await ids(key, query)).not.toContain(id)
    }
    for (const [as, query] of [
      [stranger, organization],
      [token, 'org_x'],
      [token, newId('organization')],
      [key, newId('organization')],
    ] as const)
      expect(await call('GET', `?org_id=${query}`, undefined, as)).toMatchObject(refusal(404, 'not_found'))
  })

  test('an agent created with an API key belongs to the organization, for every member, and names no person', async () => {
    const shared = await make({}, key)
    expect(shared).toMatchObject({ owner_user_id: null, org_id: expect.stringMatching(/^org_/) })
    expect(await call('PATCH', `/${shared.id}`, { version: 1, name: 'by a colleague' }, colleague)).toMatchObject({
      status: 200,
      body: { version: 2, owner_user_id: null },
    })
    expect(await call('PATCH', `/${shared.id}`, { version: 2, name: 'by the key' }, key)).toMatchObject({
      status: 200,
      body: { version: 3 },
    })
    expect(await call('PATCH', `/${shared.id}`, { version: 3, name: 'x' }, viewer)).toMatchObject({
      status: 403,
      body: { error: { type: 'permission_error', code: 'not_permitted_for_role' } },
    })
    expect((await call('GET', `/${shared.id}`, undefined, stranger)).status).toBe(404)
    expect((await call('POST', `/${shared.id}/archive`, undefined, key)).status).toBe(200)
  })

  test('an API key may call exactly the listed routes: elsewhere it gets 401, and without its scope 403', async () => {
    const weak = (await makeKey(berth, token, { scopes: ['models:read', 'chat:stateless', 'compute:use'] })).key
    const { id } = await make({}, key)
    const open: [string, string, unknown?][] = [
      ['GET', '/agents'],
      ['POST', '/agents', { name: 'x', model }],
      ['GET', `/agents/${id}`],
      ['PATCH', `/agents/${id}`, { version: 1, name: 'z' }],
      ['GET', `/agents/${id}/versions`],
      ['POST', `/agents/${id}/archive`],
    ]
    for (const [method, path, body] of open) {
      const send = (as: string): Promise<Answer<Refusal>> =>
        berth.call(method, `/agents/v1${path}`, { token: as, ...(body === undefined ? {} : { body }) })
      expect((await send(key)).status, path).toBeLessThan(300)
      expect(await send(weak), path).toMatchObject({ status: 403, body: { error: { type: 'permission_error' } } })
    }
    for (const [method, path] of [
      ['DELETE', `/agents/${id}`],
      ['GET', `/agents/${id}/mcp-tools`],
      ['GET', '/tools'],
      ['GET', '/models'],
      ['GET', '/models/berth%2Fdemo'],
      ['GET', '/environments'],
      ['POST', '/environments'],
      ['POST', `/agents/${id}`],
      ['GET', '/sessions'],
      ['POST', '/sessions'],
      ['GET', '/vaults'],
      ['POST', '/vaults'],
      ['POST', '/runs'],
    ] as const) {
      // Also with a body that is wrong: who calls is looked at first.
      for (const as of [key, weak])
        for (const body of [{ name: 'x' }, []])
          expect(
            await berth.call(method, `/agents/v1${path}`, { token: as, ...(method === 'POST' ? { body } : {}) }),
            path,
          ).toMatchObject({
            status: 401,
            body: {
              error: { type: 'authentication_error', message: expect.stringContaining('requires a user token') },
            },
          })
    }
  })
})
