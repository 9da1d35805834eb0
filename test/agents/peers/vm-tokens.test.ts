/** Exchanges and the token inside a VM: it sees none, and no session that it uses asks others or is asked by them. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { agentSessions, message, results, type AgentSessions } from '../../support/agent-sessions.ts'
import { callAgents, refusal } from '../../support/agents-service.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { makeVmToken } from '../../support/makers.ts'
import { ask, peerWorld, type PeerWorld } from './world.ts'

let berth: Berth
let own: PeerWorld
let vmToken: string
let vms: AgentSessions
let people = 0
beforeAll(async () => {
  berth = await startBerth({ worker: true, settings: { BERTH_VMS: 'off', BERTH_RATE_LIMIT_FACTOR: '100' } })
})
beforeEach(async () => {
  const token = await berth.token(`person${people++}`, 'acme', 'member')
  own = peerWorld(berth, token)
  vmToken = await makeVmToken(berth, token)
  vms = agentSessions(berth, vmToken)
})
afterAll(() => berth?.stop())

const weather = { type: 'custom', name: 'weather', description: 'Tells it.', input_schema: { type: 'object' } }
const steered = { isError: true, text: expect.stringContaining('used with the token inside a VM') }

test('the token sees no exchange, and stops none', async () => {
  const asker = await own.begin(await own.asking(), `${ask(await own.idle(), '!say x')}\n!say done`)
  const [exchange] = await own.exchanges(await own.rested(asker))
  const path = `/peer-exchanges/${exchange?.id}`
  for (const [method, at] of [
    ['GET', path],
    ['POST', `${path}/stop`],
    ['GET', `${path}/attachment`],
  ] as const)
    expect(await callAgents(berth, vmToken, method, at)).toMatchObject({ ...refusal(403, 'forbidden'), status: 403 })
  const { body } = await berth.ask(
    `{ peerExchange(id: "${exchange?.id}") { id } session(id: "${asker}") { askedPeerExchanges { nodes { id } } } }`,
    { token: vmToken },
  )
  expect(JSON.stringify(body)).not.toContain('pex_')
})

test('a session that it began is not offered the tool, and its agent cannot call it', async () => {
  const asked = await own.idle()
  const log = await vms.rested(
    await vms.begin(await vms.agent({ tools: [{ type: 'berth_toolset_v1' }] }), `${ask(asked, '!say x')}\n!say done`),
  )
  expect(results(log)).toEqual([{ isError: true, text: expect.stringContaining('no such tool') }])
  expect(await own.log(asked)).toEqual([])
})

test('a session that it has written to is not asked', async () => {
  const asked = await own.idle()
  await vms.send(asked, message('!say mine now'))
  await own.rested(asked)
  const log = await own.rested(await own.begin(await own.asking(), `${ask(asked, 'secret plan')}\n!say done`))
  expect(results(log)).toEqual([steered])
  expect(await own.exchanges(log)).toMatchObject([{ state: 'rejected', error: { type: 'permission_error' } }])
  expect(JSON.stringify(await own.log(asked))).not.toContain('secret plan')
})

test('an answer does not count that it has steered, and a request does not begin once it steers whoever asks or is asked', async () => {
  const asked = await own.idle([weather])
  const asker = await own.begin(await own.asking(), `${ask(asked, '!tool weather {}\n!say steered')}\n!say done`)
  await own.inState(asker, 'input_required')
  const use = (await own.get(asked)).stop_reason?.event_ids?.[0]
  const rain = [{ type: 'text', text: 'rain' }]
  await vms.send(asked, { type: 'user.custom_tool_result', custom_tool_use_id: use, content: rain })
  expect(results(await own.rested(asker))).toEqual([steered])

  const busy = await own.begin(await own.asking([weather]), '!tool weather {}')
  await own.rested(busy)
  const waiting = await own.begin(await own.asking(), `${ask(busy, 'secret plan')}\n!say done`)
  await own.inState(waiting, 'submitted')
  const next = (await own.get(busy)).stop_reason?.event_ids?.[0]
  await vms.send(busy, { type: 'user.custom_tool_result', custom_tool_use_id: next, content: rain })
  const log = await own.rested(waiting)
  expect(results(log)).toEqual([{ isError: true, text: expect.stringContaining('was cancelled before') }])
  expect(JSON.stringify(await own.log(busy))).not.toContain('secret plan')
})

test('a call that it approves asks nobody', async () => {
  const asked = await own.idle()
  const policy = { permission_policy: { type: 'always_ask' } }
  const agent = await own.agent({ tools: [{ type: 'berth_toolset_v1', default_config: policy }] })
  const asker = await own.begin(agent, `${ask(asked, '!say x')}\n!say done`)
  await own.rested(asker)
  const use = (await own.get(asker)).stop_reason?.event_ids?.[0]
  await vms.send(asker, { type: 'user.tool_confirmation', tool_use_id: use, result: 'allow' })
  expect(results(await own.rested(asker))).toEqual([steered])
  expect(await own.log(asked)).toEqual([])
})

test('an agent that it has written is not started to be asked, nor one that was made from it', async () => {
  const written = await vms.agent({ name: 'planted' })
  const changed = await own.agent({ name: 'taken over' })
  const rename = (token: string, id: string, name: string) =>
    callAgents(berth, token, 'POST', `/agents/${id}`, { name })
  expect((await rename(vmToken, changed, 'mine now')).status).toBe(200)
  expect((await rename(own.token, changed, 'renamed')).status).toBe(200)
  for (const agent of [written, changed]) {
    const log = await own.rested(await own.begin(await own.asking(), `${ask(agent, 'secret plan')}\n!say done`))
    expect(results(log)).toEqual([
      { isError: true, text: expect.stringContaining('written with the token inside a VM') },
    ])
    expect(JSON.stringify(log.filter(({ type }) => type === 'agent.tool_result'))).not.toContain('secret plan')
  }
  const listed = await own.rested(await own.begin(await own.asking(), `${ask('?', 'who is there')}\n!say done`))
  const [{ text } = { text: '' }] = results(listed)
  expect(text).toContain('"starts_agent":"helper"')
  for (const agent of [written, changed]) expect(text).not.toContain(agent)
})
