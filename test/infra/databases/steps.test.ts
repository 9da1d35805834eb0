/** The steps that a node takes with a database, as rows: what becomes of one whose VM does not come up, fails, or is gone. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newUuid } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { keptSizeReason } from '#src/resources/infra/databases/states.ts'
import { startWaking } from '#src/resources/infra/databases/sleep.ts'
import { moveVm } from '#src/resources/infra/vms/states.ts'
import { findVmRow, type Vm, type VmStatus } from '#src/resources/infra/vms/rows.ts'
import { reconcileOne } from '#workers/infra/databases.ts'
import type { VmWork } from '#workers/infra/vms.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { databaseUuid, makeDatabase, rowOf, type MadeDatabase } from '../../support/databases.ts'
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
  await sql`update nodes set heartbeat_at = now() + interval '1 hour' where id = ${node}`.execute(berth.services.db)
  work = { services: berth.services, nodeId: node, compute: { find: () => undefined } } as unknown as VmWork // no machine runs here
})
afterAll(() => berth.stop())

const make = async (given: MadeDatabase) => (await makeDatabase(berth, token, node, given)).id
const step = (id: string): Promise<void> => reconcileOne(work, databaseUuid(id))
const vmOf = async (id: string): Promise<Vm | undefined> =>
  findVmRow(berth.services.db, (await rowOf(berth, id)).vmId ?? '')

/** A VM that failed, and does not start again by itself. */
async function giveUp(id: string, { hasRun }: { hasRun: boolean }): Promise<void> {
  const { db } = berth.services
  const { vmId } = await rowOf(berth, id)
  await sql`update vms set boot_failures = 3, started_at = ${hasRun ? sql`now()` : sql`null`} where id = ${vmId}`.execute(
    db,
  )
  await moveVm(db, berth.services, vmId ?? '', 'error', { reason: 'It did not start.' })
}

test('one whose VM does not start has failed, with the reason', async () => {
  const id = await make({ status: 'creating', vmStatus: 'creating' })
  await step(id)
  expect((await rowOf(berth, id)).status).toBe('creating') // its VM is on its way
  await giveUp(id, { hasRun: false })
  await step(id)
  expect(await rowOf(berth, id)).toMatchObject({ status: 'error', statusReason: 'It did not start.' })
  await step(id)
  expect((await rowOf(berth, id)).status).toBe('error')
})

test('one that is not there after five minutes has failed', async () => {
  const id = await make({ status: 'creating', vmStatus: 'creating' })
  await sql`update database_events set created_at = now() - interval '301 seconds' where database_id = ${databaseUuid(id)}`.execute(
    berth.services.db,
  )
  await step(id)
  expect(await rowOf(berth, id)).toMatchObject({ status: 'error', statusReason: 'It was not there within 5 minutes.' })
})

test('one whose VM failed for good gets another on the same data, however often the job runs', async () => {
  const folderId = newUuid()
  const { db } = berth.services
  await sql`insert into folders (id, organization_id, name, node_id, size_mb, purpose) select ${folderId}, id, 'data', ${node}, 10240, 'database' from organizations limit 1`.execute(
    db,
  )
  const id = await make({ folderId })
  const before = await rowOf(berth, id)
  await giveUp(id, { hasRun: true })
  for (let run = 0; run < 2; run++) await step(id)
  expect((await vmOf(id))?.status).toBe('deleting')
  await moveVm(db, berth.services, before.vmId ?? '', 'deleted')
  for (let run = 0; run < 2; run++) await step(id)
  const now = await rowOf(berth, id)
  expect(now).toMatchObject({ status: 'active', folderId })
  expect(now.vmId).not.toBe(before.vmId)
  expect(await vmOf(id)).toMatchObject({ status: 'creating', folderId, purpose: 'database', memoryMb: 1024 })
})

test('a VM of another size takes the place of the one that it had, and the old size stays where there is no room', async () => {
  const { db } = berth.services
  const id = await make({ status: 'updating', vmStatus: 'paused' })
  const { vmId } = await rowOf(berth, id)
  await sql`update databases set memory_mb = 65536 where id = ${databaseUuid(id)}`.execute(db)
  const moves: [VmStatus, VmStatus][] = [
    ['resuming', 'running'], // it sleeps, and its server is to end in order
    ['stopping', 'stopped'],
    ['deleting', 'deleted'],
  ]
  for (const [towards, to] of moves) {
    for (let run = 0; run < 2; run++) await step(id)
    expect((await vmOf(id))?.status).toBe(towards)
    await moveVm(db, berth.services, vmId ?? '', to)
    if (to === 'deleted') continue
    await expect(startWaking(berth.services, databaseUuid(id))).resolves.toBeUndefined() // a client waits for the VM after it
    expect((await vmOf(id))?.status).toBe(to)
  }
  await sql`update nodes set memory_mb = 20000 where id = ${node}`.execute(db)
  await step(id)
  await sql`update nodes set memory_mb = 100000 where id = ${node}`.execute(db)
  expect(await vmOf(id)).toMatchObject({ status: 'creating', memoryMb: 1024 })
  expect(await rowOf(berth, id)).toMatchObject({ status: 'updating', memoryMb: 1024, statusReason: keptSizeReason })
  await moveVm(db, berth.services, (await vmOf(id))?.id ?? '', 'running')
  const machine = { id: 'machine', folderId: null, connect: async () => connectTo(async () => '') }
  const compute = { find: () => machine, growFolder: async () => undefined }
  await reconcileOne({ ...work, compute } as unknown as VmWork, databaseUuid(id))
  expect(await rowOf(berth, id)).toMatchObject({ status: 'active', statusReason: keptSizeReason })
})

