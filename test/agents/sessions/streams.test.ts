/** A session followed: where a stream begins, what it shows, that nothing is lost or repeated, and where it ends. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { namedFrames } from '#rest-compat/stream.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId, encodeId, newId } from '#src/platform/ids.ts'
import { transaction } from '#src/platform/postgres.ts'
import { addToPreview, startPreview } from '#src/resources/agents/sessions/previews.ts'
import { moveSession } from '#src/resources/agents/sessions/states.ts'
import { openStream, type EventStream, type StreamEvent } from '../../contract/event-stream.ts'
import { callAgents, startWithAgent } from '../../support/agents-service.ts'
import type { Answer, Berth } from '../../support/berth.ts'
import { append, take } from '../../support/sessions.ts'

let berth: Berth
let token: string
let agent: string
beforeAll(async () => {
  ;({ berth, token, agent } = await startWithAgent())
})
afterAll(() => berth.stop())

const call = <Body = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<Answer<Body>> =>
  callAgents<Body>(berth, token, method, path, body)
const make = async (fields: Record<string, unknown> = {}): Promise<string> =>
  (await call<{ id: string }>('POST', '/sessions', { agent, ...fields })).body.id
const uuid = (id: string): string => decodeId('session', id) ?? ''
const said = (text = 'hello') => ({ type: 'user.message', data: { content: [{ type: 'text', text }] } })
const answered = (text: string, id?: string) => ({
  type: 'agent.message',
  data: { content: [{ type: 'text', text }] },
  ...(id ? { id } : {}),
})
const follow = (id: string, query = '', lastEventId?: string): Promise<EventStream> =>
  openStream(`${berth.url}/agents/v1/sessions/${id}/events/stream${query}`, { token, lastEventId })
const settle = (id: string): Promise<unknown> =>
  transaction(berth.services.db, (tx) => moveSession(tx, uuid(id), { to: 'idle', stopReason: { type: 'end_turn' } }))

/** The next so many events; a stream that ends before is a failure. */
async function next(stream: EventStream, count: number): Promise<StreamEvent[]> {
  const events: StreamEvent[] = []
  while (events.length < count) {
    const event = await stream.next()
    if (!event) throw new Error(`the stream ended after ${events.length} of ${count} events`)
    if (event.name !== 'ping') events.push(event)
  }
  return events
}
const told = (events: readonly StreamEvent[]): unknown[] => events.map(({ id, data }) => [Number(id), data['type']])

