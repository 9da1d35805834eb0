/** A database whose server did not end in order, and recovers: nobody else waits for it, and whoever does is told. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BerthError } from '#src/platform/errors.ts'
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

const lookMs = 20
/** A machine whose server says this. */
const serverThat = (answer: () => Promise<string>): Machine =>
  ({ id: 'machine', connect: async () => connectTo(answer) }) as unknown as Machine
const recovering = serverThat(async () => {
  throw Object.assign(new Error('the database system is not yet accepting connections'), { code: '57P03' })
})
const silent = {
  id: 'machine',
  connect: () => Promise.reject(new BerthError('vm_unreachable', 'There is no such socket.')),
} as unknown as Machine
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
  for (let run = 0; run < 2; run++) expect(await isServerUp(work, await vm(), recovering, lookMs)).toBe(false)
  expect(await vm()).toMatchObject({ status: 'starting', statusReason: recoveryReason, bootFailures: 0 })
  expect(await jobsOf('vms-reconcile', vmId)).toEqual([{ isLater: true }, { isLater: true }])
  expect(await jobsOf('databases-reconcile', databaseUuid(id))).toHaveLength(1)

  for (let run = 0; run < 2; run++) await reconcileOne(work, databaseUuid(id))
  const { statusReason, eventPosition } = await rowOf(berth, id)
  expect({ statusReason, eventPosition }).toEqual({ statusReason: recoveryReason, eventPosition: 2 })
  const { body } = await berth.ask(`{ database(id: "${id}") { status statusReason } }`, { token })
  expect(body.data).toEqual({ database: { status: 'ACTIVE', statusReason: recoveryReason } })

  expect(await isServerUp(work, await vm(), up, lookMs)).toBe(true)
  await moveVm(berth.services.db, berth.services, vmId, 'running')
  for (let run = 0; run < 2; run++) await reconcileOne(work, databaseUuid(id))
  expect(await rowOf(berth, id)).toMatchObject({ statusReason: null, eventPosition: 3 })
})

/** Lets the reasons that a VM has given be older. */
async function age(vmId: string, seconds: number): Promise<void> {
  await sql`update vm_events set created_at = created_at - ${seconds} * interval '1 second' where vm_id = ${vmId} and status_reason is not null`.execute(
    berth.services.db,
  )
}

test('one that recovers for half an hour, or says nothing for two minutes, is ended, and has as long again when it starts again', async () => {
  for (const [machine, seconds, minutes] of [
    [recovering, 1801, 30],
    [silent, 121, 2],
  ] as const) {
    const { vm } = await makeStarting()
    const { id } = await vm()
    expect(await isServerUp(work, await vm(), machine, lookMs)).toBe(false)
    await age(id, seconds - 10)
    expect(await isServerUp(work, await vm(), machine, lookMs)).toBe(false)
    await age(id, 10)
    await expect(isServerUp(work, await vm(), machine, lookMs)).rejects.toThrow(
      `Its server did not let anybody in within ${minutes} minutes.`,
    )
    expect(await isServerUp(work, await vm(), machine, lookMs)).toBe(false)
  }
})

test('one that recovers and falls silent by turns is ended after half an hour', async () => {
  const { vm } = await makeStarting()
  const { id } = await vm()
  for (let turn = 0; turn < 18; turn++) {
    expect(await isServerUp(work, await vm(), turn % 2 ? silent : recovering, lookMs)).toBe(false)
    await age(id, 101)
  }
  await expect(isServerUp(work, await vm(), recovering, lookMs)).rejects.toThrow('within 30 minutes')
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
