/** Sessions: begun with what is theirs, listed, changed, archived, deleted; and that a refusal changes nothing. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { decodeId, newId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { transaction } from '#src/platform/postgres.ts'
import { hasActiveWork } from '#src/resources/agents/sessions/work.ts'
import { moveSession } from '#src/resources/agents/sessions/states.ts'
import { addUsage } from '#src/resources/agents/sessions/usage.ts'
import { refusal } from '../support/agents-service.ts'
import { startBerth, type Answer, type Berth } from '../support/berth.ts'
import { append } from '../support/sessions.ts'

type Session = Record<string, unknown> & {
  id: string
  status: string
  agent: Record<string, unknown>
  stop_reason: unknown
  activity: Record<string, unknown>
}
type List = { data: Session[]; has_more: boolean; next_page: string | null }

let berth: Berth
let token: string
let stranger: string
let agent: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token('alice', 'acme', 'owner')
  stranger = await berth.token('mallory', 'evil', 'owner')
  agent = await makeAgent()
})
afterAll(() => berth.stop())

const call = <Body = Session>(
  method: string,
  path: string,
  body?: unknown,
  as: string | undefined = token,
  headers: Record<string, string> = {},
): Promise<Answer<Body>> =>
  berth.call<Body>(method, `/agents/v1${path}`, {
    ...(as ? { token: as } : {}),
    headers,
    ...(body === undefined ? {} : { body }),
  })
async function makeAgent(fields: Record<string, unknown> = {}, as = token): Promise<string> {
  return (await call('POST', '/agents', { name: 'helper', model: 'berth/demo', ...fields }, as)).body.id
}
async function make(fields: Record<string, unknown> = {}): Promise<Session> {
  const made = await call('POST', '/sessions', { agent, ...fields })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  return made.body
}
const uuid = (id: string): string => decodeId('session', id) ?? ''
const message = { type: 'user.message', content: [{ type: 'text', text: 'hello' }] }
const settle = (
  id: string,
  stopReason: Parameters<typeof moveSession>[2] = { to: 'idle', stopReason: { type: 'end_turn' } },
): Promise<unknown> => transaction(berth.services.db, (tx) => moveSession(tx, uuid(id), stopReason))

describe('starting', () => {
  test('a session has every documented key, and the agent as it is now', async () => {
    const made = await make({
      title: 't',
      metadata: { a: 'b' },
      budget: { type: 'limit', max_list_cost: { amount: '2.50', currency: 'USD' } },
    })
    expect(made).toEqual({
      id: expect.stringMatching(/^sesn_[0-7][0-9a-z]{25}$/),
      type: 'session',
      title: 't',
      agent_id: agent,
      environment_id: null,
      deployment_id: null,
      kind: 'chat',
      source: 'user',
      status: 'idle',
      stop_reason: null,
      agent: expect.objectContaining({
        type: 'agent',
        id: agent,
        version: 1,
        name: 'helper',
        model: { id: 'berth/demo', speed: 'standard' },
        tools: [],
        mcp_servers: [],
        system: null,
      }),
      vault_ids: [],
      metadata: { a: 'b' },
      resources: [],
      outcome_evaluations: [],
      budget: { type: 'limit', max_list_cost: { amount: '2.50', currency: 'USD' } },
      usage: {
        input_tokens: 0,
        output_tokens: 0,
        cache_read_input_tokens: 0,
        cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
        server_tool_use: { web_search_requests: 0, web_fetch_requests: 0 },
        active_seconds: 0,
        list_cost: { amount: '0.00', currency: 'USD' },
      },
      stats: { active_seconds: 0, duration_seconds: expect.any(Number) },
      shared: false,
      shared_at: null,
      activity: {
        last_event_id: null,
        last_event_at: null,
        last_read_event_id: null,
        unread_count: 0,
        requires_action: false,
      },
      created_at: expect.stringMatching(/Z$/),
      updated_at: expect.stringMatching(/Z$/),
      archived_at: null,
    })
    expect((await call('GET', `/sessions/${made.id}`)).body).toMatchObject({ ...made, stats: expect.anything() })
  })

  test('initial events start it, and are in the log with the status change', async () => {
    const made = await make({
      initial_events: [
        message,
        { type: 'user.define_outcome', description: 'd', rubric: { type: 'text', content: 'r' } },
        { type: 'system.message', content: [{ type: 'text', text: 's' }] },
      ],
    })
    expect(made).toMatchObject({ status: 'running', activity: { unread_count: 1 } })
    const { body } = await call<List>('GET', `/sessions/${made.id}/events`)
    expect(body.data.map(({ type }) => type)).toEqual([
      'user.message',
      'user.define_outcome',
      'system.message',
      'session.status_running',
    ])
    expect(body.data[1]).toMatchObject({
      outcome_id: expect.stringMatching(/^outc_/),
      max_iterations: null,
      processed_at: null,
    })
  })

  test('the agent may be named in every documented way, with a version or overrides', async () => {
    const other = await makeAgent()
    await call('PATCH', `/agents/${other}`, { version: 1, system: 'two' })
    expect((await make({ agent: undefined, agent_id: other })).agent).toMatchObject({
      id: other,
      version: 2,
      system: 'two',
    })
    expect((await make({ agent: { type: 'agent', id: other, version: 1 } })).agent).toMatchObject({
      version: 1,
      system: null,
    })
    expect(
      (
        await make({
          agent: {
            type: 'agent_with_overrides',
            id: other,
            system: 'mine',
            tools: [{ type: 'agent_toolset_20260401' }],
          },
        })
      ).agent,
    ).toMatchObject({ version: 2, system: 'mine', tools: [{ type: 'agent_toolset_20260401' }] })
    await call('PATCH', `/agents/${other}`, { version: 2, system: 'three' })
    expect((await make({ agent: other })).agent).toMatchObject({ version: 3 })
  })

  test('keeps its vaults in the given order, since the first that has a key is used', async () => {
    const [first, second] = await Promise.all(
      [1, 2].map(async () => (await call('POST', '/vaults', { display_name: 'v' })).body.id),
    )
    for (const order of [
      [second, first],
      [first, second],
    ])
      expect(await make({ vault_ids: order })).toMatchObject({ vault_ids: order })
    const { id } = await make({ vault_ids: [second, first] })
    expect((await call('POST', `/sessions/${id}`, { vault_ids: [first, second] })).body).toMatchObject({
      vault_ids: [first, second],
    })
  })

  test('with an environment it is a computer session, with vaults it names them', async () => {
    const environment = (await call('POST', '/environments', { name: 'e1' })).body.id
    const vault = (await call('POST', '/vaults', { display_name: 'v' })).body.id
    expect(await make({ environment_id: environment, vault_ids: [vault, vault] })).toMatchObject({
      kind: 'computer',
      environment_id: environment,
      vault_ids: [vault],
    })
    await call('POST', `/vaults/${vault}/archive`)
    await call('POST', `/environments/${environment}/archive`)
    expect(await call('POST', '/sessions', { agent, vault_ids: [vault] })).toMatchObject(refusal(409, 'vault_archived'))
    expect(await call('POST', '/sessions', { agent, environment_id: environment })).toMatchObject(
      refusal(409, 'resource_archived'),
    )
  })

  test.each([
    ['no agent', { agent: undefined }, 400, 'invalid_request'],
    ['a foreign agent', { agent: newId('agent') }, 404, 'not_found'],
    ['no id', { agent: 'agt_x' }, 404, 'not_found'],
    ['an empty id', { agent: undefined, agent_id: '' }, 404, 'not_found'],
    ['no such version', { agent: 'PIN' }, 404, 'not_found'],
    ['a foreign environment', { environment_id: newId('environment') }, 404, 'not_found'],
    ['a foreign vault', { vault_ids: [newId('vault')] }, 404, 'not_found'],
    ['too many vaults', { vault_ids: Array.from({ length: 51 }, () => newId('vault')) }, 400, 'invalid_request'],
    ['a long title', { title: 'x'.repeat(256) }, 400, 'invalid_request'],
    [
      'a bad budget',
      { budget: { type: 'limit', max_list_cost: { amount: '-1', currency: 'USD' } } },
      400,
      'invalid_request',
    ],
    ['resources', { resources: [{ type: 'file', file_id: 'file_x' }] }, 400, 'invalid_request'],
    ['51 events', { initial_events: Array.from({ length: 51 }, () => message) }, 400, 'invalid_request'],
    ['an interrupt to begin with', { initial_events: [{ type: 'user.interrupt' }] }, 400, 'invalid_request'],
    ['an unknown tool', { agent: 'OVERRIDE' }, 400, 'unknown_tool'],
  ])('%s is refused, and nothing begins', async (_, fields, status, code) => {
    const before = (await call<List>('GET', '/sessions?archived=include')).body.data.length
    const named = {
      PIN: { type: 'agent', id: agent, version: 9 },
      OVERRIDE: { type: 'agent_with_overrides', id: agent, tools: [{ type: 'magic' }] },
    }
    const given =
      'agent' in fields && fields.agent && fields.agent in named ? { agent: named[fields.agent as 'PIN'] } : fields
    expect(await call('POST', '/sessions', { agent, ...given })).toMatchObject(refusal(status, code))
    expect((await call<List>('GET', '/sessions?archived=include')).body.data).toHaveLength(before)
  })
})

test('a list is filtered by agent, archive, status and time, and pages', async () => {
  const mine = await makeAgent()
  const [first, second, third] = [
    await make({ agent: mine }),
    await make({ agent: mine, initial_events: [message] }),
    await make({ agent: mine }),
  ]
  await call('POST', `/sessions/${third.id}/archive`)
  const ids = async (query: string): Promise<string[]> =>
    (await call<List>('GET', `/sessions?agent_id=${mine}${query}`)).body.data.map(({ id }) => id)
  expect(await ids('')).toEqual([second.id, first.id])
  expect(await ids('&archived=only')).toEqual([third.id])
  expect(await ids('&archived=include&order=asc')).toEqual([first.id, second.id, third.id])
  expect(await ids('&include_archived=true')).toEqual([third.id, second.id, first.id])
  expect(await ids('&statuses[]=running&statuses[]=rescheduling')).toEqual([second.id])
  expect(await ids('&statuses%5B%5D=idle')).toEqual([first.id])
  expect(await ids(`&created_at[gt]=${String(first['created_at'])}&created_at[lte]=2999-01-01T00:00:00Z`)).toEqual([
    second.id,
  ])
  expect(await ids(`&deployment_id=${newId('deployment')}`)).toEqual([])
  const page = (await call<List>('GET', `/sessions?agent_id=${mine}&limit=1`)).body
  expect(page).toMatchObject({ has_more: true, data: [{ id: second.id }] })
  expect((await call<List>('GET', `/sessions?agent_id=${mine}&limit=1&page=${page.next_page}`)).body).toMatchObject({
    has_more: false,
    next_page: null,
    data: [{ id: first.id }],
  })
  for (const query of ['archived=maybe', 'statuses[]=asleep', 'limit=0', 'page=x', 'created_at[gt]=yesterday'])
    expect(await call('GET', `/sessions?${query}`)).toMatchObject({ status: 400 })
  expect((await call<List>('GET', '/sessions', undefined, stranger)).body.data).toEqual([])
})

test('a change is logged as session.updated with what changed, and only if something did', async () => {
  const made = await make({ title: 'a', metadata: { k: 'v', gone: 'x' } })
  const changed = await call('POST', `/sessions/${made.id}`, {
    title: 'b',
    metadata: { gone: null },
    budget: { type: 'limit', max_list_cost: { amount: 1, currency: 'USD' } },
    agent: { tools: [{ type: 'agent_toolset_20260401' }] },
  })
  expect(changed).toMatchObject({
    status: 200,
    body: { title: 'b', metadata: { k: 'v' }, agent: { tools: [{ type: 'agent_toolset_20260401' }] } },
  })
  await call('POST', `/sessions/${made.id}`, { title: 'b' })
  const { data } = (await call<List>('GET', `/sessions/${made.id}/events`)).body
  expect(data).toEqual([
    {
      id: expect.stringMatching(/^sevt_/),
      type: 'session.updated',
      title: 'b',
      metadata: { k: 'v' },
      budget: { type: 'limit', max_list_cost: { amount: '1.00', currency: 'USD' } },
      agent: expect.objectContaining({ id: agent }),
      processed_at: expect.any(String),
    },
  ])
  expect(await call('POST', `/sessions/${made.id}`, { agent: { tools: [{ type: 'magic' }] } })).toMatchObject(
    refusal(400, 'unknown_tool'),
  )
  await call('POST', `/sessions/${made.id}/archive`)
  expect(await call('POST', `/sessions/${made.id}`, { title: 'c' })).toMatchObject(refusal(409, 'session_archived'))
})

test('archiving a running session answers 409 and changes nothing; an idle one ends permanently', async () => {
  const made = await make({ initial_events: [message] })
  expect(await call('POST', `/sessions/${made.id}/archive`)).toMatchObject(refusal(409, 'session_running'))
  expect((await call('GET', `/sessions/${made.id}`)).body).toMatchObject({ status: 'running', archived_at: null })
  await settle(made.id)
  const archived = await call('POST', `/sessions/${made.id}/archive`)
  expect(archived).toMatchObject({ status: 200, body: { status: 'terminated', archived_at: expect.any(String) } })
  expect((await call('POST', `/sessions/${made.id}/archive`)).body).toMatchObject({
    archived_at: archived.body['archived_at'],
  })
  expect(await call('POST', `/sessions/${made.id}/events`, { events: [message] })).toMatchObject(
    refusal(409, 'session_archived'),
  )
  expect((await call<List>('GET', `/sessions/${made.id}/events?order=desc&limit=1`)).body.data).toMatchObject([
    { type: 'session.status_terminated' },
  ])
})

test('usage adds up, and is shown in dollars', async () => {
  const made = await make()
  for (let turn = 0; turn < 2; turn++)
    await transaction(berth.services.db, (tx) =>
      addUsage(tx, uuid(made.id), {
        inputTokens: 10,
        outputTokens: 5,
        cacheCreation5mInputTokens: 1,
        webSearchRequests: 1,
        costNanoUsd: 6_150_000,
      }),
    )
  expect((await call('GET', `/sessions/${made.id}`)).body['usage']).toMatchObject({
    input_tokens: 20,
    output_tokens: 10,
    cache_creation: { ephemeral_5m_input_tokens: 2 },
    server_tool_use: { web_search_requests: 2 },
    list_cost: { amount: '0.0123' },
  })
})

describe('deleting', () => {
  test('an idle session is deleted immediately with its log; Anthropic’s client gets its own form of answer', async () => {
    const [one, other] = [await make(), await make()]
    expect(await call('DELETE', `/sessions/${one.id}`)).toMatchObject({ status: 204 })
    expect(await call('GET', `/sessions/${one.id}`)).toMatchObject(refusal(404, 'not_found'))
    expect(await call('DELETE', `/sessions/${one.id}`)).toMatchObject(refusal(404, 'not_found'))
    expect(await call('DELETE', `/sessions/${other.id}`, undefined, token, { 'anthropic-beta': 'x' })).toMatchObject({
      status: 200,
      body: { id: other.id, type: 'session_deleted' },
    })
  })

  test('a running session is interrupted first, and deleted as soon as it has stopped', async () => {
    const made = await make({ initial_events: [message] })
    // Whoever waits out the time that it gets to stop waits for ever here.
    const timeout = AbortSignal.timeout.bind(AbortSignal)
    const patience = new AbortController()
    const spied = vi
      .spyOn(AbortSignal, 'timeout')
      .mockImplementation((ms) => (ms === limits.interruptSeconds * 1000 ? patience.signal : timeout(ms)))
    onTestFinished(() => {
      spied.mockRestore()
      patience.abort()
    })
    const stop = (async () => {
      for await (const _ of berth.services.pubsub.subscribe(
        'session_interrupt',
        uuid(made.id),
        AbortSignal.timeout(4_000),
      ))
        return settle(made.id)
      throw new Error('nobody interrupted the session')
    })()
    expect(await call('DELETE', `/sessions/${made.id}`)).toMatchObject({ status: 204 })
    await stop
  })

  test('a session that does not stop is deleted anyway, 5 s later', async () => {
    const made = await make({ initial_events: [message] })
    const begunMs = performance.now()
    expect(await call('DELETE', `/sessions/${made.id}`)).toMatchObject({ status: 204 })
    expect(performance.now() - begunMs).toBeGreaterThan(4_500)
    expect(await call('GET', `/sessions/${made.id}`)).toMatchObject({ status: 404 })
  })

  test('an agent with a running session is not deleted; one with idle sessions is deleted with them', async () => {
    const mine = await makeAgent()
    const made = await make({ agent: mine, initial_events: [message] })
    expect(await call('DELETE', `/agents/${mine}`)).toMatchObject(refusal(409, 'work_active'))
    await settle(made.id)
    expect(await transaction(berth.services.db, (tx) => hasActiveWork(tx, decodeId('agent', mine) ?? ''))).toBe(false)
    expect(await call('DELETE', `/agents/${mine}`)).toMatchObject({ status: 204 })
    expect(await call('GET', `/sessions/${made.id}`)).toMatchObject({ status: 404 })
  })

  test('running sessions in a deleted environment get an error, and stop', async () => {
    const environment = (await call('POST', '/environments', { name: 'e2' })).body.id
    const made = await make({ environment_id: environment, initial_events: [message] })
    expect(await call('DELETE', `/environments/${environment}`)).toMatchObject({ status: 204 })
    expect((await call('GET', `/sessions/${made.id}`)).body).toMatchObject({
      status: 'idle',
      stop_reason: { type: 'retries_exhausted' },
      environment_id: null,
      kind: 'computer',
    })
    expect((await call<List>('GET', `/sessions/${made.id}/events?types[]=session.error`)).body.data).toMatchObject([
      { error: { type: 'environment_failed_error', retry_status: { type: 'exhausted' } } },
    ])
  })

  test('a call that is open when its environment is deleted gets a result before the session becomes idle', async () => {
    const environment = (await call('POST', '/environments', { name: 'e3' })).body.id
    const made = await make({ environment_id: environment, initial_events: [message] })
    await append(
      berth.services.db,
      decodeId('session', made.id) ?? '',
      { type: 'span.model_request_start' },
      {
        type: 'agent.tool_use',
        data: { name: 'bash', input: { command: 'sleep 600' }, evaluated_permission: 'allow' },
      },
    )
    expect(await call('POST', `/environments/${environment}/archive`)).toMatchObject({ status: 200 })
    const log = (await call<List>('GET', `/sessions/${made.id}/events`)).body.data
    const use = log.find(({ type }) => type === 'agent.tool_use')
    expect(log.slice(-4)).toMatchObject([
      { type: 'span.model_request_end', is_error: true },
      { type: 'agent.tool_result', tool_use_id: use?.id, is_error: true },
      { type: 'session.error' },
      { type: 'session.status_idle' },
    ])
  })
})
