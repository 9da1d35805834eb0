/** Client access where `POST /sql` is off, and whom a change of it waits for. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { newUuid } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { acknowledgeChange, reportEdge } from '#src/resources/infra/databases/edges.ts'
import { explainDatabase, recoveryReason } from '#src/resources/infra/databases/states.ts'
import { reconcileOne } from '#workers/infra/databases.ts'
import type { VmWork } from '#workers/infra/vms.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { organizationOf } from '../../support/builds.ts'
import { databaseUuid, makeDatabase, rowOf } from '../../support/databases.ts'
import { makeSilentNode } from '../../support/makers.ts'
import { until } from '../../support/until.ts'
import { connectTo } from '../database-backups/fake-postgres.ts'

let berth: Berth
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_SQL: 'off' } })
})
afterEach(() => sql`delete from edge_processes`.execute(berth.services.db))
afterAll(() => berth.stop())

/** Begins to switch the client access of a new database off. */
async function beginDisabling(): Promise<{ id: string; token: string; asked: ReturnType<Berth['call']> }> {
  const { db } = berth.services
  const token = await berth.token()
  const { id } = await makeDatabase(berth, token, await makeSilentNode(db))
  await sql`update databases set client_mode_enabled = true where id = ${databaseUuid(id)}`.execute(db)
  const asked = berth.call('POST', `/api/v1/databases/${id}/client-access/disable`, { token })
  await until('it is being changed', async () => (await rowOf(berth, id)).status === 'updating')
  return { id, token, asked }
}

/** Runs the job of its node, which finds a server that takes everything. */
function reconcile(id: string): Promise<void> {
  const machine = { id: 'machine', folderId: null, connect: async () => connectTo(async () => '') }
  const compute = { find: () => machine, growFolder: async () => undefined }
  const work = { services: berth.services, nodeId: 'node', compute } as unknown as VmWork // all that is used of it
  return reconcileOne(work, databaseUuid(id))
}

test('it cannot be switched on, neither later nor with the creation', async () => {
  const token = await berth.token()
  const { id } = await makeDatabase(berth, token, await makeSilentNode(berth.services.db))
  const refusal = { status: 400, body: { error: 'client_access_unavailable' } }
  expect(await berth.call('POST', `/api/v1/databases/${id}/client-access/enable`, { token })).toMatchObject(refusal)
  expect((await rowOf(berth, id)).clientModeEnabled).toBe(false)
  const body = { organization_id: organizationOf(token), client_mode_enabled: true }
  expect(await berth.call('POST', '/api/v1/databases', { token, body })).toMatchObject(refusal)
  const disabled = await berth.call('POST', `/api/v1/databases/${id}/client-access/disable`, { token })
  expect(disabled).toMatchObject({ status: 200, body: { client_mode_enabled: false } })
})

test('switching it off waits for the processes that were there before, and not for one that begins meanwhile', async () => {
  const { db } = berth.services
  const [before, meanwhile] = [newUuid(), newUuid()]
  await reportEdge(db, before)
  const { id, asked } = await beginDisabling()
  await reportEdge(db, meanwhile)
  await acknowledgeChange(db, before, await rowOf(berth, id))
  expect(await asked).toMatchObject({ status: 200, body: { client_mode_enabled: false, status: 'active' } })
})

test('a job of the node that comes meanwhile leaves the change to its request, and ends it when that has died', async () => {
  const { db } = berth.services
  const edge = newUuid()
  await reportEdge(db, edge)
  const { id, asked } = await beginDisabling()
  await reconcile(id)
  expect((await rowOf(berth, id)).status).toBe('updating')
  await acknowledgeChange(db, edge, await rowOf(berth, id))
  expect(await asked).toMatchObject({ status: 200, body: { client_mode_enabled: false, status: 'active' } })

  const { id: left, asked: late } = await beginDisabling()
  await sql`update database_events set created_at = now() - interval '16 seconds' where database_id = ${databaseUuid(left)}`.execute(
    db,
  )
  await reconcile(left)
  expect(await rowOf(berth, left)).toMatchObject({ clientModeEnabled: false, status: 'active' })
  await acknowledgeChange(db, edge, await rowOf(berth, left))
  expect(await late).toMatchObject({ status: 200, body: { client_mode_enabled: false, status: 'active' } })
})

test('what a process does not carry out is undone, whatever else was said, but never another change that follows', async () => {
  const { db } = berth.services
  await reportEdge(db, newUuid())
  const [explained, followed] = [await beginDisabling(), await beginDisabling()]
  await explainDatabase(db, await rowOf(berth, explained.id), recoveryReason)
  await sql`update database_events set created_at = now() - interval '16 seconds' where database_id = ${databaseUuid(followed.id)}`.execute(
    db,
  )
  await reconcile(followed.id)
  const change = `mutation { updateDatabase(input: {id: "${followed.id}", settings: {work_mem: "8MB"}}) { database { status } } }`
  expect((await berth.ask(change, { token: followed.token })).body).toMatchObject({
    data: { updateDatabase: { database: { status: 'UPDATING' } } },
  })
  const message = (end: string) => ({ status: 500, body: { message: expect.stringContaining(end) as unknown } })
  expect(await explained.asked).toMatchObject(message('client access is as it was'))
  expect(await rowOf(berth, explained.id)).toMatchObject({ clientModeEnabled: true, status: 'active' })
  expect(await followed.asked).toMatchObject(message('changed further meanwhile'))
  expect(await rowOf(berth, followed.id)).toMatchObject({ clientModeEnabled: false, status: 'updating' })
})
