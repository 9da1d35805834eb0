/** What clients send to a session: what is taken in, what is refused, and what it does to the session. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeId, encodeId, newId } from '#src/platform/ids.ts'
import { findAll, sql, transaction } from '#src/platform/postgres.ts'
import { moveSession, type SessionMove } from '#src/resources/agents/sessions/states.ts'
import { callAgents, refusal, startWithAgent } from '../support/agents-service.ts'
import type { Answer, Berth } from '../support/berth.ts'
import { append, take } from '../support/sessions.ts'

type Event = Record<string, unknown> & { id: string; type: string; processed_at: string | null }
type List = { data: Event[]; has_more: boolean; next_page: string | null }

let berth: Berth
let token: string
let agent: string
beforeAll(async () => {
  ;({ berth, token, agent } = await startWithAgent())
})
afterAll(() => berth.stop())

const call = <Body = List>(method: string, path: string, body?: unknown, as = token): Promise<Answer<Body>> =>
  callAgents<Body>(berth, as, method, path, body)
const make = async (fields: Record<string, unknown> = {}): Promise<string> =>
  (await call<{ id: string }>('POST', '/sessions', { agent, ...fields })).body.id
const send = (id: string, ...events: unknown[]): Promise<Answer<List>> =>
  call('POST', `/sessions/${id}/events`, { events })
const list = async (id: string, query = ''): Promise<Event[]> =>
  (await call('GET', `/sessions/${id}/events?limit=1000${query}`)).body.data
const types = async (id: string): Promise<string[]> => (await list(id)).map(({ type }) => type)
const read = async (id: string): Promise<Record<string, unknown>> =>
  (await call<Record<string, unknown>>('GET', `/sessions/${id}`)).body
const uuid = (id: string): string => decodeId('session', id) ?? ''
const move = (id: string, to: SessionMove): Promise<unknown> =>
  transaction(berth.services.db, (tx) => moveSession(tx, uuid(id), to))
const steps = async (id: string): Promise<number> =>
  (
    await findAll(
      berth.services.db,
      sql`select 1 from pgboss.job where name = 'sessions-step' and data ->> 'sessionId' = ${uuid(id)}`,
    )
  ).length
const said = (text = 'hello'): object => ({ type: 'user.message', content: [{ type: 'text', text }] })

/** A running session whose agent has used tools and waits for the client: the ids of the uses. */
async function waiting(...uses: { type: string; permission?: string }[]): Promise<{ id: string; uses: string[] }> {
  const id = await make({ initial_events: [said()] })
  const stored = await append(
    berth.services.db,
    uuid(id),
    ...uses.map(({ type, permission }) => ({
      type,
      data: { name: 'x', input: {}, ...(permission ? { evaluated_permission: permission } : {}) },
    })),
  )
  const ids = stored.map((event) => encodeId('sessionEvent', event.id))
  await move(id, { to: 'idle', stopReason: { type: 'requires_action', event_ids: ids } })
  return { id, uses: ids }
}
const ask = { type: 'agent.tool_use', permission: 'ask' }
const custom = { type: 'agent.custom_tool_use' }
const confirm = (tool_use_id: string | undefined, result = 'allow'): object => ({
  type: 'user.tool_confirmation',
  tool_use_id,
  result,
})
const answer = (custom_tool_use_id: string | undefined): object => ({
  type: 'user.custom_tool_result',
  custom_tool_use_id,
  content: [{ type: 'text', text: '42' }],
})

