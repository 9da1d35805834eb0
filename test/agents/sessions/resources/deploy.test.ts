/** The tool `deploy`: whose address it makes, twice the same, and what it refuses. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { deployPort } from '#src/resources/agents/tools/deploy.ts'
import { startBerth, type Berth } from '../../../support/berth.ts'
import { idsOf, makeSilentNode, makeVmRow } from '../../../support/makers.ts'

let berth: Berth
let token: string
let node: string
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token('alice', 'acme', 'member')
  node = await makeSilentNode(berth.services.db)
})
afterAll(() => berth.stop())

/** A running VM of hers, and its `deploy`. */
async function makeVm({ usedByVm = false } = {}): Promise<{
  vm: string
  deploy: (name: string, port?: number) => ReturnType<typeof deployPort>
}> {
  const { organizationId, userId } = idsOf(token)
  const vm = await makeVmRow(berth.services.db, token, node)
  return {
    vm,
    deploy: (serviceName, vmPort = 3000) =>
      deployPort(berth.services, { organizationId, ownerUserId: userId, usedByVm }, decodeId('vm', vm) ?? '', {
        serviceName,
        vmPort,
      }),
  }
}
const proxiesOf = async (vm: string): Promise<Record<string, unknown>[]> =>
  (
    await berth.ask(`{ proxies(filter: {vmId: "${vm}"}, first: 10) { nodes { serviceName vmPort externalUrl } } }`, {
      token,
    })
  ).body.data?.['proxies'] as never

test('a port gets an address, which the same call again answers too, as after a crash', async () => {
  const { vm, deploy } = await makeVm()
  const first = await deploy('shop')
  const [, url] = /published at (https:\/\/shop-[0-9a-z]{8}\.\S+),/.exec(first.text) ?? []
  expect([first.isError, url]).toEqual([false, expect.any(String)])
  expect(await deploy('shop')).toEqual(first)
  expect(await proxiesOf(vm)).toEqual({ nodes: [{ serviceName: 'shop', vmPort: 3000, externalUrl: url }] })
})

test('a session that was used with the token inside a VM publishes nothing, as that token may not', async () => {
  const { vm, deploy } = await makeVm({ usedByVm: true })
  expect(await deploy('shop')).toMatchObject({ isError: true, text: expect.stringContaining('token inside a VM') })
  expect(await proxiesOf(vm)).toEqual({ nodes: [] })
})

test('calls at once make one address', async () => {
  const { vm, deploy } = await makeVm()
  const answers = await Promise.all([deploy('shop'), deploy('shop'), deploy('shop')])
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  expect(await proxiesOf(vm)).toMatchObject({ nodes: [{ serviceName: 'shop' }] })
})

test('a name that is taken by another port, and one that is none, are refused in words for the model', async () => {
  const { deploy } = await makeVm()
  await deploy('shop')
  expect(await deploy('shop', 3001)).toMatchObject({ isError: true, text: expect.stringContaining('with port 3000') })
  expect(await deploy('My Shop')).toMatchObject({
    isError: true,
    text: expect.stringMatching(/^Nothing was published: service_name/),
  })
  expect(await deploy('xn--shop')).toMatchObject({ isError: true })
})

test('an owner who may not publish any more publishes nothing', async () => {
  const { vm, deploy } = await makeVm()
  const { organizationId, userId } = idsOf(token)
  const become = (role: string) =>
    berth.services.database.pool.query('update memberships set role = $1 where organization_id = $2 and user_id = $3', [
      role,
      organizationId,
      userId,
    ])
  await become('viewer')
  try {
    expect(await deploy('shop')).toMatchObject({ isError: true, text: expect.stringContaining('no longer a member') })
  } finally {
    await become('member')
  }
  expect(await proxiesOf(vm)).toEqual({ nodes: [] })
})
