/** Firing schedules: each moment counts once, and whatever became of it is there to read. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { shiftClock } from '#src/platform/clock.ts'
import { decodeId, newId } from '#src/platform/ids.ts'
import { change, getOne, sql } from '#src/platform/postgres.ts'
import { scheduleLimits } from '#src/resources/agents/schedules/limits.ts'
import { forgetScheduleRuns } from '#src/resources/agents/schedules/runs.ts'
import { replanAfterClockChange } from '#src/resources/agents/schedules/ticks.ts'
import { removeMembership } from '#src/resources/identity/members.ts'
import { callAgents, makeAgent } from '../../support/agents-service.ts'
import { idsOf } from '../../support/makers.ts'
import { startScheduleWorld, type Run, type ScheduleWorld } from './world.ts'

let world: ScheduleWorld
beforeAll(async () => {
  world = await startScheduleWorld()
})
beforeEach(() => change(world.berth.services.db, sql`delete from schedules`))
afterEach(() => shiftClock(0))
afterAll(() => world.berth.stop())

const at = (moment: string): void => shiftClock(Date.parse(moment) - Date.now())
const makeAnother = (token = world.token): Promise<string> => makeAgent(world.berth, token, { name: 'other' })

test('at its moment a session starts on its owner’s behalf, and the next moment is there', async () => {
  const { id, upcoming_runs_at: upcoming } = await world.make()
  await world.makeDue(id)
  const { next_run_at: moment } = await world.shown(id)
  await world.fire()
  const [run] = await world.runs(id)
  expect(run).toMatchObject({ status: 'started', scheduled_at: moment, skip_reason: null, error: null, message: null })
  const { body: session } = await callAgents(world.berth, world.token, 'GET', `/sessions/${run?.session_id}`)
  expect(session).toMatchObject({ source: 'schedule', status: 'running', agent: { id: world.agent } })
  const after = await world.shown(id)
  expect(after).toMatchObject({ last_run_at: expect.any(String), last_error: null, next_run_at: upcoming[0] })
})

test('it waits for its moment, and then for its jitter, which is 10 seconds at most', async () => {
  const { id } = await world.make({ cron: '* * * * *' })
  const moment = Date.parse((await world.shown(id)).next_run_at ?? '')
  shiftClock(moment - 1000 - Date.now())
  await world.fire()
  expect(await world.runs(id)).toEqual([])
  shiftClock(moment + scheduleLimits.jitterSeconds * 1000 - Date.now())
  await world.fire()
  expect(await world.runs(id)).toMatchObject([{ status: 'started' }])
})

test('each moment starts one session, however many processes look at once', async () => {
  const before = await world.countSessions()
  const ids = await Promise.all(Array.from({ length: 30 }, async () => (await world.make()).id))
  await Promise.all(ids.map((id) => world.makeDue(id)))
  await world.fire(6)
  for (const id of ids) expect(await world.runs(id)).toMatchObject([{ status: 'started' }])
  expect((await world.countSessions()) - before).toBe(30)
})

test('those of one person start each with its own kickoff, and one that cannot start keeps no other from it', async () => {
  const texts = ['Read.', 'Write.', 'Rest.']
  const ids: string[] = []
  for (const kickoff of texts) ids.push((await world.make({ kickoff })).id)
  const fireAll = async (secondsAgo: number): Promise<Run[]> => {
    for (const id of ids) await world.makeDue(id, secondsAgo)
    await world.fire()
    return Promise.all(ids.map(async (id) => (await world.runs(id))[0]!)) // each has one
  }
  const runs = await fireAll(60)
  for (const [index, { session_id: id }] of runs.entries()) {
    const { body } = await callAgents(world.berth, world.token, 'GET', `/sessions/${id}/events?order=asc`)
    expect(body).toMatchObject({
      data: [
        { type: 'user.message', content: [{ type: 'text', text: texts[index] }] },
        { type: 'session.status_running' },
      ],
    })
  }

  await world.endTurns()
  const image = { type: 'image', source: { type: 'file', file_id: newId('file') } } // one that is gone
  const kickoff = JSON.stringify({ events: [{ type: 'user.message', content: [image] }] })
  await change(
    world.berth.services.db,
    sql`update schedules set kickoff = ${kickoff}::jsonb where id = ${decodeId('schedule', ids[1] ?? '')}`,
  )
  expect(await fireAll(50)).toMatchObject([
    { status: 'started' },
    { status: 'failed', error: { type: 'session_creation_rejected_error' } },
    { status: 'started' },
  ])
})

test('beside a session that is still at work nothing starts, unless overlap is allowed', async () => {
  const { id } = await world.make()
  for (const secondsAgo of [60, 50]) {
    await world.makeDue(id, secondsAgo)
    await world.fire()
  }
  expect(await world.runs(id)).toMatchObject([{ status: 'skipped', skip_reason: 'overlap', session_id: null }, {}])
  await world.call('PATCH', `/${id}`, { overlap: 'allow' })
  await world.makeDue(id, 40)
  await world.fire()
  expect((await world.runs(id))[0]).toMatchObject({ status: 'started' })
  await world.call('PATCH', `/${id}`, { overlap: 'skip' })
  await world.endTurns()
  await world.makeDue(id, 30)
  await world.fire()
  expect((await world.runs(id))[0]).toMatchObject({ status: 'started' })
})

describe('while no worker was running', () => {
  test('moments up to five minutes ago are made up for, each once', async () => {
    at('2027-05-03T10:00:30Z')
    const { id } = await world.make({ cron: '* * * * *', overlap: 'allow' })
    at('2027-05-03T10:03:30Z')
    await world.fire(2)
    const runs = await world.runs(id)
    expect(runs.map((run) => [run.scheduled_at, run.status])).toEqual([
      ['2027-05-03T10:03:00.000Z', 'started'],
      ['2027-05-03T10:02:00.000Z', 'started'],
      ['2027-05-03T10:01:00.000Z', 'started'],
    ])
  })

  test('older ones are not, and each is recorded as missed', async () => {
    at('2027-05-03T10:00:30Z')
    const { id } = await world.make({ cron: '0 * * * *' })
    at('2027-05-03T13:30:00Z')
    await world.fire()
    const runs = await world.runs(id)
    expect(runs.map((run) => run.scheduled_at.slice(11, 16))).toEqual(['13:00', '12:00', '11:00'])
    for (const run of runs) expect(run).toMatchObject({ status: 'skipped', skip_reason: 'missed', session_id: null })
    expect(await world.shown(id)).toMatchObject({ next_run_at: '2027-05-03T14:00:00.000Z', last_run_at: null })
  })

  test('after a long time the first ten are recorded, and the last of them says until when', async () => {
    at('2027-05-03T10:00:30Z')
    const { id } = await world.make({ cron: '* * * * *' })
    at('2027-06-03T10:02:30Z')
    await world.fire()
    const runs = (await world.runs(id)).filter((run) => run.skip_reason === 'missed')
    expect(runs).toHaveLength(scheduleLimits.missedMax)
    expect(runs[0]?.message).toContain('at every later moment until 2027-06-03T09:57')
    expect((await world.shown(id)).next_run_at).toBe('2027-06-03T10:03:00.000Z')
  })
})

describe('when the clocks change in Rome', () => {
  test('a local time that does not exist is skipped', async () => {
    at('2027-03-27T12:00:00Z')
    const { id, upcoming_runs_at: upcoming } = await world.make({ cron: '30 2 * * *', timezone: 'Europe/Rome' })
    expect(upcoming.slice(0, 2)).toEqual(['2027-03-29T00:30:00.000Z', '2027-03-30T00:30:00.000Z'])
    at('2027-03-28T23:00:00Z')
    await world.fire()
    expect(await world.runs(id)).toEqual([])
    at('2027-03-29T00:31:00Z')
    await world.fire()
    expect(await world.runs(id)).toMatchObject([{ status: 'started' }])
  })

  test('a local time that occurs twice fires once, the first time', async () => {
    at('2027-10-30T12:00:00Z')
    const { id } = await world.make({ cron: '30 2 * * *', timezone: 'Europe/Rome' })
    at('2027-10-31T00:31:00Z')
    await world.fire()
    at('2027-10-31T01:31:00Z')
    await world.fire()
    const runs = await world.runs(id)
    expect(runs.map((run) => run.scheduled_at)).toEqual(['2027-10-31T00:30:00.000Z'])
    expect((await world.shown(id)).next_run_at).toBe('2027-11-01T01:30:00.000Z')
  })
})

describe('a clock that jumps', () => {
  test('forwards and back again does not leave a schedule waiting for the future that was', async () => {
    at('2027-05-03T10:00:30Z')
    const { id } = await world.make({ cron: '0 * * * *' })
    at('2029-05-03T10:00:30Z')
    await world.fire()
    expect((await world.shown(id)).next_run_at).toBe('2029-05-03T11:00:00.000Z')
    at('2027-05-03T10:01:00Z')
    await replanAfterClockChange(world.berth.services.db)
    expect((await world.shown(id)).next_run_at).toBe('2027-05-03T11:00:00.000Z')
  })

  test('back over a moment does not fire it again', async () => {
    at('2027-05-03T10:59:30Z')
    const { id } = await world.make({ cron: '0 * * * *', overlap: 'allow' })
    at('2027-05-03T11:00:30Z')
    await world.fire()
    at('2027-05-03T10:30:00Z')
    await replanAfterClockChange(world.berth.services.db)
    expect((await world.shown(id)).next_run_at).toBe('2027-05-03T11:00:00.000Z')
    at('2027-05-03T11:00:30Z')
    await world.fire()
    expect(await world.runs(id)).toHaveLength(1)
    expect((await world.shown(id)).next_run_at).toBe('2027-05-03T12:00:00.000Z')
  })
})

test('after 20 failures in a row it is disabled and says why; enabled again, it counts anew', async () => {
  const agent = await makeAnother()
  const { id } = await world.make({ agent })
  await callAgents(world.berth, world.token, 'POST', `/agents/${agent}/archive`)
  for (let failure = 1; failure <= scheduleLimits.failuresMax; failure++) {
    expect((await world.shown(id)).enabled).toBe(true)
    await world.makeDue(id, 100 - 2 * failure)
    await world.fire()
  }
  expect(await world.shown(id)).toMatchObject({
    enabled: false,
    next_run_at: null,
    last_run_at: null,
    last_error: expect.stringMatching(/^Disabled after 20 failures in a row\. The last one: .*archived/),
  })
  expect((await world.runs(id))[0]).toMatchObject({
    status: 'failed',
    session_id: null,
    error: { type: 'agent_archived_error', message: expect.stringContaining('archived') },
  })
  const { body: again } = await world.call('PATCH', `/${id}`, { enabled: true })
  expect(again).toMatchObject({ enabled: true, last_error: null, next_run_at: expect.any(String) })
})

test('after its owner left the organization nothing starts', async () => {
  const { services } = world.berth
  const token = await world.berth.token('leo', 'acme')
  const { organizationId, userId } = idsOf(token)
  const { id } = await world.make({ agent: await makeAnother(token) }, token)
  const membership = await getOne<{ id: string }>(
    services.db,
    sql`select id from memberships where organization_id = ${organizationId} and user_id = ${userId}`,
  )
  await removeMembership(services, organizationId, membership.id)
  const before = await world.countSessions()
  await world.makeDue(id)
  await world.fire()
  expect(await world.countSessions()).toBe(before)
  const run = await getOne<{ status: string; message: string }>(
    services.db,
    sql`select status, message from schedule_runs where schedule_id = ${decodeId('schedule', id)}`,
  )
  expect(run).toMatchObject({ status: 'failed', message: expect.stringContaining('left the organization') })
})

describe('by a deployment', () => {
  const makeDeployment = async (): Promise<string> =>
    (
      await callAgents<{ id: string }>(world.berth, world.token, 'POST', '/deployments', {
        name: 'Report',
        agent: world.agent,
        kickoff: 'Report.',
      })
    ).body.id

  test('its moment is a run of the deployment; while that is paused nothing starts, and nothing fails', async () => {
    const deployment = await makeDeployment()
    const { id } = await world.make({ agent: null, kickoff: null, deployment })
    await world.makeDue(id, 60)
    await world.fire()
    const [run] = await world.runs(id)
    const { body: session } = await callAgents(world.berth, world.token, 'GET', `/sessions/${run?.session_id}`)
    expect(session).toMatchObject({ source: 'schedule', deployment_id: deployment, title: 'Report' })
    await callAgents(world.berth, world.token, 'PATCH', `/deployments/${deployment}`, { status: 'paused' })
    await world.endTurns()
    await world.makeDue(id, 50)
    await world.fire()
    expect((await world.runs(id))[0]).toMatchObject({ status: 'skipped', skip_reason: 'deployment_paused' })
    expect(await world.shown(id)).toMatchObject({ enabled: true, last_error: null, deployment_id: deployment })
    expect((await world.call('PATCH', `/${id}`, { kickoff: 'Other.' })).status).toBe(400)
  })

  test('with an agent too it is refused', async () => {
    const both = {
      cron: '* * * * *',
      timezone: 'UTC',
      agent: world.agent,
      kickoff: 'x',
      deployment: await makeDeployment(),
    }
    expect((await world.call('POST', '', both)).status).toBe(400)
  })
})

test('runs are forgotten after 30 days', async () => {
  const { db } = world.berth.services
  const { id } = await world.make()
  await world.makeDue(id)
  await world.fire()
  await forgetScheduleRuns(db)
  expect(await world.runs(id)).toHaveLength(1)
  await change(db, sql`update schedule_runs set created_at = now() - interval '31 days'`)
  await forgetScheduleRuns(db)
  expect(await world.runs(id)).toEqual([])
})

test('the oldest runs are forgotten when a schedule has more than 10,000', async () => {
  const { db } = world.berth.services
  const { id } = await world.make()
  for (const secondsAgo of [50, 15]) {
    await world.makeDue(id, secondsAgo)
    await world.fire()
    await world.endTurns()
  }
  const [newest] = await world.runs(id)
  await change(
    db,
    sql`update schedules set run_position = ${scheduleLimits.runsKept + 1} where id = ${decodeId('schedule', id)}`,
  )
  await forgetScheduleRuns(db)
  expect(await world.runs(id)).toEqual([newest])
})