describe('messages', () => {
  test('the first starts an idle session, in one batch with the events before it, and enqueues one step', async () => {
    const id = await make()
    const sent = await send(id, { type: 'system.message', content: [{ type: 'text', text: 's' }] }, said())
    expect(sent).toMatchObject({
      status: 200,
      body: {
        data: [
          { type: 'system.message', processed_at: null },
          { type: 'user.message', processed_at: null, content: [{ type: 'text', text: 'hello' }] },
        ],
      },
    })
    expect(await types(id)).toEqual(['system.message', 'user.message', 'session.status_running'])
    expect(await read(id)).toMatchObject({ status: 'running' })
    await send(id, said('more'))
    expect([await types(id), await steps(id)]).toEqual([
      ['system.message', 'user.message', 'session.status_running', 'user.message'],
      1,
    ])
  })

  test('one that is taken is in the list once, with the time of processing', async () => {
    const id = await make({ initial_events: [said('one'), said('two')] })
    const [one] = await list(id)
    await take(berth.services.db, uuid(id), decodeId('sessionEvent', one?.id ?? '') ?? '')
    expect((await list(id)).map(({ type, processed_at }) => [type, processed_at !== null])).toEqual([
      ['user.message', true],
      ['user.message', false],
      ['session.status_running', true],
    ])
  })

  test('every kind of content is accepted and returned', async () => {
    const content = [
      { type: 'text', text: 'é\u{1F600}' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
      { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'd' }, title: 't', context: null },
      {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: 'aGk=' },
        title: null,
        context: 'c',
      },
    ]
    const id = await make()
    expect((await send(id, { type: 'user.message', content })).status).toBe(200)
    expect((await list(id))[0]).toMatchObject({ content })
  })

  const block = (source: object): object => ({ type: 'user.message', content: [{ type: 'image', source }] })
  test.each([
    ['no events', []],
    ['101 events', Array.from({ length: 101 }, () => said())],
    ['no type', [{}]],
    ['a type of the service', [{ type: 'agent.message', content: [] }]],
    ['no content', [{ type: 'user.message', content: [] }]],
    ['empty text', [said('')]],
    [
      '101 blocks',
      [{ type: 'user.message', content: Array.from({ length: 101 }, () => ({ type: 'text', text: 'x' })) }],
    ],
    ['an unknown field', [{ ...said(), strange: 1 }]],
    ['an unknown block', [{ type: 'user.message', content: [{ type: 'video' }] }]],
    ['a large image', [block({ type: 'base64', media_type: 'image/png', data: 'A'.repeat(7 * 1024 * 1024) })]],
    ['bytes that are no picture', [block({ type: 'base64', media_type: 'image/png', data: 'aGVsbG8gdGhlcmU=' })]],
    ['no base64', [block({ type: 'base64', media_type: 'image/png', data: '!!!!' })]],
    ['a file that is not there', [block({ type: 'file', file_id: 'file_x' })]],
    ['an address of another kind', [block({ type: 'url', url: 'file:///etc/passwd' })]],
    ['a good one and a bad one', [said(), { type: 'user.message' }]],
    ['an outcome without a rubric', [{ type: 'user.define_outcome', description: 'd' }]],
    ['a confirmation of nothing', [confirm(newId('sessionEvent'))]],
    ['a result of nothing', [answer('sevt_x')]],
    ['no list', { 0: said() }],
  ])('%s is refused, and nothing is stored', async (_, events) => {
    const id = await make()
    expect(await call('POST', `/sessions/${id}/events`, { events })).toMatchObject(refusal(400, 'invalid_request'))
    expect([await types(id), (await read(id))['status'], await steps(id)]).toEqual([[], 'idle', 0])
  })

  test('of bytes that are no picture it is said which are, and a picture with another label is taken', async () => {
    const id = await make()
    const source = { type: 'base64', media_type: 'image/png', data: 'aGVsbG8gdGhlcmU=' }
    const refused = await call('POST', `/sessions/${id}/events`, { events: [block(source)] })
    expect(JSON.stringify(refused.body)).toContain('send a PNG, a JPEG, a GIF or a WebP')
    expect((await send(id, block({ ...source, data: '/9j/4AAQ' }))).status).toBe(200)
  })

  test('a batch of more than 32 MiB is refused as too large', async () => {
    const id = await make()
    expect(await send(id, said('x'.repeat(33 * 1024 * 1024)))).toMatchObject({
      status: 413,
      body: { error: { type: 'request_too_large' } },
    })
  })

  test('nobody else, and nobody without a token, can send or read them', async () => {
    const id = await make()
    const stranger = await berth.token('mallory', 'evil', 'owner')
    const colleague = await berth.token('martha', 'acme', 'member')
    for (const as of [stranger, colleague]) {
      expect(await call('POST', `/sessions/${id}/events`, { events: [said()] }, as)).toMatchObject(
        refusal(404, 'not_found'),
      )
      expect(await call('GET', `/sessions/${id}/events`, undefined, as)).toMatchObject(refusal(404, 'not_found'))
    }
    expect(await call('POST', `/sessions/${id}/events`, { events: [said()] }, 'garbage')).toMatchObject({ status: 401 })
    expect(await types(id)).toEqual([])
  })
})

