/** Schedules of several organizations, which take turns, and those of one with as many running sessions as it may. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { shiftClock } from '#src/platform/clock.ts'
import { change, findAll, getOne, sql } from '#src/platform/postgres.ts'
import { createScheduleFiring, type ScheduleFiring } from '#src/resources/agents/schedules/firing.ts'
import { scheduleLimits } from '#src/resources/agents/schedules/limits.ts'
import { makeAgent } from '../../support/agents-service.ts'
import { idsOf } from '../../support/makers.ts'
import { until } from '../../support/until.ts'
import { startScheduleWorld, type ScheduleWorld } from './world.ts'

let world: ScheduleWorld
let eve: { token: string; agent: string }
beforeAll(async () => {
  world = await startScheduleWorld()
  const token = await world.berth.token('eve', 'evil', 'owner')
  eve = { token, agent: await makeAgent(world.berth, token) }
})
beforeEach(async () => {
  await change(world.berth.services.db, sql`delete from schedules`)
  await world.endTurns()
})
afterEach(() => shiftClock(0))
afterAll(() => world.berth.stop())

const makeDue = async (count: number, fields: object = {}, as?: string): Promise<string[]> => {
  const ids: string[] = []
  for (let made = 0; made < count; made++) {
    const { id } = await world.make(fields, as)
    await world.makeDue(id, 30)
    ids.push(id)
  }
  return ids
}
/** What fires in a Berth whose organizations may have two running sessions. */
const firingForTwo = (): ScheduleFiring => {
  const { services } = world.berth
  return createScheduleFiring({ ...services, config: { ...services.config, rateLimitFactor: 0.004 } })
}
const statusesOf = async (ids: readonly string[]): Promise<string[]> =>
  (await Promise.all(ids.map((id) => world.runs(id)))).flat().map(({ status, skip_reason }) => skip_reason ?? status)

test('an organization with many schedules due does not hold back another’s', async () => {
  const many = 1.5 * scheduleLimits.batch
  await makeDue(many)
  await makeDue(2, { agent: eve.agent }, eve.token)
  await world.fire()
  const batches = await findAll<{ ofEve: number; all: number }>(
    world.berth.services.db,
    sql`
    select count(*) filter (where organization_id = ${idsOf(eve.token).organizationId}) as of_eve, count(*) as all
    from schedule_runs r join schedules s on s.id = r.schedule_id group by r.created_at order by r.created_at`,
  )
  expect(batches.reduce((sum, { all }) => sum + all, 0)).toBe(many + 2)
  expect(batches[0]?.ofEve).toBe(2)
  expect(batches.length, 'not all in one transaction').toBeGreaterThan(1)
})

test('one that has as many running sessions as it may waits, and nobody else does', async () => {
  const mine = await makeDue(3)
  const { fireDue } = firingForTwo()
  await fireDue()
  expect(await statusesOf(mine)).toEqual(['started', 'started'])
  await makeDue(1, { agent: eve.agent }, eve.token)
  await fireDue()
  const { count } = await getOne<{ count: number }>(
    world.berth.services.db,
    sql`select count(*) from schedule_runs r join schedules s on s.id = r.schedule_id where organization_id = ${idsOf(eve.token).organizationId}`,
  )
  expect(count).toBe(1)
  await world.endTurns()
  await until('its third schedule has fired', async () => {
    await fireDue()
    return (await statusesOf(mine)).length === 3
  })
  expect(await statusesOf(mine)).toEqual(['started', 'started', 'started'])
})

test('after five minutes of waiting the moment has passed, and its run says why; that is no failure', async () => {
  const mine = await makeDue(3)
  const { fireDue } = firingForTwo()
  await fireDue()
  shiftClock(scheduleLimits.lateSeconds * 1000)
  await until('the moment has passed', async () => {
    await fireDue()
    return (await statusesOf(mine)).length === 3
  })
  expect((await statusesOf(mine)).toSorted()).toEqual(['rate_limited', 'started', 'started'])
  const shown = await Promise.all(mine.map((id) => world.shown(id)))
  expect(shown).toMatchObject(mine.map(() => ({ enabled: true, last_error: null })))
  const messages = (await Promise.all(mine.map((id) => world.runs(id)))).flat().map(({ message }) => message)
  expect(messages.join('')).toMatch(/could not start within 5 minutes of its moment.*2 running sessions/)
})
