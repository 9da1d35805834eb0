/** VMs that nobody uses: what is asked for, which are due, and who wakes them. Their worker only changes rows. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId, encodeId, newUuid } from '#src/platform/ids.ts'
import { change, findAll, sql } from '#src/platform/postgres.ts'
import { idleVmLimits } from '#src/resources/infra/vms/limits.ts'
import { findVmRow, type Vm, type VmEvent } from '#src/resources/infra/vms/rows.ts'
import { findIdleVms, putVmToSleep, recordVmUse } from '#src/resources/infra/vms/sleep.ts'
import { moveVm } from '#src/resources/infra/vms/states.ts'
import { isWakeable, wakeVm } from '#src/resources/infra/vms/waking.ts'
import { createVmUse } from '#workers/infra/vms/use.ts'
import { startStubNode, type StubNode } from '../../contract/stub-node.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { makeVmRow } from '../../support/makers.ts'
import { moveRows, startRowWorker } from '../../support/row-worker.ts'
import { until } from '../../support/until.ts'
import { TunnelClient } from '../tunnels/clients.ts'

let berth: Berth
let token: string
let node: StubNode
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token()
  await startRowWorker(berth.services, { memoryMb: 100_000 })
  node = await startStubNode(berth.services.db)
  await change(
    berth.services.db,
    sql`update nodes set memory_mb = 100000, heartbeat_at = now() + interval '1 hour' where id = ${node.id}`,
  )
  await moveRows(berth.services, node.id)
})
afterAll(async () => {
  await berth.stop()
  await node.stop()
})

type Body = Record<string, unknown> & { vm_id: string; message: string }
const call = (method: string, path: string, body?: unknown) =>
  berth.call<Body>(method, `/api/v1/vms${path}`, { token, ...(body === undefined ? {} : { body }) })
/** A VM that was last used an hour ago. */
async function makeVm(
  changes: Partial<Pick<Vm, 'status' | 'idleSeconds' | 'idleAction' | 'sleeps'>> = {},
): Promise<string> {
  const { status = 'running', idleSeconds = 10, idleAction = 'pause', sleeps = false } = changes
  const id = decodeId('vm', await makeVmRow(berth.services.db, token, node.id, { status })) ?? ''
  await change(
    berth.services.db,
    sql`update vms set idle_seconds = ${idleSeconds}, idle_action = ${idleAction}, sleeps = ${sleeps}, active_at = now() - interval '1 hour', started_at = now() - interval '1 hour' where id = ${id}`,
  )
  return id
}
const rowOf = async (id: string): Promise<Vm> => (await findVmRow(berth.services.db, id))!
const stateOf = async (id: string) => {
  const { status, desiredStatus, sleeps, statusReason } = await rowOf(id)
  return { status, desiredStatus, sleeps, statusReason }
}
const run = (id: string, more: object = {}) =>
  call('POST', `/${encodeId('vm', id)}/envd/exec`, { command: 'true', ...more })
/** Puts a VM to sleep once Postgres has run for its idle time. */
async function sleepNow(id: string): Promise<boolean> {
  await until('Postgres has run for as long', async () => {
    const [{ old } = { old: false }] = await findAll<{ old: boolean }>(
      berth.services.db,
      sql`select pg_postmaster_start_time() < now() - interval '10 seconds' as old`,
    )
    return old
  })
  return putVmToSleep(berth.services, id)
}
async function eventsOf(id: string): Promise<(string | null)[][]> {
  const events = await findAll<Pick<VmEvent, 'status' | 'statusReason'>>(
    berth.services.db,
    sql`select status, status_reason from vm_events where vm_id = ${id} order by position`,
  )
  return events.map(({ status, statusReason }) => [status, statusReason])
}

async function shownAs(vmId: string): Promise<unknown> {
  const query = `{ vm(id: "${vmId}") { idleSeconds idleAction sleeps } }`
  return (await berth.call<{ data: { vm: unknown } }>('POST', '/graphql', { token, body: { query } })).body.data.vm
}

