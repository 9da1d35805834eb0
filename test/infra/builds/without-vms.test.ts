/** Where no worker runs VMs, a build does not wait for ever. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBerth, type Berth } from '../../support/berth.ts'
import { submit, uuidOf, type Job } from '../../support/builds.ts'
import { until } from '../../support/until.ts'

let berth: Berth
beforeAll(async () => {
  berth = await startBerth({ worker: true, settings: { BERTH_VMS: 'off' } })
})
afterAll(() => berth.stop())

test('a build that has waited an hour fails with no_capacity, and a VM is refused with what to do', async () => {
  const token = await berth.token()
  const job = await submit(berth, token)
  await berth.services.database.pool.query(
    "update build_jobs set queued_at = now() - interval '61 minutes' where id = $1",
    [uuidOf(job)],
  )
  await until(
    'the build has failed',
    async () => (await berth.call<Job>('GET', `/api/v1/build/jobs/${job.id}`, { token })).body.status === 'failed',
    29_000,
  )
  expect((await berth.call<Job>('GET', `/api/v1/build/jobs/${job.id}`, { token })).body).toMatchObject({
    error: 'no_capacity',
    started_at: null,
  })
  expect(await berth.call('POST', '/api/v1/vms', { token, body: {} })).toMatchObject({
    status: 503,
    body: { error: 'capacity_unavailable', message: expect.stringContaining('BERTH_VMS') },
  })
}, 40_000)
