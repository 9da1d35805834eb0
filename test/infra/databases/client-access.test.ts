/** Client access where `POST /sql` is off: clients without the token have no way in. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBerth, type Berth } from '../../support/berth.ts'
import { organizationOf } from '../../support/builds.ts'
import { makeDatabase, rowOf } from '../../support/databases.ts'
import { makeSilentNode } from '../../support/makers.ts'

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
