/** The section Schedules of docs/automation.md, run as it is printed, and what fires schedules in a worker. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { shiftClock } from '#src/platform/clock.ts'
import { findOne, sql } from '#src/platform/postgres.ts'
import { keepFiringSchedules } from '#workers/agents/schedules.ts'
import { paste, shellBlocks } from '../../support/paste.ts'
import { until } from '../../support/until.ts'
import { startScheduleWorld, type ScheduleWorld } from './world.ts'

let world: ScheduleWorld
const stopping = new AbortController()
let firing: Promise<void>
beforeAll(async () => {
  world = await startScheduleWorld()
  firing = keepFiringSchedules(world.berth.services, stopping.signal)
})
afterAll(async () => {
  shiftClock(0)
  stopping.abort()
  await firing
  await world.berth.stop()
})

test('the walk makes a schedule, sees it fire, changes it and deletes it', async () => {
  const { berth, token } = world
  const walk = paste(shellBlocks('docs/automation.md', 'Schedules'), {
    url: berth.url,
    env: { TOKEN: token },
  })
  await until('the schedule is there', async () => {
    return (await findOne(berth.services.db, sql`select 1 from schedules`)) !== undefined
  })
  shiftClock(75_000) // past its moment and its jitter
  const printed = await walk
  expect(printed[1]).toContain('"upcoming_runs_at":["')
  expect(printed[2]).toMatch(/"status":"started","session_id":"sesn_/)
  expect(printed[3]).toContain('"enabled":false')
  expect(printed[4]?.trim()).toBe('')
})
