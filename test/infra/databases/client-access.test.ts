/** Client access where `POST /sql` is off, and whom a change of it waits for. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newUuid } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { acknowledgeChange, reportEdge } from '#src/resources/infra/databases/edges.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { organizationOf } from '../../support/builds.ts'
import { databaseUuid, makeDatabase, rowOf } from '../../support/databases.ts'
import { makeSilentNode } from '../../support/makers.ts'
import { until } from '../../support/until.ts'

let berth: Berth
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_SQL: 'off' } })
})
afterAll(() => berth.stop())

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
  const token = await berth.token()
  const { id } = await makeDatabase(berth, token, await makeSilentNode(db))
  await sql`update databases set client_mode_enabled = true where id = ${databaseUuid(id)}`.execute(db)
  const [before, meanwhile] = [newUuid(), newUuid()]
  await reportEdge(db, before)
  const asked = berth.call('POST', `/api/v1/databases/${id}/client-access/disable`, { token })
  await until('it is being changed', async () => (await rowOf(berth, id)).status === 'updating')
  await reportEdge(db, meanwhile)
  await acknowledgeChange(db, before, await rowOf(berth, id))
  expect(await asked).toMatchObject({ status: 200, body: { client_mode_enabled: false, status: 'active' } })
})
