/** Memories and the token inside a VM: no session that it began, or steered, reads or keeps any. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { agentSessions, message, results, type AgentSessions } from '../../support/agent-sessions.ts'
import { callAgents } from '../../support/agents-service.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { makeVmToken } from '../../support/makers.ts'

let berth: Berth
let token: string
let vmToken: string
let own: AgentSessions
let vms: AgentSessions
let people = 0
beforeAll(async () => {
  berth = await startBerth({ worker: true, settings: { BERTH_VMS: 'off', BERTH_RATE_LIMIT_FACTOR: '100' } })
})
beforeEach(async () => {
  token = await berth.token(`person${people++}`, 'acme', 'member')
  vmToken = await makeVmToken(berth, token)
  own = agentSessions(berth, token)
  vms = agentSessions(berth, vmToken)
  const kept = { body: 'my salary is 4711', category: 'instruction', idempotency_key: 'k' }
  expect((await callAgents(berth, token, 'POST', '/memories', kept)).status).toBe(201)
})
afterAll(() => berth.stop())

const withMemories = { tools: [{ type: 'berth_toolset_v1' }] }
const script =
  '!tool recall {"query": "salary"}\n!tool remember {"body": "planted by a VM", "category": "instruction"}\n!say done'
const bodies = async (): Promise<string[]> =>
  (await callAgents<{ data: { body: string }[] }>(berth, token, 'GET', '/memories')).body.data.map(({ body }) => body)
const refused = [
  { isError: true, text: expect.stringContaining('no such tool') },
  { isError: true, text: expect.stringContaining('no such tool') },
]

test('a session that the token inside a VM began reads no memory and keeps none, and nor does a run', async () => {
  expect((await callAgents(berth, vmToken, 'GET', '/memories')).status).toBe(403)
  const agent = await vms.agent(withMemories)
  expect(results(await vms.rested(await vms.begin(agent, script)))).toEqual(refused)
  const run = await callAgents<{ session_id: string }>(berth, vmToken, 'POST', '/runs', { agent, input: script })
  expect(run.status, JSON.stringify(run.body)).toBe(202)
  expect(results(await vms.rested(run.body.session_id))).toEqual(refused)
  expect(await bodies()).toEqual(['my salary is 4711'])
})

test('a session of the person’s own has no memories any more once the token inside a VM has written to it', async () => {
  const id = await own.begin(await own.agent(withMemories), '!tool recall {"query": "salary"}\n!say done')
  expect(results(await own.rested(id))).toEqual([{ isError: false, text: expect.stringContaining('4711') }])
  await vms.send(id, message(script))
  const answers = results(await own.rested(id))
  expect(answers.slice(1)).toEqual(refused)
  await own.send(id, message(script)) // what the token said is still in the conversation
  expect(results(await own.rested(id)).slice(3)).toEqual(refused)
  expect(await bodies()).toEqual(['my salary is 4711'])
})

test('nor once it has approved a call of a memory tool, or changed the session', async () => {
  const asking = {
    tools: [{ type: 'berth_toolset_v1', default_config: { permission_policy: { type: 'always_ask' } } }],
  }
  const asked = await own.begin(await own.agent(asking), '!tool recall {"query": "salary"}\n!say done')
  await own.rested(asked)
  const use = (await own.get(asked)).stop_reason?.event_ids?.[0]
  await vms.send(asked, { type: 'user.tool_confirmation', tool_use_id: use, result: 'allow' })
  const closed = { isError: true, text: expect.stringContaining('token inside a VM') }
  expect(results(await own.rested(asked))).toEqual([closed])

  const changed = await own.begin(await own.agent(withMemories), null)
  const patched = await callAgents(berth, vmToken, 'POST', `/sessions/${changed}`, { metadata: { a: 'b' } })
  expect(patched.status, JSON.stringify(patched.body)).toBe(200)
  await own.say(changed, script)
  expect(results(await own.rested(changed))).toEqual(refused)
})
