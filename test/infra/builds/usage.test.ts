/** What builds cost: a usage session while a build has its machine, however it ends. Real ones: builds.vm.test.ts. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { sql } from '#src/platform/postgres.ts'
import { endStrandedBuilds } from '#src/resources/infra/builds/dispatch.ts'
import { findBuildRow, type Ending } from '#src/resources/infra/builds/rows.ts'
import { finishBuild } from '#src/resources/infra/builds/states.ts'
import { openBuildUsage } from '#src/resources/infra/usage.ts'
import type { Berth } from '../../support/berth.ts'
import { clearBuilds, startWithoutBuilder, submitRunning, uuidOf, type Job } from '../../support/builds.ts'

type Session = {
  vm_id: string
  ended_at: string | null
  end_reason: string | null
  vcpu_count: number
  memory_mb: number
  cost_per_hour: number
}

let berth: Berth
let token: string
beforeAll(async () => {
  ;({ berth, token } = await startWithoutBuilder())
})
afterEach(() => clearBuilds(berth))
afterAll(() => berth.stop())

const open = async (job: Job): Promise<void> =>
  openBuildUsage(berth.services.db, berth.services, (await findBuildRow(berth.services.db, uuidOf(job)))!)
const sessions = async (as = token): Promise<Session[]> =>
  (await berth.call<{ sessions: Session[] }>('GET', '/api/v1/usage', { token: as })).body.sessions

test('a build that has its machine has one open session, with the price of its size, shown to its organization alone', async () => {
  const job = await submitRunning(berth, token)
  expect(await sessions()).toEqual([])
  await open(job)
  await open(job)
  const vmId = job.id.replace('bld_', 'vm_')
  expect(await sessions()).toEqual([
    expect.objectContaining({
      vm_id: vmId,
      ended_at: null,
      end_reason: null,
      vcpu_count: 2,
      memory_mb: 2048,
      cost_per_hour: 0.09,
    }),
  ])
  expect((await berth.ask('{ usage { nodes { vmId buildId } } }', { token })).body.data).toEqual({
    usage: { nodes: [{ vmId, buildId: job.id }] },
  })
  expect(await sessions(await berth.token('bob', 'bolt'))).toEqual([])
})

test.each<[string, Ending, string]>([
  ['succeeds', { status: 'succeeded', exitCode: 0 }, 'guest_exit'],
  ['fails by its command', { status: 'failed', error: 'Command 1 ended with exit code 7.', exitCode: 7 }, 'guest_exit'],
  ['fails otherwise', { status: 'failed', error: 'The repository could not be cloned.' }, 'error'],
  ['is cancelled', { status: 'cancelled' }, 'request'],
  ['runs out of time', { status: 'failed', error: 'timed_out' }, 'timeout'],
])('the session of a build that %s ends with it, once', async (_, ending, reason) => {
  const job = await submitRunning(berth, token)
  await open(job)
  await finishBuild(berth.services, uuidOf(job), ending)
  const [session, ...others] = await sessions()
  expect(session).toMatchObject({ ended_at: expect.any(String), end_reason: reason })
  expect(others).toEqual([])
  await open(job) // its worker was late: the build is over
  expect(await sessions()).toEqual([session])
})

test('the session of a build whose worker was killed ends as orphaned', async () => {
  const job = await submitRunning(berth, token)
  await open(job)
  await sql`update nodes set heartbeat_at = now() - interval '61 seconds'`.execute(berth.services.db)
  await endStrandedBuilds(berth.services)
  await sql`update nodes set heartbeat_at = now()`.execute(berth.services.db)
  expect(await sessions()).toMatchObject([{ ended_at: expect.any(String), end_reason: 'orphaned' }])
})
