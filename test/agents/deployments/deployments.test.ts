/** Deployments, over REST and in the graph: made, changed, paused, run, archived, deleted. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#src/platform/ids.ts'
import { callAgents, refusal, startWithAgent } from '../../support/agents-service.ts'
import type { Answer, Berth } from '../../support/berth.ts'

type Any = Record<string, unknown> & { id: string }
let berth: Berth
let token: string
let agent: string
beforeAll(async () => {
  ;({ berth, token, agent } = await startWithAgent())
})
afterAll(() => berth.stop())

const call = <Body = Any>(method: string, path: string, body?: unknown, as = token): Promise<Answer<Body>> =>
  callAgents<Body>(berth, as, method, path, body)
const make = async (fields: object = {}): Promise<Any> => {
  const answer = await call('POST', '/deployments', { name: 'nightly', agent, kickoff: 'Do it.', ...fields })
  expect(answer.status, JSON.stringify(answer.body)).toBe(201)
  return answer.body
}
const message = { type: 'user.message', content: [{ type: 'text', text: 'Do it.' }] }

test('a deployment is made with its defaults, read, listed and changed', async () => {
  const made = await make()
  expect(made).toMatchObject({
    id: expect.stringMatching(/^depl_/),
    type: 'deployment',
    name: 'nightly',
    description: null,
    agent: { type: 'agent', id: agent, version: null },
    environment: { type: 'none' },
    environment_id: null,
    vault_ids: [],
    kickoff: { text: 'Do it.', events: [message] },
    initial_events: [message],
    status: 'active',
    paused_reason: null,
    metadata: {},
    budget: null,
    resources: [],
    last_run_at: null,
    archived_at: null,
  })
  expect((await call('GET', `/deployments/${made.id}`)).body).toEqual(made)
  const { body } = await call<{ data: Any[] }>('GET', `/deployments?agent_id=${agent}`)
  expect(body.data.map(({ id }) => id)).toContain(made.id)
  expect((await call<{ data: Any[] }>('GET', `/deployments?agent_id=${newId('agent')}`)).body.data).toEqual([])
  const change = {
    name: 'weekly',
    description: 'd',
    kickoff: { events: [message, message] },
    agent: { id: agent, version: 1 },
  }
  expect((await call('PATCH', `/deployments/${made.id}`, change)).body).toMatchObject({
    name: 'weekly',
    description: 'd',
    agent: { version: 1 },
    kickoff: { text: null, events: [message, message] },
  })
  expect((await call('POST', `/deployments/${made.id}`, { metadata: { a: 'b' } })).body).toMatchObject({
    name: 'weekly',
    metadata: { a: 'b' },
  })
})

test('sessions work nowhere, in an environment, or each in a fresh VM', async () => {
  const { id } = (await call('POST', '/environments', { name: 'work' })).body
  const environments = async (fields: object): Promise<unknown> => (await make(fields))['environment']
  expect(await environments({ environment: 'none' })).toEqual({ type: 'none' })
  expect(await environments({ environment: 'ephemeral' })).toEqual({ type: 'ephemeral', config: null })
  expect(await environments({ environment: { type: 'ephemeral', config: { vcpu: 1 } } })).toMatchObject({
    type: 'ephemeral',
    config: { type: 'vm', vcpu: 1, memory_mb: 2048 },
  })
  const existing = { type: 'existing', environment_id: id }
  expect(await environments({ environment: existing })).toEqual(existing)
  const made = await make({ environment_id: id })
  expect([made['environment'], made['environment_id']]).toEqual([existing, id])
  expect((await make({ environment: null, environment_id: id }))['environment']).toEqual(existing)
  expect((await call('PATCH', `/deployments/${made.id}`, { environment: 'ephemeral' })).body).toMatchObject({
    environment: { type: 'ephemeral' },
    environment_id: null,
  })
})

test('a run starts a session of the caller’s, and is recorded; its sessions are listed, the newest last', async () => {
  const made = await make({
    metadata: { team: 'x' },
    budget: { type: 'limit', max_list_cost: { amount: '2', currency: 'USD' } },
  })
  const first = await call('POST', `/deployments/${made.id}/run`)
  expect([first.status, first.body]).toMatchObject([
    202,
    {
      type: 'session',
      deployment_id: made.id,
      source: 'deployment',
      status: 'running',
      title: 'nightly',
      metadata: { team: 'x' },
    },
  ])
  const second = await call('POST', `/deployments/${made.id}/run`)
  const runs = await call<{ data: Any[] }>('GET', `/deployments/${made.id}/runs`)
  expect(runs.body.data.map(({ id }) => id)).toEqual([first.body.id, second.body.id])
  const filtered = await call<{ data: Any[] }>('GET', `/sessions?deployment_id=${made.id}`)
  expect(filtered.body.data.map(({ id }) => id)).toEqual([second.body.id, first.body.id])
  const records = await call<{ data: Any[] }>('GET', `/deployment_runs?deployment_id=${made.id}`)
  expect(records.body.data[1]).toMatchObject({
    id: expect.stringMatching(/^drun_/),
    type: 'deployment_run',
    deployment_id: made.id,
    session_id: first.body.id,
    agent: { type: 'agent', id: agent, version: 1 },
    error: null,
    trigger_context: { type: 'manual' },
  })
  expect((await call('GET', `/deployment_runs/${String(records.body.data[0]?.id)}`)).body).toEqual(records.body.data[0])
  expect((await call('GET', `/deployments/${made.id}`)).body['last_run_at']).not.toBeNull()
})

describe('what keeps a run from starting', () => {
  test('is answered as a conflict, with its record', async () => {
    const { id } = (await call('POST', '/vaults', { display_name: 'v' })).body
    const made = await make({ vault_ids: [id] })
    await call('POST', `/vaults/${id}/archive`)
    expect(await call('POST', `/deployments/${made.id}/run`)).toMatchObject(refusal(409, 'vault_archived'))
    await call('DELETE', `/vaults/${id}`)
    expect(await call('POST', `/deployments/${made.id}/run`)).toMatchObject(refusal(409, 'run_not_started'))
    const { body } = await call<{ data: Any[] }>('GET', `/deployment_runs?deployment_id=${made.id}&has_error=true`)
    expect(body.data).toMatchObject([
      { session_id: null, error: { type: 'vault_not_found_error' } },
      { session_id: null, error: { type: 'vault_archived_error' } },
    ])
    expect((await call('GET', `/deployments/${made.id}`)).body).toMatchObject({ status: 'active', last_run_at: null })
  })
})

test.each(['name', 'agent', 'kickoff', 'initial_events', 'status'])('%s cannot be changed to null', async (field) => {
  const made = await make()
  for (const method of ['PATCH', 'POST']) {
    const answer = await call<{ error: { message: string } }>(method, `/deployments/${made.id}`, { [field]: null })
    expect(answer.status, `${method} ${field}`).toBe(400)
    expect(answer.body.error.message).toContain(field)
  }
  expect((await call('GET', `/deployments/${made.id}`)).body).toEqual(made)
})

test('a paused one runs for its owner only; paused twice and unpaused twice is the same', async () => {
  const made = await make()
  const manual = { status: 'paused', paused_reason: { type: 'manual' } }
  expect((await call('PATCH', `/deployments/${made.id}`, { status: 'paused' })).body).toMatchObject(manual)
  expect((await call('POST', `/deployments/${made.id}/pause`)).body).toMatchObject(manual)
  expect((await call('POST', `/deployments/${made.id}/run`)).status).toBe(202)
  const { body } = await call<{ data: Any[] }>('GET', '/deployments?status=paused')
  expect(body.data.map(({ id }) => id)).toEqual([made.id])
  for (let times = 0; times < 2; times++)
    expect((await call('POST', `/deployments/${made.id}/unpause`)).body).toMatchObject({
      status: 'active',
      paused_reason: null,
    })
})

test('an archived one is read, and neither changed nor run; a deleted one leaves its sessions', async () => {
  const made = await make()
  const session = (await call('POST', `/deployments/${made.id}/run`)).body
  await call('POST', `/deployments/${made.id}/pause`)
  expect((await call('POST', `/deployments/${made.id}/archive`)).body).toMatchObject({
    status: 'active',
    archived_at: expect.any(String),
  })
  for (const [path, body] of [['', { name: 'x' }], ['/run'], ['/pause']] as const)
    expect(await call('POST', `/deployments/${made.id}${path}`, body)).toMatchObject(refusal(409, 'resource_archived'))
  const listed = async (query = ''): Promise<unknown[]> =>
    (await call<{ data: Any[] }>('GET', `/deployments${query}`)).body.data.map(({ id }) => id)
  expect(await listed()).not.toContain(made.id)
  expect(await listed('?include_archived=true')).toContain(made.id)
  expect((await call('DELETE', `/deployments/${made.id}`)).status).toBe(204)
  expect((await call('GET', `/deployments/${made.id}`)).status).toBe(404)
  expect((await call('GET', `/sessions/${session.id}`)).body).toMatchObject({ deployment_id: made.id })
  expect((await call<{ data: Any[] }>('GET', `/deployment_runs?deployment_id=${made.id}`)).body.data).toEqual([])
})

describe('is refused', () => {
  test.each([
    ['without a kickoff', { kickoff: undefined }],
    ['with two kickoffs', { initial_events: [message] }],
    ['with an empty kickoff', { kickoff: { events: [] } }],
    ['without a name', { name: '' }],
    ['without an agent', { agent: undefined }],
    ['with overrides of the agent', { agent: { type: 'agent_with_overrides', id: 'agt_x' } }],
    ['with an unknown environment', { environment: 'cloud' }],
    ['with an environment that is not named', { environment: { type: 'existing' } }],
    ['with two environments', { environment: 'none', environment_id: 'env_x' }],
    [
      'with a machine of the client’s for each run',
      { environment: { type: 'ephemeral', config: { type: 'self_hosted' } } },
    ],
    ['with resources', { resources: [{ type: 'file', file_id: 'file_x' }] }],
    ['with a status that there is none', { status: 'resting' }],
    ['with an unknown key', { colour: 'red' }],
  ])('%s', async (_, fields) => {
    const answer = await call('POST', '/deployments', { name: 'x', agent, kickoff: 'x', ...fields })
    expect(answer).toMatchObject(refusal(400, 'invalid_request'))
  })

  test.each([
    ['agent', () => ({ agent: newId('agent') })],
    ['version', () => ({ agent: { id: agent, version: 99 } })],
    ['environment', () => ({ environment_id: newId('environment') })],
    ['vault', () => ({ vault_ids: [newId('vault')] })],
  ])('with an absent %s', async (_, fields) => {
    const answer = await call('POST', '/deployments', { name: 'x', agent, kickoff: 'x', ...fields() })
    expect(answer).toMatchObject(refusal(404, 'not_found'))
  })

  test('to whoever has no token, to a viewer, and to a colleague', async () => {
    const { id } = await make()
    expect((await berth.call('GET', '/agents/v1/deployments')).status).toBe(401)
    const viewer = await berth.token('victor', 'acme', 'viewer')
    const body = { name: 'x', agent, kickoff: 'x' }
    expect((await call('POST', '/deployments', body, viewer)).status).toBe(403)
    const colleague = await berth.token('bob', 'acme', 'member')
    expect((await call('GET', `/deployments/${id}`, undefined, colleague)).status).toBe(404)
    expect((await call('POST', `/deployments/${id}/run`, undefined, colleague)).status).toBe(404)
  })
})

test('it is a graph: agent, deployment, sessions, runs, and back', async () => {
  const { id } = await make()
  const session = (await call('POST', `/deployments/${id}/run`)).body
  const { body } = await berth.ask(
    `{ deployment(id: "${id}") { agent { deployments(first: 50) { nodes { id } } } agentReference { version currentVersion }
      kickoff { text events { ... on KickoffMessage { content { ... on TextBlock { text } } } } } environment { ... on NoEnvironment { type } }
      owner { id } sessions { nodes { id sourceKind source { ... on Deployment { id } } deployment { id } } }
      runs { nodes { trigger { ... on ManualRun { type } } session { id } error { type } } totalCount } } }`,
    { token },
  )
  expect(body).toMatchObject({
    data: {
      deployment: {
        agent: { deployments: { nodes: expect.arrayContaining([{ id }]) } },
        agentReference: { version: null, currentVersion: 1 },
        kickoff: { text: 'Do it.', events: [{ content: [{ text: 'Do it.' }] }] },
        environment: { type: 'NONE' },
        sessions: { nodes: [{ id: session.id, sourceKind: 'DEPLOYMENT', source: { id }, deployment: { id } }] },
        runs: { nodes: [{ trigger: { type: 'MANUAL' }, session: { id: session.id }, error: null }], totalCount: 1 },
      },
    },
  })
})