test('a new VM never sleeps by itself, unless it is asked for; and that changes', async () => {
  const usual = await call('POST', '', {})
  expect(await shownAs(usual.body.vm_id)).toEqual({ idleSeconds: null, idleAction: 'PAUSE', sleeps: false })
  const made = await call('POST', '', { idle_seconds: 60, idle_action: 'stop' })
  expect(await shownAs(made.body.vm_id)).toEqual({ idleSeconds: 60, idleAction: 'STOP', sleeps: false })
  const patch = async (body: object) => {
    const answer = await call('PATCH', `/${made.body.vm_id}`, body)
    return [answer.status, answer.body['idle_seconds'], answer.body['idle_action']]
  }
  expect(await patch({ name: 'other' })).toEqual([200, 60, 'stop'])
  expect(await patch({ idle_seconds: idleVmLimits.idleSecondsMax })).toEqual([200, idleVmLimits.idleSecondsMax, 'stop'])
  expect(await patch({ idle_action: 'pause' })).toEqual([200, idleVmLimits.idleSecondsMax, 'pause'])
  expect(await patch({ idle_action: null })).toEqual([200, idleVmLimits.idleSecondsMax, 'pause'])
  expect(await patch({ idle_seconds: null })).toEqual([200, null, 'pause'])
})

test.each([
  { idle_seconds: idleVmLimits.idleSecondsMin - 1 },
  { idle_seconds: idleVmLimits.idleSecondsMax + 1 },
  { idle_seconds: 0 },
  { idle_seconds: 10.5 },
  { idle_seconds: '60' },
  { idle_action: 'sleep' },
])('an idle time of %j is refused with its name, for a new VM and for one that is there', async (wrong) => {
  const vm = encodeId('vm', await makeVm())
  for (const answer of [await call('POST', '', wrong), await call('PATCH', `/${vm}`, wrong)])
    expect([answer.status, answer.body.message]).toEqual([400, expect.stringContaining(Object.keys(wrong)[0] ?? '')])
})

test('another organization’s VM has no idle time for me', async () => {
  const eve = await berth.token('eve', 'evil')
  const vm = encodeId('vm', await makeVm())
  const answer = await berth.call('PATCH', `/api/v1/vms/${vm}`, { token: eve, body: { idle_seconds: 60 } })
  expect(answer.status).toBe(404)
})

test('a VM is due when it has an idle time, runs, and nobody has used it for so long', async () => {
  const { db } = berth.services
  const names = ['due', 'used', 'changed', 'started', 'never', 'resting', 'timed', 'server'] as const
  const ids = Object.fromEntries(
    await Promise.all(
      names.map(async (name) => [
        name,
        await makeVm(name === 'never' ? { idleSeconds: null } : { status: name === 'resting' ? 'paused' : 'running' }),
      ]),
    ),
  ) as Record<(typeof names)[number], string>
  const dueNow = async () => {
    const found = (await findIdleVms(db, node.id)).map(({ id }) => id)
    return names.filter((name) => found.includes(ids[name]))
  }
  await until('Postgres has run for as long', async () => (await dueNow()).length > 0)
  await recordVmUse(db, [ids.used, ids.never])
  expect((await call('PATCH', `/${encodeId('vm', ids.changed)}`, { name: 'changed' })).status).toBe(200)
  await change(db, sql`update vms set started_at = now() where id = ${ids.started}`)
  for (const [name, timeout] of [
    ['timed', 60],
    ['server', 0],
  ] as const)
    expect((await run(ids[name], { background: true, timeout })).status).toBe(200)
  expect(await dueNow()).toEqual(['due', 'timed', 'server'])
  for (const name of names) await putVmToSleep(berth.services, ids[name])
  const asleep = await Promise.all(names.map(async (name) => (await rowOf(ids[name])).sleeps))
  expect(names.filter((_, at) => asleep[at])).toEqual(['due', 'server']) // a process with a time of its own is somebody’s work
})

