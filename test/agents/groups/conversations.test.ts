/** Conversations in groups: who is asked, what members are told, and how they ask each other. The built-in model follows scripts. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { agentSessions, textOf, type AgentSessions } from '../../support/agent-sessions.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { groupWorld, saidIn, type GroupWorld } from './world.ts'

let berth: Berth
let world: GroupWorld
let sessions: AgentSessions
beforeAll(async () => {
  berth = await startBerth({ worker: true, settings: { BERTH_VMS: 'off', BERTH_RATE_LIMIT_FACTOR: '100' } })
  world = await groupWorld(berth, await berth.token())
  sessions = agentSessions(berth, world.token)
})
afterAll(() => berth?.stop())

/** What a session was told by its user, message by message. */
const told = async (session: string): Promise<string[]> =>
  (await sessions.log(session)).filter(({ type }) => type === 'user.message').map(textOf)

test('a message is answered by everybody, and each answer is a message of the group', async () => {
  const group = await world.group('Coder', 'Writer')
  expect(group).toMatchObject({ name: 'coder, writer', revision: 1, next_sequence: 1 })
  const { message, runs } = await world.say(group.id, '!say Hello to you.')
  expect(message).toMatchObject({ sequence: 1, author: { type: 'user', handle: 'user' }, recipient_ids: group.member_ids, run_id: null })
  expect(runs.map(({ session_id: id }) => id)).toEqual(group.member_ids)
  const { transcript, runs: ended, revision } = await world.rested(group.id)
  expect(transcript.map(({ sequence }) => sequence)).toEqual([1, 2, 3])
  expect(saidIn({ transcript }).sort()).toEqual(['coder: Hello to you.', 'user: !say Hello to you.', 'writer: Hello to you.'])
  for (const run of ended) {
    expect(run).toMatchObject({ status: 'completed', message_id: message.id, error: null, reply: { text: 'Hello to you.', parts: [{ type: 'text', text: 'Hello to you.' }] } })
    expect(run.usage.output_tokens).toBeGreaterThan(0)
    expect(run.revision).toBeLessThanOrEqual(revision)
    expect(transcript.find(({ run_id: id }) => id === run.run_id)?.id).toBe(run.reply?.message_id)
  }
})
