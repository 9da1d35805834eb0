/** The way to ports of VMs: the node's real agent, whose machines are servers of the test, and a Postgres that is killed. */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { refusalFrom, targetKey, TargetRefusal, targetOf } from '#src/edge/http/targets.ts'
import { createVmReach, type ReachVm } from '#src/edge/http/vms.ts'
import type { Compute, Machine } from '#src/drivers/compute/machine.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { change, sql } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import type { Route } from '#src/resources/infra/routes.ts'
import { openNodeAgent, type NodeAgent } from '#workers/infra/node-agent.ts'
import type { GuestEnv } from '#workers/infra/guest-env.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { makeSilentNode, makeVmRow, unnotedUse } from '../../support/makers.ts'
import { startTestPostgres, type TestPostgres } from '../../support/postgres.ts'

let postgres: TestPostgres
let berth: Berth
let token: string
let nodeId: string
let agent: NodeAgent
let server: Server
let port: number
let reach: ReachVm
beforeAll(async () => {
  postgres = await startTestPostgres()
  berth = await startBerth({ on: postgres })
  token = await berth.token()
  const { db, sealer } = berth.services
  nodeId = await makeSilentNode(db)
  const socketPath = join(berth.dataDir, 'node.sock')
  await change(db, sql`update nodes set agent_url = ${`unix:${socketPath}`} where id = ${nodeId}`)
  agent = await openNodeAgent({
    services: { sealer } as Background, // no operation is called
    compute: { find: () => ({ postgresPort: null, connectPort }) as unknown as Machine } as Pick<
      Compute,
      'find'
    > as Compute,
    env: {} as GuestEnv,
    use: unnotedUse,
    socketPath,
  })
  server = createServer((socket) => void socket.end('here')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
  reach = createVmReach(berth.services)
})
afterAll(async () => {
  server.close()
  await agent.close()
  await berth.stop()
  await postgres.stop()
})

async function connectPort(to: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port: to, allowHalfOpen: true })
  await once(socket, 'connect')
  return socket
}
const makeVm = async (status: string): Promise<string> =>
  decodeId('vm', await makeVmRow(berth.services.db, token, nodeId, { status })) ?? ''

async function textOf(stream: Duplex): Promise<string> {
  let text = ''
  for await (const piece of stream.setEncoding('utf8') as AsyncIterable<string>) text += piece
  return text
}

test.each([
  ['paused', 'sleeping'],
  ['stopped', 'sleeping'],
  ['starting', 'starting'],
  ['error', 'failing'],
  ['deleting', 'gone'],
  ['deleted', 'gone'],
])('a VM that is %s is said to be %s', async (status, kind) => {
  await expect(reach(await makeVm(status), port)).rejects.toMatchObject({ kind })
})

test('the VM of a database is not there', async () => {
  const vmId = await makeVm('running')
  await change(berth.services.db, sql`update vms set purpose = 'database' where id = ${vmId}`)
  await expect(reach(vmId, port)).rejects.toMatchObject({ kind: 'gone' })
})

test('a VM that does not run is woken by whoever can, once it is known', async () => {
  const vmId = await makeVm('paused')
  const woken: string[] = []
  const waking = createVmReach(berth.services, async (id) => {
    woken.push(id)
    await change(berth.services.db, sql`update vms set status = 'running' where id = ${id}`)
  })
  expect(await textOf(await waking(vmId, port, true))).toBe('here')
  expect(woken).toEqual([vmId])
})

test.each(['paused', 'stopped'])(
  'a VM that is %s stays so where the entry does not wake it, or its owner stopped it',
  async (status) => {
    const vmId = await makeVm(status)
    const waking = createVmReach(berth.services, () => Promise.reject(new Error('it was woken')))
    await expect(waking(vmId, port, status === 'stopped')).rejects.toMatchObject({ kind: 'sleeping' })
  },
)

test.each(['paused', 'stopped'])(
  'a VM that is %s because nobody used it is woken, whatever the entry says',
  async (status) => {
    const vmId = await makeVm(status)
    await change(berth.services.db, sql`update vms set sleeps = true where id = ${vmId}`)
    const waking = createVmReach(berth.services, async (id, evenPaused) => {
      expect(evenPaused).toBe(false)
      await change(berth.services.db, sql`update vms set status = 'running', sleeps = false where id = ${id}`)
    })
    expect(await textOf(await waking(vmId, port))).toBe('here')
  },
)

test('a VM that is known is reached while Postgres is away, and another one is not', async () => {
  const [known, other] = [await makeVm('running'), await makeVm('running')]
  expect(await textOf(await reach(known, port))).toBe('here')
  await postgres.killPostgres()
  await postgres.backendsGone()
  expect(await textOf(await reach(known, port))).toBe('here')
  const refused: unknown = await reach(other, port).catch((error: unknown) => error)
  expect(refusalFrom(refused).kind).toBe('failing')
  await postgres.restartPostgres()
})

test('what somebody outside is told of an error says nothing of the inside', () => {
  const told = [
    new Error('secret'),
    new BerthError('upstream_error', 'secret'),
    new BerthError('vm_unreachable', 'secret'),
  ]
  for (const error of told) expect(refusalFrom(error).message).not.toContain('secret')
  expect(refusalFrom(new BerthError('capacity_unavailable', 'x')).kind).toBe('busy')
  const own = new TargetRefusal('sleeping', 'It sleeps.')
  expect(refusalFrom(own)).toBe(own)
})

test('a route leads to a port of a VM, to a function, or nowhere yet', () => {
  const [vmId, functionId, organizationId] = [newUuid(), newUuid(), newUuid()]
  const none = { organizationId, vmId: null, vmPort: null, functionId: null } as Route
  expect(targetOf(none)).toBeNull()
  const [vm, called] = [targetOf({ ...none, vmId, vmPort: 80 }), targetOf({ ...none, functionId })]
  expect([vm, called]).toEqual([
    { kind: 'vm', vmId, port: 80 },
    { kind: 'function', functionId, organizationId },
  ])
  expect([vm && targetKey(vm), called && targetKey(called)]).toEqual([`${vmId}:80`, functionId])
})