describe('answers', () => {
  test('a session continues when everything it waits for is answered, and names the rest until then', async () => {
    const {
      id,
      uses: [first, second],
    } = await waiting(ask, custom)
    expect((await read(id))['activity']).toMatchObject({ requires_action: true })
    expect((await send(id, confirm(first, 'deny'))).status).toBe(200)
    expect(await read(id)).toMatchObject({
      status: 'idle',
      stop_reason: { type: 'requires_action', event_ids: [second] },
    })
    expect((await list(id)).at(-1)).toMatchObject({ type: 'session.status_idle', stop_reason: { event_ids: [second] } })
    expect((await send(id, answer(second))).status).toBe(200)
    expect(await read(id)).toMatchObject({ status: 'running', stop_reason: null, activity: { requires_action: false } })
    expect(await steps(id)).toBe(2)
  })

  test('each is accepted once, for a tool use that waits for it', async () => {
    const {
      id,
      uses: [first, second],
    } = await waiting(ask, custom)
    await send(id, confirm(first))
    const before = await types(id)
    for (const wrong of [
      [confirm(first)],
      [confirm(second)],
      [answer(first)],
      [answer(second), answer(second)],
      [{ type: 'user.tool_result', tool_use_id: first }],
    ])
      expect(await send(id, ...wrong)).toMatchObject(refusal(400, 'invalid_request'))
    expect(await types(id)).toEqual(before)
  })

  test('a tool use of another session cannot be answered here', async () => {
    const one = await waiting(ask)
    const other = await waiting(ask)
    expect(await send(one.id, confirm(other.uses[0]))).toMatchObject(refusal(400, 'invalid_request'))
  })

  test('a message while answers are missing is a conflict; with them, or after an interrupt, it is not', async () => {
    const {
      id,
      uses: [first],
    } = await waiting(ask)
    expect(await send(id, said())).toMatchObject(refusal(409, 'requires_action_pending'))
    expect(await read(id)).toMatchObject({ status: 'idle' })
    expect((await send(id, confirm(first), said('and'))).status).toBe(200)
    expect(await read(id)).toMatchObject({ status: 'running' })
    const other = await waiting(custom)
    expect((await send(other.id, { type: 'user.interrupt' }, said('stop that'))).status).toBe(200)
    expect([(await read(other.id))['status'], await steps(other.id)]).toEqual(['running', 2])
  })

  test('an answer is accepted before the session is idle, because clients are quick', async () => {
    const id = await make({ initial_events: [said()] })
    const [use] = await append(berth.services.db, uuid(id), {
      type: 'agent.custom_tool_use',
      data: { name: 'x', input: {} },
    })
    expect((await send(id, answer(encodeId('sessionEvent', use?.id ?? '')))).status).toBe(200)
  })

  test('the client of a self-hosted environment sends the results of built-in tools', async () => {
    const environment = (
      await call<{ id: string }>('POST', '/environments', { name: 'mine', config: { type: 'self_hosted' } })
    ).body.id
    const id = await make({ environment_id: environment, initial_events: [said()] })
    const [use] = await append(berth.services.db, uuid(id), {
      type: 'agent.tool_use',
      data: { name: 'bash', input: {}, evaluated_permission: 'allow' },
    })
    expect(
      (await send(id, { type: 'user.tool_result', tool_use_id: encodeId('sessionEvent', use?.id ?? ''), content: [] }))
        .status,
    ).toBe(200)
  })
})

describe('interrupts', () => {
  test('one for a running session is queued, and enqueues a step of its own', async () => {
    const id = await make({ initial_events: [said()] })
    expect((await send(id, { type: 'user.interrupt' })).body.data).toMatchObject([
      { type: 'user.interrupt', processed_at: null },
    ])
    expect(await steps(id)).toBe(2)
  })

  test('one for an idle session stops nothing, and is processed immediately', async () => {
    const id = await make()
    expect((await send(id, { type: 'user.interrupt' })).body.data).toMatchObject([{ processed_at: expect.any(String) }])
    expect([await types(id), (await read(id))['status'], await steps(id)]).toEqual([['user.interrupt'], 'idle', 0])
  })
})

test('the list pages in both orders, by type and by time, without gaps or repeats', async () => {
  const id = await make({ initial_events: Array.from({ length: 25 }, (_, index) => said(String(index))) })
  await append(berth.services.db, uuid(id), ...Array.from({ length: 25 }, () => ({ type: 'agent.thinking' })))
  const whole = await list(id)
  for (const order of ['asc', 'desc']) {
    const seen: Event[] = []
    for (let page: string | null = ''; page !== null; ) {
      const { body }: Answer<List> = await call(
        'GET',
        `/sessions/${id}/events?limit=20&order=${order}${page ? `&page=${page}` : ''}`,
      )
      seen.push(...body.data)
      expect(body.has_more).toBe(body.next_page !== null)
      page = body.next_page
    }
    expect(order === 'asc' ? seen : seen.reverse()).toEqual(whole)
  }
  expect(await list(id, '&types[]=agent.thinking')).toHaveLength(25)
  expect(await list(id, '&created_at[gt]=2999-01-01T00:00:00Z')).toEqual([])
  for (const query of ['limit=1001', 'limit=0', 'page=x', 'types[]=agent.dance', 'order=up', 'created_at[lt]=soon'])
    expect(await call('GET', `/sessions/${id}/events?${query}`)).toMatchObject({ status: 400 })
})

test('a page of large events ends early instead of including them all', async () => {
  const id = await make()
  for (let sent = 0; sent < 3; sent++)
    await append(berth.services.db, uuid(id), {
      type: 'agent.message',
      data: { content: [{ type: 'text', text: 'x'.repeat(17 * 1024 * 1024) }] },
    })
  const { body } = await call('GET', `/sessions/${id}/events`)
  expect([body.data.length, body.has_more]).toEqual([1, true])
  const { body: second } = await call('GET', `/sessions/${id}/events?page=${body.next_page}`)
  expect([second.data.length, second.has_more]).toEqual([1, true])
  expect((await call('GET', `/sessions/${id}/events?page=${second.next_page}`)).body).toMatchObject({
    has_more: false,
    data: [{ type: 'agent.message' }],
  })
})
