/** Sessions of an organization whose room for them is full: what they do next, and what still reaches them. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { callAgents } from '../../support/agents-service.ts'
import { agentSessions, message, textOf, types, type AgentSessions } from '../../support/agent-sessions.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { clearRoom, fillRoom, nearRooms } from '../../platform/rooms/full-rooms.ts'

let berth: Berth
let token: string
let sessions: AgentSessions
beforeAll(async () => {
  berth = await startBerth({
    worker: true,
    settings: { BERTH_VMS: 'off', BERTH_RATE_LIMIT_FACTOR: '100', ...nearRooms },
  })
  token = await berth.token()
  sessions = agentSessions(berth, token)
})
afterEach(() => clearRoom(berth, token, 'transcripts'))
afterAll(() => berth?.stop())

const fact = { body: 'It rains.', category: 'fact' }
const remembering = (policy: 'always_ask' | 'always_allow'): Promise<string> =>
  sessions.agent({ tools: [{ type: 'berth_toolset_v1', default_config: { permission_policy: { type: policy } } }] })

test('a call is confirmed in a full room, its result is kept, and the turn ends there with the reason; with room it goes on', async () => {
  const id = await sessions.begin(await remembering('always_ask'), `!tool remember ${JSON.stringify(fact)}\n!say kept`)
  const use = (await sessions.rested(id)).find(({ type }) => type === 'agent.tool_use')
  expect(use).toMatchObject({ evaluated_permission: 'ask' })
  await fillRoom(berth, token, 'transcripts')
  await sessions.send(id, { type: 'user.tool_confirmation', tool_use_id: use?.id, result: 'allow' })
  const full = await sessions.rested(id)
  const since = full.slice(full.findIndex(({ type }) => type === 'user.tool_confirmation'))
  expect(types(since).filter((type) => type.startsWith('agent.') || type === 'session.error')).toEqual([
    'agent.tool_result',
    'session.error',
  ])
  expect(since.find(({ type }) => type === 'session.error')).toMatchObject({
    error: { message: expect.stringMatching(/sessions.*100 MB.*BERTH_ORG_TRANSCRIPTS_MB.*Delete/) },
  })
  expect(full.at(-1)).toMatchObject({ type: 'session.status_idle', stop_reason: { type: 'retries_exhausted' } })
  const refused = await callAgents(berth, token, 'POST', `/sessions/${id}/events`, { events: [message('!say on')] })
  expect(refused).toMatchObject({ status: 429 })
  await clearRoom(berth, token, 'transcripts')
  await sessions.say(id, '!say on')
  const log = await sessions.rested(id)
  expect(textOf(log.findLast(({ type }) => type === 'agent.message'))).toBe('on')
})

test('an answer that is under way is kept whole, and a session in a full room is interrupted and deleted', async () => {
  const id = await sessions.begin(await remembering('always_ask'), '!pace 50\n!repeat 10 word')
  await fillRoom(berth, token, 'transcripts')
  await sessions.send(id, { type: 'user.interrupt' })
  await sessions.rested(id)
  expect((await callAgents(berth, token, 'DELETE', `/sessions/${id}`)).status).toBe(204)
})

test('a memory that an agent would keep in a full room is refused to it with the reason', async () => {
  const id = await sessions.begin(await remembering('always_allow'), null)
  await fillRoom(berth, token, 'definitions')
  await sessions.say(id, `!tool remember ${JSON.stringify(fact)}\n!say sorry`)
  const log = await sessions.rested(id)
  await clearRoom(berth, token, 'definitions')
  expect(textOf(log.find(({ type }) => type === 'agent.tool_result'))).toMatch(
    /Nothing was kept.*BERTH_ORG_DEFINITIONS_MB/,
  )
})