test('one that sleeps gets another size without an order of its server, where there is no room to wake it', async () => {
  const id = await make({ status: 'updating', vmStatus: 'paused' })
  await sql`update databases set memory_mb = 512 where id = ${databaseUuid(id)}`.execute(berth.services.db)
  await sql`update nodes set memory_mb = 512 where id = ${node}`.execute(berth.services.db)
  await step(id)
  await sql`update nodes set memory_mb = 100000 where id = ${node}`.execute(berth.services.db)
  expect((await vmOf(id))?.status).toBe('deleting')
})

test('a change for which there is no room says so, and is tried again', async () => {
  const { db } = berth.services
  const id = await make({ status: 'updating', vmStatus: 'stopped' })
  await sql`update nodes set memory_mb = 512 where id = ${node}`.execute(db)
  for (let run = 0; run < 2; run++) await step(id)
  await sql`update nodes set memory_mb = 100000 where id = ${node}`.execute(db)
  const { status, statusReason, eventPosition } = await rowOf(berth, id)
  expect({ status, eventPosition }).toEqual({ status: 'updating', eventPosition: 2 })
  expect(statusReason).toMatch(/^No node has 1024 MB of memory left/)
  await step(id)
  expect((await vmOf(id))?.status).toBe('starting')
})

test('one that comes back with data that cannot be set up is active, with the reason', async () => {
  const { db } = berth.services
  const answer = async (): Promise<string> => {
    throw new Error('must be owner of schema public')
  }
  const machine = { id: 'machine', folderId: null, connect: async () => connectTo(answer) }
  const compute = { find: () => machine, growFolder: async () => undefined }
  const folderId = newUuid()
  await sql`insert into folders (id, organization_id, name, node_id, size_mb, purpose) select ${folderId}, id, 'data', ${node}, 10240, 'database' from organizations limit 1`.execute(
    db,
  )
  const id = await make({ status: 'creating', folderId })
  await sql`update database_events set created_at = now() - interval '301 seconds' where database_id = ${databaseUuid(id)}`.execute(
    db,
  )
  await reconcileOne({ ...work, compute } as unknown as VmWork, databaseUuid(id))
  expect(await rowOf(berth, id)).toMatchObject({
    status: 'active',
    statusReason: 'Its server could not be set up: must be owner of schema public',
  })
})

test('a change whose setup the data’s owner stands in the way of ends after five minutes, and says why', async () => {
  const { db } = berth.services
  const answer = async (): Promise<string> => {
    throw new Error('must be owner of schema public')
  }
  const machine = { id: 'machine', folderId: null, connect: async () => connectTo(answer) }
  const compute = { find: () => machine, growFolder: async () => undefined }
  const reached = { ...work, compute } as unknown as VmWork
  for (const [status, after] of [
    ['updating', 'active'],
    ['creating', 'error'],
  ] as const) {
    const id = await make({ status })
    await expect(reconcileOne(reached, databaseUuid(id))).rejects.toThrow('must be owner')
    expect((await rowOf(berth, id)).status).toBe(status)
    await sql`update database_events set created_at = now() - interval '301 seconds' where database_id = ${databaseUuid(id)}`.execute(
      db,
    )
    await reconcileOne(reached, databaseUuid(id))
    expect(await rowOf(berth, id)).toMatchObject({
      status: after,
      statusReason: 'Its server could not be set up: must be owner of schema public',
    })
  }
})

test('one that is deleted is so once its VM is, and keeps its data', async () => {
  const { db } = berth.services
  const id = await make({ status: 'deleting' })
  for (let run = 0; run < 2; run++) await step(id)
  const { vmId, status } = await rowOf(berth, id)
  expect([status, (await vmOf(id))?.status]).toEqual(['deleting', 'deleting'])
  await moveVm(db, berth.services, vmId ?? '', 'deleted')
  for (let run = 0; run < 2; run++) await step(id)
  expect(await rowOf(berth, id)).toMatchObject({ status: 'deleted', vmId: null })
})