describe('a stream', () => {
  test('starts from now, names every frame, and has clients’ events twice: queued, and taken', async () => {
    const id = await make()
    await append(berth.services.db, uuid(id), { type: 'agent.thinking' })
    const stream = await follow(id)
    expect([stream.status, stream.headers.get('content-type'), stream.headers.get('x-accel-buffering')]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
      'no',
    ])
    const { body } = await call<{ data: { id: string }[] }>('POST', `/sessions/${id}/events`, {
      events: [{ type: 'user.message', content: [{ type: 'text', text: 'hi' }] }],
    })
    await take(berth.services.db, uuid(id), decodeId('sessionEvent', body.data[0]?.id ?? '') ?? '')
    const [queued, running, taken] = await next(stream, 3)
    expect([queued, running, taken].map((event) => event?.name)).toEqual(['message', 'message', 'message'])
    expect(queued).toMatchObject({
      id: '2',
      data: { id: body.data[0]?.id, type: 'user.message', processed_at: null, content: [{ text: 'hi' }] },
    })
    expect(running).toMatchObject({ id: '3', data: { type: 'session.status_running' } })
    expect(taken).toMatchObject({
      id: '4',
      data: { id: body.data[0]?.id, type: 'user.message', processed_at: expect.stringMatching(/Z$/) },
    })
    expect(stream.retryMs).toBe(2000)
    stream.close()
  })

  test('starts after a position, after an event, or at the beginning', async () => {
    const id = await make()
    const stored = await append(
      berth.services.db,
      uuid(id),
      ...Array.from({ length: 5 }, (_, index) => answered(`${index}`)),
    )
    const positions = async (query: string, count: number, header?: string): Promise<number[]> => {
      const stream = await follow(id, query, header)
      const events = await next(stream, count)
      stream.close()
      return events.map((event) => Number(event.id))
    }
    expect(await positions('?replay=1', 5)).toEqual([1, 2, 3, 4, 5])
    expect(await positions('?after=3', 2)).toEqual([4, 5])
    expect(await positions('', 2, '3')).toEqual([4, 5])
    expect(await positions('?after=1', 2, '3')).toEqual([4, 5]) // the header is the newer of the two
    expect(await positions(`?after=${encodeId('sessionEvent', stored[1]?.id ?? '')}`, 3)).toEqual([3, 4, 5])
    for (const query of [
      '?after=6',
      '?after=x',
      `?after=${newId('sessionEvent')}`,
      '?replay=maybe',
      '?event_deltas[]=agent.tool_use',
    ])
      expect((await follow(id, query)).status).toBe(400)
    expect(
      (
        await openStream(`${berth.url}/agents/v1/sessions/${id}/events/stream`, {
          token: await berth.token('mallory', 'evil'),
        })
      ).status,
    ).toBe(404)
    expect((await openStream(`${berth.url}/agents/v1/sessions/${id}/events/stream`)).status).toBe(401)
  })

  test('loses and repeats nothing over reconnects, while others write and take', async () => {
    const id = await make()
    const total = 300
    const writing = (async () => {
      for (let written = 0; written < total / 3; written++) {
        const [queued] = await append(berth.services.db, uuid(id), said(`${written}`), answered(`${written}`))
        await take(berth.services.db, uuid(id), queued?.id ?? '')
      }
    })()
    const seen: number[] = []
    while (seen.length < total) {
      const stream = await follow(
        id,
        seen.length === 0 ? '?replay=1' : '',
        seen.length === 0 ? undefined : String(seen.at(-1)),
      )
      for (const event of await next(stream, Math.min(7, total - seen.length))) seen.push(Number(event.id))
      stream.close()
    }
    await writing
    expect(seen).toEqual(Array.from({ length: total }, (_, index) => index + 1))
  })

  test('that is slow gets what is larger than its queue from the log, in order', async () => {
    const id = await make()
    const stream = await follow(id)
    for (let sent = 0; sent < 40; sent++) await append(berth.services.db, uuid(id), answered('x'.repeat(200 * 1024)))
    expect((await next(stream, 40)).map((event) => Number(event.id))).toEqual(
      Array.from({ length: 40 }, (_, index) => index + 1),
    )
    stream.close()
  })

  test('ends after the session: when it is archived, and when it is deleted', async () => {
    const [archived, deleted] = [await make(), await make()]
    const streams = [await follow(archived), await follow(deleted)]
    await call('POST', `/sessions/${archived}/archive`)
    await call('DELETE', `/sessions/${deleted}`)
    const [one, other] = [await next(streams[0]!, 1), await next(streams[1]!, 1)]
    expect(told(one)).toEqual([[1, 'session.status_terminated']])
    expect(other[0]).toMatchObject({
      id: null,
      name: 'message',
      data: { type: 'session.deleted', id: expect.stringMatching(/^sevt_/) },
    })
    for (const stream of streams) expect(await stream.next()).toBeNull()
    expect(await (await follow(archived)).next()).toBeNull() // nothing will ever follow
    expect(told(await next(await follow(archived, '?replay=1'), 1))).toEqual([[1, 'session.status_terminated']])
  })
})

test('heartbeats, and the error that ends a stream, have the names that Anthropic’s clients know', () => {
  const { ofEvent, ofError } = namedFrames((error, requestId) => ({
    type: 'error',
    error: { type: 'api_error', message: error.message },
    request_id: requestId,
  }))
  expect(ofEvent({ body: {} })).toEqual({ before: 'event: ping\ndata: {"type":"ping"}\n\n' })
  expect(ofError(new BerthError('internal_error', 'sorry'), 'req_1')).toBe(
    'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"sorry"},"request_id":"req_1"}\n\n',
  )
})

