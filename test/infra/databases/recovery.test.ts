/** A database whose server did not end in order, and recovers: nobody else waits for it, and whoever does is told. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql } from '#src/platform/postgres.ts'
import { recoveryReason } from '#src/resources/infra/databases/states.ts'
import { findVmRow, type Vm } from '#src/resources/infra/vms/rows.ts'
import { moveVm } from '#src/resources/infra/vms/states.ts'
import { reconcileOne } from '#workers/infra/databases.ts'
import { isServerUp } from '#workers/infra/databases/recovery.ts'
import type { VmWork } from '#workers/infra/vms.ts'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { databaseUuid, makeDatabase, rowOf } from '../../support/databases.ts'
import { makeSilentNode } from '../../support/makers.ts'
import { connectTo } from '../database-backups/fake-postgres.ts'

let berth: Berth
let token: string
let node: string
let work: VmWork
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token()
  node = await makeSilentNode(berth.services.db)
  work = { services: berth.services, nodeId: node, compute: { find: () => undefined } } as unknown as VmWork // no machine runs here
})
afterAll(() => berth.stop())

const waits = { silentMs: 60_000, recoveringMs: 20 }
/** A machine whose server says this. */
const serverThat = (answer: () => Promise<string>): Machine =>
  ({ id: 'machine', connect: async () => connectTo(answer) }) as unknown as Machine
const recovering = serverThat(async () => {
  throw Object.assign(new Error('the database system is not yet accepting connections'), { code: '57P03' })
})
const up = serverThat(async () => '1\n')

/** A database with a VM that starts. */
async function makeStarting(): Promise<{ id: string; vm: () => Promise<Vm> }> {
  const { id } = await makeDatabase(berth, token, node, { vmStatus: 'starting' })
  const { vmId } = await rowOf(berth, id)
  const vm = async (): Promise<Vm> => {
    const row = await findVmRow(berth.services.db, vmId ?? '')
    if (!row) throw new Error('the VM is not there')
    return row
  }
  return { id, vm }
}

async function jobsOf(queue: string, id: string): Promise<{ isLater: boolean }[]> {
  const { rows } = await berth.services.database.pool.query<{ isLater: boolean }>(
    `select start_after > now() as "isLater" from pgboss.job where name = $1 and data::text like $2`,
    [`${queue}/${node}`, `%${id}%`],
  )
  return rows
}

test('one that recovers says so, and its VM’s job comes back instead of waiting', async () => {
  const { id, vm } = await makeStarting()
  const { id: vmId } = await vm()
  for (let run = 0; run < 2; run++) expect(await isServerUp(work, await vm(), recovering, waits)).toBe(false)
  expect(await vm()).toMatchObject({ status: 'starting', statusReason: recoveryReason, bootFailures: 0 })
  expect(await jobsOf('vms-reconcile', vmId)).toEqual([{ isLater: true }, { isLater: true }])
  expect(await jobsOf('databases-reconcile', databaseUuid(id))).toHaveLength(1)

  for (let run = 0; run < 2; run++) await reconcileOne(work, databaseUuid(id))
  const { statusReason, eventPosition } = await rowOf(berth, id)
  expect({ statusReason, eventPosition }).toEqual({ statusReason: recoveryReason, eventPosition: 2 })
  const { body } = await berth.ask(`{ database(id: "${id}") { status statusReason } }`, { token })
  expect(body.data).toEqual({ database: { status: 'ACTIVE', statusReason: recoveryReason } })

  expect(await isServerUp(work, await vm(), up, waits)).toBe(true)
  await moveVm(berth.services.db, berth.services, vmId, 'running')
  for (let run = 0; run < 2; run++) await reconcileOne(work, databaseUuid(id))
  expect(await rowOf(berth, id)).toMatchObject({ statusReason: null, eventPosition: 3 })
})

test('one that recovers for half an hour is ended, and so is one that says nothing', async () => {
  const { vm } = await makeStarting()
  const { id: vmId } = await vm()
  await isServerUp(work, await vm(), recovering, waits)
  await sql`update vm_events set created_at = now() - interval '1801 seconds' where vm_id = ${vmId}`.execute(
    berth.services.db,
  )
  await expect(isServerUp(work, await vm(), recovering, waits)).rejects.toThrow(
    'Its server did not recover within 30 minutes.',
  )
  const silent = { id: 'machine', connect: async () => Promise.reject(new Error('refused')) } as unknown as Machine
  await expect(isServerUp(work, await vm(), silent, { silentMs: 20, recoveringMs: 20 })).rejects.toThrow()
})

test('a new one that recovers is not given up after five minutes', async () => {
  const { id } = await makeDatabase(berth, token, node, { status: 'creating', vmStatus: 'creating' })
  const { vmId } = await rowOf(berth, id)
  await sql`update database_events set created_at = now() - interval '301 seconds' where database_id = ${databaseUuid(id)}`.execute(
    berth.services.db,
  )
  await sql`update vms set status_reason = ${recoveryReason} where id = ${vmId}`.execute(berth.services.db)
  await reconcileOne(work, databaseUuid(id))
  expect(await rowOf(berth, id)).toMatchObject({ status: 'creating', statusReason: recoveryReason })
})