test.each([
  ['pause', 'paused', 'resuming'],
  ['stop', 'stopped', 'starting'],
] as const)(
  'an idle VM whose action is %s is %s, and twenty commands at once wake it once',
  async (idleAction, rests, rises) => {
    const id = await makeVm({ idleAction })
    expect(await sleepNow(id)).toBe(true)
    await until('it rests', async () => (await rowOf(id)).status === rests)
    expect(await stateOf(id)).toMatchObject({ desiredStatus: rests, sleeps: true })
    expect(await sleepNow(id), 'twice').toBe(false)
    const answers = await Promise.all(Array.from({ length: 20 }, () => run(id)))
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(await stateOf(id)).toMatchObject({ status: 'running', desiredStatus: 'running', sleeps: false })
    expect(await eventsOf(id)).toEqual([
      ['running', null],
      [rests === 'paused' ? 'pausing' : 'stopping', 'Nobody used it.'],
      [rests, null],
      [rises, 'A request came in.'],
      ['running', null],
    ])
  },
)

test.each(['paused', 'stopped'] as const)('a VM that its user wants %s is not woken by a command', async (status) => {
  const id = await makeVm({ status })
  expect((await run(id)).status).toBe(400)
  expect(await stateOf(id)).toMatchObject({ status, sleeps: false })
})

test.each([
  ['paused', 'pause'],
  ['stopped', 'stop'],
] as const)('a VM that is %s because it was idle stays so once its user says %s', async (status, verb) => {
  const id = await makeVm({ status, sleeps: true })
  expect((await call('POST', `/${encodeId('vm', id)}/${verb}`)).status).toBe(200)
  expect(await stateOf(id)).toMatchObject({ status, sleeps: false })
  expect((await eventsOf(id)).length).toBe(2)
  expect((await run(id)).status).toBe(400)
  expect((await wakeVm(berth.services, id))?.status).toBe(status)
})

test('a command that comes while a VM falls asleep waits until it has, and wakes it', async () => {
  const id = await makeVm({ status: 'pausing', sleeps: true })
  const answer = run(id)
  await moveVm(berth.services.db, berth.services, id, 'paused')
  expect((await answer).status).toBe(200)
})

test('a command that its node refused because the VM fell asleep is asked again when the VM is awake', async () => {
  const id = await makeVm()
  const release = node.hold()
  const before = node.asked.length
  const answer = run(id)
  await until('the node was asked', () => node.asked.length > before)
  await sleepNow(id)
  await until('it sleeps', async () => (await rowOf(id)).status === 'paused')
  const given = [{ refuse: 502, code: 'vm_unreachable' }]
  Object.defineProperty(node, 'answer', { get: () => given.shift() ?? { stdout: 'awake' } })
  release()
  expect([(await answer).body['stdout'], node.asked.length - before]).toEqual(['awake', 2])
})

test('a tunnel that its node refused because the VM fell asleep is asked for again when the VM is awake', async () => {
  const id = await makeVm()
  const asked: Duplex[] = []
  const agent = createServer().on('upgrade', (_request, socket) => void asked.push(socket))
  agent.listen(0, '127.0.0.1')
  await once(agent, 'listening')
  const [{ agentUrl } = { agentUrl: '' }] = await findAll<{ agentUrl: string }>(
    berth.services.db,
    sql`select agent_url from nodes where id = ${node.id}`,
  )
  const answerAt = (url: string) =>
    change(berth.services.db, sql`update nodes set agent_url = ${url} where id = ${node.id}`)
  await answerAt(`http://127.0.0.1:${(agent.address() as AddressInfo).port}`) // it listens at one
  const ticket = `mutation { createTunnelTicket(input: { vmId: "${encodeId('vm', id)}", port: 80 }) { ticket } }`
  const { body } = await berth.ask(ticket, { token })
  const made = body.data?.['createTunnelTicket'] as { ticket: string }
  const client = new TunnelClient(berth.url)
  const opening = client.open(made.ticket)
  await until('the node was asked', () => asked.length === 1)
  await sleepNow(id)
  await until('it sleeps', async () => (await rowOf(id)).status === 'paused')
  const refusal = JSON.stringify({ code: 'vm_unreachable', message: 'The VM is falling asleep.' })
  asked[0]?.end(`HTTP/1.1 502 Refused\r\nConnection: close\r\nContent-Length: ${refusal.length}\r\n\r\n${refusal}`)
  await until('the node was asked again', () => asked.length === 2)
  asked[1]?.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: berth-tunnel\r\n\r\n')
  expect((await opening).told).toEqual([{ type: 'opened' }])
  expect((await rowOf(id)).status).toBe('running')
  client.socket.terminate()
  asked[1]?.destroy()
  agent.close()
  await answerAt(agentUrl)
})

