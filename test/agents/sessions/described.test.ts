/** What the agents service sends of a session is what its description says, of which clients make their types. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStream } from '../../contract/event-stream.ts'
import { problemsOf, type Schema } from '../../contract/json-schema.ts'
import { agentSessions, message, type AgentSessions, type Event } from '../../support/agent-sessions.ts'
import { startBerth, type Berth } from '../../support/berth.ts'

let berth: Berth
let token: string
let sessions: AgentSessions
let document: Schema
beforeAll(async () => {
  berth = await startBerth({ worker: true, settings: { BERTH_VMS: 'off', BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token()
  sessions = agentSessions(berth, token)
  document = (await berth.call<Schema>('GET', '/agents/openapi.json')).body
})
afterAll(() => berth.stop())

const problems = (value: unknown, component: string): string[] =>
  problemsOf(value, { $ref: `#/components/schemas/${component}` }, document, { closed: true })

test('every frame of a stream, including previews, matches OpenAPI', async () => {
  const id = await sessions.begin(await sessions.agent(), '!pace 50\n!repeat 10 word')
  const stream = await openStream(
    `${berth.url}/agents/v1/sessions/${id}/events/stream?replay=1&event_deltas[]=agent.message`,
    { token },
  )
  const seen: Event[] = []
  for (let frame = await stream.next(); frame; frame = await stream.next()) {
    const event = frame.data as Event
    seen.push(event)
    if (event.type === 'session.status_idle') break
  }
  stream.close()
  expect(seen.map(({ type }) => type)).toEqual(
    expect.arrayContaining(['user.message', 'event_start', 'event_delta', 'agent.message', 'session.usage']),
  )
  expect(seen.flatMap((event) => problems(event, 'SessionStreamEvent'))).toEqual([])
  expect(problems({ type: 'ping' }, 'SessionStreamEvent')).toEqual([])
  expect(problems({ ...seen[0], type: 'user.shout' }, 'SessionStreamEvent')).not.toEqual([])
})

test('events of every kind that clients send are returned as described, and so is the shared transcript', async () => {
  const custom = { type: 'custom', name: 'weather', description: 'w', input_schema: { type: 'object' } }
  const environment = await berth.call<{ id: string }>('POST', '/agents/v1/environments', {
    token,
    body: { name: 'nowhere', config: { type: 'self_hosted' } },
  })
  const id = await sessions.begin(await sessions.agent({ tools: [custom] }), null, {
    environment_id: environment.body.id,
  })
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } }
  const document = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'x' }, title: 't' }
  const { content: words } = message('!tool weather {"town": "Bern"}\n!say done')
  const content = [...(words as object[]), document]
  await sessions.send(
    id,
    { type: 'system.message', content: [{ type: 'text', text: 'Be short.' }] },
    { type: 'user.message', content },
  )
  const use = (await sessions.rested(id)).find(({ type }) => type === 'agent.custom_tool_use')
  await sessions.send(id, { type: 'user.custom_tool_result', custom_tool_use_id: use?.id, content: [image] })
  await sessions.rested(id)
  await sessions.send(id, { type: 'user.interrupt' })
  await berth.call('POST', `/agents/v1/sessions/${id}`, {
    token,
    body: {
      title: 'Weather',
      metadata: { a: 'b' },
      budget: { type: 'limit', max_list_cost: { amount: '5', currency: 'USD' } },
      agent: { tools: [] },
    },
  })
  const log = await sessions.log(id) // compares each
  expect(log.map(({ type }) => type)).toEqual(
    expect.arrayContaining(['system.message', 'user.custom_tool_result', 'user.interrupt', 'session.updated']),
  )
  expect((await berth.call('PUT', `/agents/v1/sessions/${id}/sharing`, { token, body: { shared: true } })).status).toBe(
    200,
  )
  const { body } = await berth.call<{ data: Event[] }>('GET', `/agents/v1/shared-sessions/${id}`)
  expect(body.data.map(({ type }) => type)).toEqual(expect.arrayContaining(['user.message', 'agent.message']))
  expect(body.data.flatMap((entry) => problems(entry, 'TranscriptEntry'))).toEqual([])
})