describe('previews', () => {
  test('show an answer while it is generated, to subscribers that ask for it, without a position', async () => {
    const id = await make()
    const [plain, messages, both] = [
      await follow(id),
      await follow(id, '?event_deltas[]=agent.message'),
      await follow(id, '?event_deltas[]=agent.message&event_deltas%5B%5D=agent.thinking'),
    ]
    // A stream is joined once it has something to tell.
    await append(berth.services.db, uuid(id), { type: 'span.model_request_start' })
    for (const stream of [plain, messages, both]) await next(stream, 1)
    const thinking = await startPreview(berth.services.db, uuid(id), 'agent.thinking')
    const thought = await next(both, 1)
    await append(berth.services.db, uuid(id), { type: 'agent.thinking', id: thinking })
    const eventId = await startPreview(berth.services.db, uuid(id), 'agent.message')
    const begun = await next(messages, 2)
    await addToPreview(berth.services.db, uuid(id), eventId, 'hel')
    await addToPreview(berth.services.db, uuid(id), eventId, 'lo')
    const deltas = await next(messages, 2)
    await append(berth.services.db, uuid(id), answered('hello', eventId))
    const publicId = encodeId('sessionEvent', eventId)
    const delta = (text: string): object => ({
      id: null,
      name: 'message',
      data: {
        type: 'event_delta',
        event_id: publicId,
        delta: { type: 'content_delta', index: 0, content: { type: 'text', text } },
      },
    })
    expect(begun.map(({ data }) => data['type'])).toEqual(['agent.thinking', 'event_start'])
    expect(begun[1]).toEqual({
      id: null,
      name: 'message',
      data: { type: 'event_start', event: { type: 'agent.message', id: publicId } },
    })
    expect(deltas).toEqual([delta('hel'), delta('lo')])
    expect(await next(messages, 1)).toMatchObject([{ id: '3', data: { id: publicId, type: 'agent.message' } }])
    expect(thought[0]?.data).toMatchObject({ type: 'event_start', event: { type: 'agent.thinking' } })
    expect(told(await next(plain, 2))).toEqual([
      [2, 'agent.thinking'],
      [3, 'agent.message'],
    ])
    expect((await next(both, 5)).map(({ data }) => data['type'])).toEqual([
      'agent.thinking',
      'event_start',
      'event_delta',
      'event_delta',
      'agent.message',
    ])
    expect((await call<{ data: unknown[] }>('GET', `/sessions/${id}/events`)).body.data).toHaveLength(3)
    for (const stream of [plain, messages, both]) stream.close()
  })

  test('are not sent to a subscriber that joins in the middle of one', async () => {
    const id = await make()
    const early = await follow(id, '?event_deltas[]=agent.message')
    await append(berth.services.db, uuid(id), { type: 'span.model_request_start' })
    await next(early, 1)
    const eventId = await startPreview(berth.services.db, uuid(id), 'agent.message')
    await next(early, 1)
    const late = await follow(id, '?event_deltas[]=agent.message&after=0')
    await next(late, 1)
    await addToPreview(berth.services.db, uuid(id), eventId, 'x')
    await next(early, 1)
    await append(berth.services.db, uuid(id), answered('x', eventId))
    expect(told(await next(late, 1))).toEqual([[2, 'agent.message']])
    for (const stream of [early, late]) stream.close()
  })
})

/** The answers of a GraphQL subscription over server-sent events. */
async function* subscribe(query: string): AsyncGenerator<Record<string, unknown>> {
  const stream = await openStream(`${berth.url}/graphql?query=${encodeURIComponent(query)}`, { token })
  try {
    for (let event = await stream.next(); event; event = await stream.next())
      if (event.name === 'next') yield (event.data as { data: Record<string, unknown> }).data
  } finally {
    stream.close()
  }
}

describe('GraphQL', () => {
  test('the same events resume by the same position', async () => {
    const id = await make()
    await append(berth.services.db, uuid(id), answered('one'), answered('two'), answered('three'))
    const events = subscribe(
      `subscription { sessionEvents(sessionId: "${id}", after: "1") { ... on SessionEmission { cursor event { type ... on AgentMessage { content { ... on TextBlock { text } } } } } } }`,
    )
    expect((await events.next()).value).toMatchObject({
      sessionEvents: { cursor: '2', event: { type: 'AGENT_MESSAGE', content: [{ text: 'two' }] } },
    })
    expect((await events.next()).value).toMatchObject({ sessionEvents: { cursor: '3' } })
    await events.return(undefined)
  })

  test('its state comes first as it is, then at every change, until it ends', async () => {
    const id = await make({ initial_events: [{ type: 'user.message', content: [{ type: 'text', text: 'x' }] }] })
    const states = subscribe(
      `subscription { sessionState(id: "${id}") { ... on SessionState { cursor session { status stopReason { type } } } } }`,
    )
    expect((await states.next()).value).toEqual({
      sessionState: { cursor: '2', session: { status: 'RUNNING', stopReason: null } },
    })
    await settle(id)
    expect((await states.next()).value).toEqual({
      sessionState: { cursor: '3', session: { status: 'IDLE', stopReason: { type: 'END_TURN' } } },
    })
    const resumed = subscribe(
      `subscription { sessionState(id: "${id}", after: "3") { ... on SessionState { cursor session { status } } } }`,
    )
    const first = resumed.next()
    await call('POST', `/sessions/${id}/archive`)
    expect((await first).value).toEqual({ sessionState: { cursor: '5', session: { status: 'TERMINATED' } } }) // 4: the message that nobody took counts as processed
    expect((await states.next()).value).toMatchObject({ sessionState: { cursor: '5' } })
    expect(await states.next()).toMatchObject({ done: true })
  })
})
