/** Tunnels to the Postgres of a VM: the node's real agent, and a machine whose port is a server of the test's own. */
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Compute, Machine } from '#src/drivers/compute/machine.ts'
import { nodeClient, type NodeClient } from '#src/drivers/node.ts'
import { BerthError } from '#src/platform/errors.ts'
import { newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { createSealer } from '#src/platform/secrets.ts'
import type { Background } from '#src/platform/services.ts'
import { nodeTokenPurpose } from '#src/resources/infra/vms/access.ts'
import { openNodeAgent, type NodeAgent } from '#workers/infra/node-agent.ts'
import type { GuestEnv } from '#workers/infra/guest-env.ts'
import { vmIdOf } from '#workers/infra/machine-specs.ts'
import { unnotedUse } from '../support/makers.ts'
import { until } from '../support/until.ts'

const sealer = createSealer([Buffer.alloc(32, 1)])
const mebibyte = 1024 ** 2
const [vmId, otherVmId, plainVmId] = [newUuid(), newUuid(), newUuid()]

let folder: string
let agent: NodeAgent | undefined
let client: NodeClient
let postgres: Server
let accepted: Socket[]
let onConnection: (socket: Socket) => void
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-tunnel-'))
  accepted = []
  onConnection = (socket) => void socket.pipe(socket)
  postgres = createServer({ allowHalfOpen: true }, (socket) => {
    accepted.push(socket)
    socket.on('error', () => socket.destroy())
    onConnection(socket)
  }).listen(0, '127.0.0.1')
  await once(postgres, 'listening')
  await startAgent()
  client = clientWith(sealer.derive(nodeTokenPurpose))
})
afterEach(async () => {
  await agent?.close()
  for (const socket of accepted) socket.destroy()
  postgres.close()
  rmSync(folder, { recursive: true })
})

const clientWith = (token: string): NodeClient => nodeClient(`unix:${join(folder, 'node.sock')}`, token)

async function startAgent(port = (postgres.address() as AddressInfo).port): Promise<void> {
  const machineOf = (postgresPort: number | null): Machine =>
    ({ address: '127.0.0.1', postgresPort, connectPort }) as Machine // what tunnels use of one
  const machines = new Map([
    [vmId, machineOf(port)],
    [otherVmId, machineOf(port)],
    [plainVmId, machineOf(null)],
  ])
  const compute = { find: (id) => machines.get(vmIdOf(id)) } as Pick<Compute, 'find'> as Compute
  agent = await openNodeAgent({
    services: { sealer } as Background, // no operation is called
    compute,
    env: {} as GuestEnv,
    use: unnotedUse,
    socketPath: join(folder, 'node.sock'),
  })
}

/** What a machine does: here its ports are those of the test. */
async function connectPort(port: number): Promise<Duplex> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true })
  await once(socket, 'connect').catch(() => {
    throw new BerthError('upstream_error', 'Nothing listens.')
  })
  return socket
}

/** Everything until this direction's end; the other one stays open. */
async function readAll(stream: Duplex): Promise<Buffer> {
  const pieces: Buffer[] = []
  stream.on('data', (piece: Buffer) => pieces.push(piece))
  await once(stream, 'end')
  return Buffer.concat(pieces)
}

/** The server's end of the next connection. */
function nextAccepted(): Promise<Socket> {
  const { promise, resolve } = Promise.withResolvers<Socket>()
  onConnection = resolve
  return promise
}

async function open(): Promise<[tunnel: Duplex, server: Socket]> {
  const server = nextAccepted()
  const tunnel = await client.tunnel({ vmId })
  tunnel.on('error', () => undefined) // 'close' follows
  return [tunnel, await server]
}

test('bytes pass unchanged both ways, also the answer to a caller that has ended its side', async () => {
  const sent = Buffer.alloc(5 * mebibyte, 'abcdefg')
  onConnection = (socket) => {
    // The answer is sent after the question's end only.
    void readAll(socket).then((got) => socket.end(got.reverse()))
  }
  const tunnel = await client.tunnel({ vmId })
  tunnel.end(sent)
  expect((await readAll(tunnel)).equals(Buffer.from(sent).reverse())).toBe(true)
})

