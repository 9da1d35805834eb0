/** Webhook endpoints and what they are told, through GraphQL and with a real receiver. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deliverWebhooks } from '#workers/infra/webhooks.ts'
import { agentSessions } from '../support/agent-sessions.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { startRowWorker } from '../support/row-worker.ts'
import { until } from '../support/until.ts'
import { startReceiver, unwrap, webhooksOf, type Receiver } from './webhooks/receiver.ts'

let berth: Berth
let receiver: Receiver
let token: string
let mine: ReturnType<typeof webhooksOf>
beforeAll(async () => {
  receiver = await startReceiver()
  berth = await startBerth({ settings: { BERTH_PRIVATE_HOSTS: receiver.host, BERTH_RATE_LIMIT_FACTOR: '100' } })
  deliverWebhooks(berth.services)
  await startRowWorker(berth.services, { memoryMb: 65_536 })
  token = await berth.token()
  mine = webhooksOf(berth, token)
})
afterAll(async () => {
  await berth?.stop()
  await receiver?.close()
})

test('an endpoint gets what it wants, signed so that Anthropic’s client and Standard Webhooks verify it', async () => {
  const { webhookEndpoint, secret } = await mine.create({
    url: receiver.url('/agents'),
    eventTypes: ['AGENT_CREATED', 'AGENT_DELETED'],
  })
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  const agent = { id: await agentSessions(berth, token).agent() }
  const path = `/agents/v1/agents/${agent.id}`
  expect((await berth.call('PATCH', path, { token, body: { version: 1, name: 'untold' } })).status).toBe(200)
  expect((await berth.call('DELETE', path, { token })).status).toBe(204)
  const received = await receiver.got('/agents', 2)
  const events = received.map((one) => unwrap(one, secret)).toSorted((a, b) => a.id.localeCompare(b.id))
  expect(events.map(({ data }) => [data.type, data.id])).toEqual([
    ['agent.created', agent.id],
    ['agent.deleted', agent.id],
  ])
  for (const one of received) {
    const { shown } = await mine.done<{ shown: { organizationId: string } }>(
      `{ shown: webhookEndpoint(id: "${webhookEndpoint.id}") { organizationId } }`,
    )
    expect(unwrap(one, secret)).toEqual({
      type: 'event',
      id: one.headers['webhook-id'],
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      data: { type: expect.stringMatching(/^agent\./), id: agent.id, organization_id: shown.organizationId },
    })
    expect(one.headers).toMatchObject({ 'content-type': 'application/json', 'user-agent': 'Berth' })
    expect(() => unwrap({ ...one, body: one.body.replace('agent', 'agemt') }, secret)).toThrow()
    expect(() => unwrap(one, `whsec_${Buffer.alloc(32).toString('base64')}`)).toThrow()
  }
  await until(
    'both are recorded',
    async () => (await mine.deliveries(webhookEndpoint.id, { statuses: ['SUCCEEDED'] })).totalCount === 2,
  )
  expect((await mine.deliveries(webhookEndpoint.id)).nodes).toMatchObject([
    {
      status: 'SUCCEEDED',
      attemptCount: 1,
      responseStatus: 200,
      nextAttemptAt: null,
      event: { type: 'AGENT_DELETED' },
      attempts: [{ number: 1, responseStatus: 200, problem: null, answer: null }],
    },
    { status: 'SUCCEEDED', event: { type: 'AGENT_CREATED', subjectId: agent.id } },
  ])
})

test('a VM’s life is told, and an endpoint of another organization hears nothing of it', async () => {
  const theirs = webhooksOf(berth, await berth.token('eve', 'evil'))
  await theirs.create({ url: receiver.url('/evil') })
  const { secret, webhookEndpoint } = await mine.create({
    url: receiver.url('/vms'),
    eventTypes: ['VM_CREATED', 'VM_RUNNING', 'VM_STOPPED', 'VM_DELETED'],
  })
  const { body } = await berth.call<{ vm_id: string }>('POST', '/api/v1/vms', { token, body: {} })
  const vm = { id: body.vm_id }
  await receiver.got('/vms', 2)
  await mine.done(`mutation { stopVm(input: { id: "${vm.id}" }) { vm { id } } }`)
  await receiver.got('/vms', 3)
  await berth.call('DELETE', `/api/v1/vms/${vm.id}`, { token })
  const received = await receiver.got('/vms', 4)
  expect(new Set(received.map((one) => `${unwrap(one, secret).data.type} ${unwrap(one, secret).data.id}`))).toEqual(
    new Set(['vm.created', 'vm.running', 'vm.stopped', 'vm.deleted'].map((type) => `${type} ${vm.id}`)),
  )
  expect(receiver.at('/evil')).toEqual([])
  await mine.remove(webhookEndpoint.id)
  await expect(mine.endpoint(webhookEndpoint.id)).rejects.toThrow('There is no such webhook endpoint')
})

test('a deployment’s life is told, and that its runs started', async () => {
  const { secret } = await mine.create({
    url: receiver.url('/deployments'),
    eventTypes: [
      'DEPLOYMENT_CREATED',
      'DEPLOYMENT_PAUSED',
      'DEPLOYMENT_UNPAUSED',
      'DEPLOYMENT_RUN_STARTED',
      'DEPLOYMENT_DELETED',
    ],
  })
  const agent = await agentSessions(berth, token).agent()
  const call = async (path: string, body: object) =>
    berth.call<{ id: string }>('POST', `/agents/v1/deployments${path}`, { token, body })
  const { body: made } = await call('', { name: 'nightly', agent, kickoff: 'Look.' })
  await receiver.got('/deployments', 1)
  await mine.done(`mutation { updateDeployment(input: { id: "${made.id}", status: PAUSED }) { deployment { id } } }`)
  await mine.done(`mutation { updateDeployment(input: { id: "${made.id}", status: ACTIVE }) { deployment { id } } }`)
  expect((await call(`/${made.id}/run`, {})).status).toBe(202)
  await berth.call('DELETE', `/agents/v1/deployments/${made.id}`, { token })
  const told = (await receiver.got('/deployments', 5)).map((one) => unwrap(one, secret).data)
  expect(told.map(({ type }) => type).toSorted()).toEqual([
    'deployment.created',
    'deployment.deleted',
    'deployment.paused',
    'deployment.unpaused',
    'deployment_run.started',
  ])
  expect(new Set(told.filter(({ type }) => type !== 'deployment_run.started').map(({ id }) => id))).toEqual(
    new Set([made.id]),
  )
})