test('a VM that is deleted while a command waits for it is not there any more', async () => {
  const id = await makeVm({ status: 'pausing', sleeps: true })
  const answer = run(id)
  expect((await call('DELETE', `/${encodeId('vm', id)}`)).status).toBe(204)
  expect([400, 404]).toContain((await answer).status)
  await until('it is deleted', async () => (await rowOf(id)).status === 'deleted')
  expect((await wakeVm(berth.services, id))?.status).toBe('deleted')
})

test('a stranger wakes nothing, and neither does who reads what a process has printed', async () => {
  const id = await makeVm()
  const { body } = await run(id, { background: true })
  await change(berth.services.db, sql`update vms set status = 'paused', sleeps = true where id = ${id}`)
  const eve = await berth.token('eve', 'evil')
  const path = `/api/v1/vms/${encodeId('vm', id)}/envd`
  expect((await berth.call('POST', `${path}/exec`, { token: eve, body: { command: 'true' } })).status).toBe(404)
  expect((await berth.call('GET', `${path}/processes/${String(body['process_id'])}`, { token })).status).toBe(200)
  expect(await stateOf(id)).toMatchObject({ status: 'paused', sleeps: true })
})

test.each([
  ['paused', true, false, true],
  ['stopped', true, false, true],
  ['pausing', true, false, true],
  ['stopping', true, false, true],
  ['paused', false, false, false],
  ['paused', false, true, true],
  ['stopped', false, true, false],
  ['error', true, true, false],
  ['deleting', true, true, false],
  ['resuming', false, false, true],
] as const)('a VM that is %s (asleep: %s, even paused: %s) may be woken: %s', (status, sleeps, evenPaused, may) => {
  expect(isWakeable({ status, sleeps }, evenPaused)).toBe(may)
})

test('nobody begins to use a VM while it falls asleep, and one that is in use does not', async () => {
  const use = createVmUse(berth.services.db)
  const [a, b] = [newUuid(), newUuid()]
  let asked = 0
  const decide = (falls: boolean) => async () => {
    asked += 1
    return falls
  }
  ;(await use.begin(a))()
  await use.close(a, decide(true)) // it was used a moment ago
  expect(asked).toBe(0)
  const decision = Promise.withResolvers<boolean>()
  const closing = use.close(b, () => decision.promise)
  const first = use.begin(b)
  decision.resolve(false)
  await closing
  ;(await first)()
  const other = newUuid()
  await use.close(other, decide(true))
  await expect(use.begin(other)).rejects.toMatchObject({ code: 'vm_unreachable' })
  use.open(other)
  ;(await use.begin(other))()
  const failing = newUuid()
  await expect(use.close(failing, () => Promise.reject(new Error('Postgres is away')))).rejects.toThrow('away')
  ;(await use.begin(failing))()
  use.end()
})

test('use is written once for many requests, and only for VMs that can sleep', async () => {
  const [id, never] = [await makeVm(), await makeVm({ idleSeconds: null })]
  const before = await Promise.all([rowOf(id), rowOf(never)])
  await recordVmUse(berth.services.db, [id, never])
  const after = await Promise.all([rowOf(id), rowOf(never)])
  await recordVmUse(berth.services.db, [id, never])
  expect((await rowOf(id)).activeAt).toBe(after[0].activeAt)
  expect(after.map(({ activeAt }, at) => activeAt === before[at]?.activeAt)).toEqual([false, true])
})