test.each([
  ['a wrong token', 'unauthorized', (): Promise<Duplex> => clientWith('wrong').tunnel({ vmId })],
  ['a VM that is not on this node', 'vm_unreachable', () => client.tunnel({ vmId: newUuid() })],
  ['a VM without Postgres', 'vm_unreachable', () => client.tunnel({ vmId: plainVmId })],
  ['another port of a database’s VM', 'vm_unreachable', () => client.tunnel({ vmId, port: 22 })],
  ['what is no port', 'invalid_request', () => client.tunnel({ vmId: plainVmId, port: 65_536 })],
  ['a port of a VM at which nothing listens', 'upstream_error', () => client.tunnel({ vmId: plainVmId, port: 1 })],
  ['what is no id of a VM', 'invalid_request', () => client.tunnel({ vmId: '../exec' })],
])('%s is refused, and nothing is connected', async (_, code, ask) => {
  await expect(ask()).rejects.toMatchObject({ code })
  expect(accepted).toEqual([])
})

test('a VM without a database is reached at any port, and its tunnels have room of their own', async () => {
  const port = (postgres.address() as AddressInfo).port
  const tunnels = await Promise.all(
    Array.from({ length: limits.portTunnelsPerVm }, () => client.tunnel({ vmId: plainVmId, port })),
  )
  await expect(client.tunnel({ vmId: plainVmId, port })).rejects.toMatchObject({ code: 'capacity_unavailable' })
  const [tunnel] = tunnels
  tunnel?.end('hello')
  expect(String(await readAll(tunnel!))).toBe('hello') // there is at least one
  for (const each of [...tunnels, await client.tunnel({ vmId })]) each.destroy()
})

test('a machine whose port is closed is unreachable', async () => {
  await agent?.close()
  const closed = createServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const { port } = closed.address() as AddressInfo
  closed.close()
  await startAgent(port)
  await expect(client.tunnel({ vmId })).rejects.toMatchObject({ code: 'vm_unreachable' })
})

test.each(['machine', 'caller'])('a %s that reads slowly slows the sender', async (slow) => {
  const [tunnel, server] = await open()
  const [from, to] = slow === 'machine' ? [tunnel, server] : [server, tunnel]
  to.pause()
  let written = 0
  const piece = Buffer.alloc(mebibyte)
  const write = (): void =>
    void from.write(piece, (error) => {
      if (error) return
      written++
      write()
    })
  write()
  let before = -1
  const isHeld = (): boolean => written === before || ((before = written), false)
  await until('the sender is held', isHeld, 20_000, 300)
  const heldMax = 32 // what sockets and streams hold in between, with room to spare
  expect(written).toBeLessThan(heldMax)
  to.resume()
  await until('it goes on', () => written > 2 * heldMax)
  tunnel.destroy()
})

test('when one end breaks, the other is closed', async () => {
  const [tunnel, server] = await open()
  tunnel.destroy()
  await once(server.resume(), 'end')
  server.end()
  const [second, secondServer] = await open()
  secondServer.resetAndDestroy()
  await once(second.resume(), 'close')
})

test('what a machine sent before it closed the connection still arrives', async () => {
  const [tunnel, server] = await open()
  tunnel.end()
  await once(server.resume(), 'end')
  server.end(Buffer.alloc(3 * mebibyte, 'x'))
  expect((await readAll(tunnel)).length).toBe(3 * mebibyte)
})

test(`a VM has at most ${limits.tunnelsPerVm} tunnels, which does not affect another VM`, async () => {
  const tunnels = await Promise.all(Array.from({ length: limits.tunnelsPerVm }, () => client.tunnel({ vmId })))
  await expect(client.tunnel({ vmId })).rejects.toMatchObject({ code: 'capacity_unavailable' })
  tunnels.push(await client.tunnel({ vmId: otherVmId }))
  const last = accepted.length
  tunnels.shift()?.destroy()
  await until('one is free', async () => {
    const one = await client.tunnel({ vmId }).catch(() => undefined)
    one?.destroy()
    return one !== undefined
  })
  expect(accepted.length).toBeGreaterThan(last)
  for (const tunnel of tunnels) tunnel.destroy()
})

test('a worker that ends cuts its tunnels, and a new tunnel waits for the next worker', async () => {
  const [tunnel, server] = await open()
  const cut = Promise.all([once(tunnel.resume(), 'close'), once(server.resume(), 'end')])
  await agent?.close()
  agent = undefined
  await cut
  onConnection = (socket) => void socket.pipe(socket)
  const waiting = client.tunnel({ vmId })
  await startAgent()
  const next = await waiting
  next.end('again')
  expect(String(await readAll(next))).toBe('again')
})
