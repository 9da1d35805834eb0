/** A VM whose machine does not come up: whoever watches it is told at each attempt, not after the last. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { findAll, sql } from '#src/platform/postgres.ts'
import { reconcile, type VmWork } from '#workers/infra/vms.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { makeSilentNode, makeVmRow } from '../../support/makers.ts'
import { until } from '../../support/until.ts'

let berth: Berth
let token: string
let node: string
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token()
  node = await makeSilentNode(berth.services.db)
})
afterAll(() => berth?.stop())

const broken = new BerthError('capacity_unavailable', 'The node could not start the VM. Try again in a few seconds.')
const machine = { id: 'machine', address: '127.0.0.9', folderId: null } as unknown as Machine // what the worker reads of it

/** Works on a new VM whose machine is taken so. */
async function boot(take: VmWork['compute']['take']): Promise<{ id: string; reasons: (string | null)[] }> {
  const id = await makeVmRow(berth.services.db, token, node, { status: 'creating' })
  const work = {
    services: berth.services,
    nodeId: node,
    compute: { take, stop: async () => undefined },
    templates: { findDelay: () => null },
    egress: { setPolicy: () => undefined },
    networks: { join: async () => undefined, leave: () => undefined },
  } as unknown as VmWork // the parts that a boot uses
  const vmId = decodeId('vm', id) ?? ''
  await reconcile(work, vmId).catch(() => undefined) // a VM in `error` starts again, which these parts cannot
  const events = await findAll<{ statusReason: string | null }>(
    berth.services.db,
    sql`select status_reason from vm_events where vm_id = ${vmId} order by position`,
  )
  return { id, reasons: events.map(({ statusReason }) => statusReason) }
}

test('it says at each failed attempt what failed and which one begins, and nothing once it is up', async () => {
  let tries = 0
  const { id, reasons } = await boot(async () => {
    if (++tries < 3) throw broken
    return { machine, from: 'boot' }
  })
  expect(reasons).toEqual([
    null,
    'The node could not start the VM. Attempt 2 of 3 begins.',
    'The node could not start the VM. Attempt 3 of 3 begins.',
    null,
  ])
  const { body } = await berth.ask(`{ vm(id: "${id}") { status statusReason } }`, { token })
  expect(body.data).toEqual({ vm: { status: 'RUNNING', statusReason: null } })
})

test('it says so within an attempt too, while the machine is started once more', async () => {
  const { reasons } = await boot(async ({ id }, onFailure) => {
    onFailure?.() // the driver does, before it tries again
    const { services } = berth
    await until('it is said', async () => {
      const said = await findAll(
        services.db,
        sql`select 1 from vms where id = ${decodeId('vm', `vm_${id}`)} and status_reason like 'Its machine did not%'`,
      )
      return said.length === 1
    })
    return { machine, from: 'boot' }
  })
  expect(reasons).toEqual([null, 'Its machine did not come up; it is started once more, within attempt 1 of 3.', null])
})

test('after the last attempt it is in error, with the reason', async () => {
  const { reasons } = await boot(async () => {
    throw broken
  })
  expect(reasons[3]).toBe(broken.message)
})
