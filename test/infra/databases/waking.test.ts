/** Waking on request: what is on its way is left alone, what failed is started again. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql, transaction } from '#src/platform/postgres.ts'
import { moveDatabase } from '#src/resources/infra/databases/states.ts'
import { findVmRow } from '#src/resources/infra/vms/rows.ts'
import { moveVm, hostedVmStepped } from '#src/resources/infra/vms/states.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { databaseUuid, makeDatabase, rowOf, type MadeDatabase } from '../../support/databases.ts'
import { makeSilentNode } from '../../support/makers.ts'
import { until } from '../../support/until.ts'

let berth: Berth
let token: string
let node: string
beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token()
  node = await makeSilentNode(berth.services.db)
})
afterAll(() => berth.stop())

const make = (given: MadeDatabase) => makeDatabase(berth, token, node, given)
const wake = async (id: string) =>
  (await berth.ask(`mutation { wakeDatabase(input: {id: "${id}"}) { database { status } } }`, { token })).body

test('one that is on its way to another status is not woken, and says so at once', async () => {
  for (const status of ['updating', 'restoring', 'creating'] as const) {
    const { id } = await make({ status, vmStatus: 'paused' })
    expect((await wake(id)).errors?.[0]?.extensions?.['code']).toBe('DATABASE_NOT_READY')
    const { rows } = await sql<{
      status: string
    }>`select status from vms where id = ${(await rowOf(berth, id)).vmId}`.execute(berth.services.db)
    expect(rows).toEqual([{ status: 'paused' }])
  }
})

test('one that failed is started again', async () => {
  const { db } = berth.services
  const { id } = await make({ status: 'error', vmStatus: 'error' })
  const { vmId } = await rowOf(berth, id)
  await sql`update vms set boot_failures = 3 where id = ${vmId}`.execute(db)
  const waking = wake(id)
  await until('its VM starts', async () => (await findVmRow(db, vmId ?? ''))?.status === 'starting')
  await moveVm(db, berth.services, vmId ?? '', 'running')
  await transaction(db, async (tx) =>
    hostedVmStepped.run(berth.services, tx, { id: vmId ?? '', nodeId: node, purpose: 'database' }),
  )
  await moveDatabase(db, berth.services, databaseUuid(id), 'active') // as its node does
  expect((await waking).data).toEqual({ wakeDatabase: { database: { status: 'ACTIVE' } } })
})
