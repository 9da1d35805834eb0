/** Sessions by Anthropic's own client, unmodified but for its address and token. */
import Anthropic from '@anthropic-ai/sdk'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId, encodeId, newUuid } from '#src/platform/ids.ts'
import { transaction } from '#src/platform/postgres.ts'
import { addToPreview, startPreview } from '#src/resources/agents/sessions/previews.ts'
import { moveSession, type SessionMove } from '#src/resources/agents/sessions/states.ts'
import { addUsage, usageEvent } from '#src/resources/agents/sessions/usage.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { append, take } from '../../support/sessions.ts'

let berth: Berth
let client: Anthropic
let agent: string
let environment: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  client = new Anthropic({
    baseURL: `${berth.url}/agents`,
    apiKey: null,
    authToken: await berth.token(),
    maxRetries: 0,
  })
  agent = (
    await client.beta.agents.create({
      name: 'helper',
      model: 'berth/demo',
      tools: [{ type: 'custom', name: 'weather', description: 'w', input_schema: { type: 'object' } }],
    })
  ).id
  environment = (await client.beta.environments.create({ name: 'box' })).id
})
afterAll(() => berth.stop())

const uuid = (id: string): string => decodeId('session', id) ?? ''
const move = (id: string, to: SessionMove): Promise<unknown> =>
  transaction(berth.services.db, (tx) => moveSession(tx, uuid(id), to))

test('starts a session, streams a turn with a custom tool, answers it, and lists the log', async () => {
  const { sessions } = client.beta
  const session = await sessions.create({ agent, environment_id: environment, title: 'first', metadata: { a: '1' } })
  expect(session).toMatchObject({
    type: 'session',
    status: 'idle',
    title: 'first',
    agent: { id: agent, version: 1 },
    environment_id: environment,
  })
  const stream = await sessions.events.stream(session.id, { event_deltas: ['agent.message'] })
  const seen: string[] = []
  let said = ''
  const reading = (async () => {
    for await (const event of stream) {
      seen.push(event.type)
      if (event.type === 'event_delta' && event.delta.content.type === 'text') said += event.delta.content.text
      if (event.type === 'agent.custom_tool_use')
        await sessions.events.send(session.id, {
          events: [
            {
              type: 'user.custom_tool_result',
              custom_tool_use_id: event.id,
              content: [{ type: 'text', text: 'sunny' }],
            },
          ],
        })
      if (event.type === 'session.status_idle' && event.stop_reason.type === 'end_turn') return
    }
  })()
  const sent = await sessions.events.send(session.id, {
    events: [{ type: 'user.message', content: [{ type: 'text', text: 'weather?' }] }],
  })
  expect(sent.data?.[0]).toMatchObject({ type: 'user.message', processed_at: null })
  const { db } = berth.services
  await take(db, uuid(session.id), decodeId('sessionEvent', sent.data?.[0]?.id ?? '') ?? '')
  const eventId = await startPreview(db, uuid(session.id), 'agent.message')
  await addToPreview(db, uuid(session.id), eventId, 'let me see')
  await expect.poll(() => said).toBe('let me see')
  const useId = newUuid()
  await append(db, uuid(session.id), {
    type: 'agent.message',
    id: eventId,
    data: { content: [{ type: 'text', text: 'let me see' }] },
  })
  await move(session.id, {
    to: 'idle',
    stopReason: { type: 'requires_action', event_ids: [encodeId('sessionEvent', useId)] },
    before: [{ type: 'agent.custom_tool_use', id: useId, data: { name: 'weather', input: {} } }],
  })
  await expect.poll(async () => (await sessions.retrieve(session.id)).status).toBe('running')
  const used = await transaction(db, (tx) => addUsage(tx, uuid(session.id), { inputTokens: 3 }))
  if (used) await append(db, uuid(session.id), usageEvent(used))
  await move(session.id, { to: 'idle', stopReason: { type: 'end_turn' } })
  await reading
  expect(seen.filter((type) => !type.startsWith('session.status'))).toEqual([
    'user.message',
    'user.message',
    'event_start',
    'event_delta',
    'agent.message',
    'agent.custom_tool_use',
    'user.custom_tool_result',
    'session.usage',
  ])
  const log: string[] = []
  for await (const event of sessions.events.list(session.id, { limit: 2 })) log.push(event.type)
  expect(log).toEqual([
    'user.message',
    'session.status_running',
    'agent.message',
    'agent.custom_tool_use',
    'session.status_idle',
    'user.custom_tool_result',
    'session.status_running',
    'session.usage',
    'session.status_idle',
  ])
  const some: string[] = []
  for await (const event of sessions.events.list(session.id, {
    types: ['agent.message', 'session.usage'],
    order: 'desc',
    'created_at[gte]': session.created_at,
  }))
    some.push(event.type)
  expect(some).toEqual(['session.usage', 'agent.message'])
})

test('changes, lists, archives and deletes sessions', async () => {
  const { sessions } = client.beta
  const made: string[] = []
  for (let i = 0; i < 3; i++)
    made.unshift(
      (
        await sessions.create({
          agent: { type: 'agent_with_overrides', id: agent, system: 's' },
          environment_id: environment,
          initial_events: i === 0 ? [{ type: 'user.message', content: [{ type: 'text', text: 'x' }] }] : [],
        })
      ).id,
    )
  const [newest = '', , oldest = ''] = made
  expect(
    await sessions.update(newest, {
      title: 'new',
      budget: { type: 'limit', max_list_cost: { amount: '1.5', currency: 'USD' } },
    }),
  ).toMatchObject({ title: 'new', budget: { max_list_cost: { amount: '1.50' } } })
  const seen: string[] = []
  for await (const { id } of sessions.list({ agent_id: agent, limit: 1, statuses: ['idle', 'running'] })) seen.push(id)
  expect(seen.slice(0, 3)).toEqual(made)
  await expect(sessions.archive(oldest)).rejects.toBeInstanceOf(Anthropic.ConflictError)
  expect((await sessions.archive(newest)).archived_at).toMatch(/Z$/)
  expect(await sessions.delete(newest)).toEqual({ id: newest, type: 'session_deleted' })
  await expect(sessions.retrieve(newest)).rejects.toBeInstanceOf(Anthropic.NotFoundError)
  await expect(sessions.events.send(oldest, { events: [] })).rejects.toBeInstanceOf(Anthropic.BadRequestError)
})
