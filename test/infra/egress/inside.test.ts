/** Names of a machine's own network: they lead to this installation, for that machine alone. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { EgressWorld, otherVm, vm } from '../../support/egress-world.ts'

let world: EgressWorld
let asked: [string, string, number][] = []
let isAway = false
const inside = createServer((socket) => void socket.end('inside'))

beforeEach(async () => {
  asked = []
  isAway = false
  inside.listen(0, '127.0.0.1')
  await once(inside, 'listening')
  const address = inside.address()
  const port = typeof address === 'object' && address ? address.port : 0
  world = await EgressWorld.start(
    {},
    {
      findInside: async (machine, host, wanted) => {
        asked.push([machine, host, wanted])
        if (isAway) throw new Error('the database is away')
        return machine === vm && host === 'backend' && wanted === 5432 ? { host: '127.0.0.1', port } : null
      },
      onError: () => undefined, // said on purpose
    },
  )
})
afterEach(() => {
  world.close()
  inside.close()
})

const reach = async (target: string): Promise<string> => {
  const socket = await world.guestSocket()
  socket.write(`CONNECT ${target} HTTP/1.1\r\n\r\n`)
  return text(socket)
}

test('a machine reaches its own network by name, and no other port of it', async () => {
  expect(await reach('backend:5432')).toMatch(/^HTTP\/1\.1 200 [^]*inside$/)
  expect(await reach('backend:5433')).toMatch(/^HTTP\/1\.1 50\d/)
  expect(world.egress.reached(vm)).toContainEqual(expect.objectContaining({ host: 'backend', verdict: 'allowed' }))
})

test('another machine does not, and neither does one whose policy refuses the name', async () => {
  world.machine = otherVm
  expect(await reach('backend:5432')).toMatch(/^HTTP\/1\.1 50\d/)
  world.machine = vm
  world.egress.setPolicy(vm, { type: 'limited', allowedHosts: ['open.test'], allowPackageManagers: false })
  expect(await reach('backend:5432')).toMatch(/^HTTP\/1\.1 403 [^\r]*host not allowed/)
  world.egress.setPolicy(vm, { type: 'limited', allowedHosts: ['backend'], allowPackageManagers: false })
  expect(await reach('backend:5432')).toMatch(/inside$/)
  world.egress.setPolicy(vm, { type: 'none' })
  expect(await reach('backend:5432')).toMatch(/^HTTP\/1\.1 403 /)
})

test('names with a dot are not looked up, and what cannot be looked up is 503', async () => {
  await reach('backend.open.test:5432')
  expect(asked).toEqual([])
  isAway = true
  expect(await reach('backend:5432')).toMatch(/^HTTP\/1\.1 503 [^\r]*network unknown/)
})
