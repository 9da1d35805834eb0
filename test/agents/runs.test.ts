/** Runs: exactly one of agent, builtin and mode; a VM on its way where one is needed. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeId, newId } from '#src/platform/ids.ts'
import { getOne, sql } from '#src/platform/postgres.ts'
import { callAgents, refusal, startWithAgent } from '../support/agents-service.ts'
import type { Answer, Berth } from '../support/berth.ts'
import { makeSilentNode } from '../support/makers.ts'

type Run = { session_id: string; sandbox_id: string | null }

let berth: Berth
let token: string
let agent: string
beforeAll(async () => {
  ;({ berth, token, agent } = await startWithAgent())
})
afterAll(() => berth.stop())

const call = <Body = Run>(method: string, path: string, body?: unknown, as = token): Promise<Answer<Body>> =>
  callAgents<Body>(berth, as, method, path, body)
const read = async (id: string): Promise<Record<string, unknown>> =>
  (await call<Record<string, unknown>>('GET', `/sessions/${id}`)).body

describe('without a VM', () => {
  test('an agent of the caller’s runs with the input as its message', async () => {
    const run = await call('POST', '/runs', { agent, input: 'do it', metadata: { a: 'b' } })
    expect(run).toMatchObject({ status: 202, body: { session_id: expect.stringMatching(/^sesn_/), sandbox_id: null } })
    expect(Object.keys(run.body)).toEqual(['session_id', 'sandbox_id'])
    expect(await read(run.body.session_id)).toMatchObject({
      agent_id: agent,
      source: 'run',
      kind: 'chat',
      status: 'running',
      metadata: { a: 'b' },
    })
    expect(
      (await call<{ data: unknown[] }>('GET', `/sessions/${run.body.session_id}/events`)).body.data[0],
    ).toMatchObject({ type: 'user.message', content: [{ type: 'text', text: 'do it' }] })
  })

  test('mode chat and the researcher answer; without input they wait', async () => {
    const chat = await call('POST', '/runs', { mode: 'chat' })
    expect(chat.body.sandbox_id).toBeNull()
    expect(await read(chat.body.session_id)).toMatchObject({
      status: 'idle',
      kind: 'chat',
      agent_id: expect.stringMatching(/^agt_/),
      agent: { name: 'chat', version: 1, model: { id: 'berth/demo' } },
    })
    const mine = (
      await call<{ data: { id: string }[] }>(
        'GET',
        `/sessions?agent_id=${String((await read(chat.body.session_id))['agent_id'])}`,
      )
    ).body.data
    expect(mine.map(({ id }) => id)).toEqual([chat.body.session_id])
    const researcher = await call('POST', '/runs', { builtin: 'researcher', input: 'what is it' })
    expect(await read(researcher.body.session_id)).toMatchObject({
      status: 'running',
      agent: {
        name: 'researcher',
        tools: [{ configs: expect.arrayContaining([expect.objectContaining({ name: 'bash', enabled: false })]) }],
      },
    })
  })
})

test.each([
  ['nothing', {}],
  ['two', { agent: 'agt_x', mode: 'chat' }],
  ['an unknown builtin', { builtin: 'wizard' }],
  ['an unknown mode', { mode: 'dance' }],
  ['a mode and an environment', { mode: 'computer', environment_id: newId('environment') }],
  ['empty input', { mode: 'chat', input: '' }],
])('%s is refused', async (_, body) => {
  expect(await call('POST', '/runs', body)).toMatchObject(refusal(400, 'invalid_request'))
})

test('what belongs to others is not found, and nothing runs without a token', async () => {
  const stranger = await berth.token('mallory', 'evil', 'owner')
  expect(await call('POST', '/runs', { agent }, stranger)).toMatchObject(refusal(404, 'not_found'))
  expect(await call('POST', '/runs', { builtin: 'coder', environment_id: newId('environment') })).toMatchObject(
    refusal(404, 'not_found'),
  )
  expect(await call('POST', '/runs', { mode: 'chat', vault_ids: [newId('vault')] })).toMatchObject(
    refusal(404, 'not_found'),
  )
  expect(await call('POST', '/runs', { mode: 'chat' }, 'garbage')).toMatchObject({ status: 401 })
})

describe('with a VM', () => {
  test('without room for one the request is refused, and nothing is started', async () => {
    const before = (await call<{ data: unknown[] }>('GET', '/sessions')).body.data.length
    expect(await call('POST', '/runs', { mode: 'computer' })).toMatchObject(refusal(503, 'capacity_unavailable'))
    expect((await call<{ data: unknown[] }>('GET', '/sessions')).body.data).toHaveLength(before)
  })

  test('a fresh VM is started, and deleted with the session; the VM of a named environment stays', async () => {
    await makeSilentNode(berth.services.db)
    const fresh = await call('POST', '/runs', { mode: 'computer', input: 'x' })
    expect(fresh).toMatchObject({ status: 202, body: { sandbox_id: expect.stringMatching(/^vm_/) } })
    const session = await read(fresh.body.session_id)
    expect(session).toMatchObject({ kind: 'computer', environment_id: expect.stringMatching(/^env_/) })
    expect((await call<{ data: unknown[] }>('GET', '/environments')).body.data).toEqual([])
    const environment = (await call<{ id: string }>('POST', '/environments', { name: 'mine' })).body.id
    const named = await call('POST', '/runs', { builtin: 'coder', environment_id: environment })
    expect(await read(named.body.session_id)).toMatchObject({ environment_id: environment, agent: { name: 'coder' } })
    for (const run of [fresh, named]) await call('DELETE', `/sessions/${run.body.session_id}`)
    const status = async (id: string | null): Promise<string> =>
      (
        await getOne<{ desiredStatus: string }>(
          berth.services.db,
          sql`select desired_status from vms where id = ${decodeId('vm', id ?? '')}`,
        )
      ).desiredStatus
    expect([await status(fresh.body.sandbox_id), await status(named.body.sandbox_id)]).toEqual(['deleted', 'running'])
    expect((await call('GET', `/environments/${String(session['environment_id'])}`)).status).toBe(404)
    expect((await call('GET', `/environments/${environment}`)).status).toBe(200)
  })
})
