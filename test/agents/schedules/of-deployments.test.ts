/** The field `schedule` of a deployment, which is one of the schedules that run it. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { change, sql } from '#src/platform/postgres.ts'
import { callAgents } from '../../support/agents-service.ts'
import type { Answer } from '../../support/berth.ts'
import { startScheduleWorld, type ScheduleWorld } from './world.ts'

type Shown = {
  id: string
  status: string
  paused_reason: unknown
  schedule: { type: string; expression: string; last_run_at: string | null; upcoming_runs_at: string[] } | null
  error: { code: string; message: string }
}

let world: ScheduleWorld
beforeAll(async () => {
  world = await startScheduleWorld()
})
beforeEach(() => change(world.berth.services.db, sql`delete from schedules`))
afterAll(() => world.berth.stop())

const daily = { type: 'cron', expression: '0 9 * * *', timezone: 'Europe/Rome' }
const call = (method: string, path: string, body?: unknown): Promise<Answer<Shown>> =>
  callAgents<Shown>(world.berth, world.token, method, `/deployments${path}`, body)
const order = (fields: object): object => ({ name: 'Report', agent: world.agent, kickoff: 'Report.', ...fields })
const make = async (fields: object = { schedule: daily }): Promise<Shown> =>
  (await call('POST', '', order(fields))).body
const schedulesOf = async (deployment: string): Promise<{ id: string; cron: string; enabled: boolean }[]> =>
  (await world.call('GET', `?deployment_id=${deployment}`)).body.data

test('it is a schedule like those of /v1/schedules, and starts the deployment; runs by hand do not count as its runs', async () => {
  const { id } = await make()
  const [schedule] = await schedulesOf(id)
  expect(schedule).toMatchObject({ cron: '0 9 * * *', timezone: 'Europe/Rome', enabled: true, deployment_id: id })
  await call('POST', `/${id}/run`)
  expect((await call('GET', `/${id}`)).body.schedule?.last_run_at).toBeNull()
  await world.makeDue(schedule?.id ?? '')
  await world.fire()
  expect((await call('GET', `/${id}`)).body.schedule?.last_run_at).toEqual(expect.any(String))
})

test('a lasting failure of its moment pauses the deployment; unpaused, the schedule starts it again', async () => {
  const vault = (await callAgents<{ id: string }>(world.berth, world.token, 'POST', '/vaults', { display_name: 'v' }))
    .body.id
  const { id } = await make({ schedule: daily, vault_ids: [vault] })
  const [schedule] = await schedulesOf(id)
  await callAgents(world.berth, world.token, 'POST', `/vaults/${vault}/archive`)
  await world.makeDue(schedule?.id ?? '', 100)
  await world.fire()
  const paused = (await call('GET', `/${id}`)).body
  expect(paused.paused_reason).toEqual({ type: 'error', error: { type: 'vault_archived_error' } })
  expect(paused.schedule?.upcoming_runs_at).toHaveLength(5)
  await call('PATCH', `/${id}`, { vault_ids: [] })
  expect((await call('POST', `/${id}/unpause`)).body.status).toBe('active')
  await world.makeDue(schedule?.id ?? '', 50)
  await world.fire()
  expect((await world.runs(schedule?.id ?? '')).map(({ status }) => status)).toEqual(['started', 'failed'])
})

test.each([
  { ...daily, expression: '0 9 * * * *' },
  { ...daily, expression: '@daily' },
  { ...daily, timezone: 'Mars/Olympus' },
  { ...daily, type: 'rate' },
  { ...daily, colour: 'red' },
  { type: 'cron', expression: '0 9 * * *' },
  { type: 'cron', timezone: 'UTC' },
  { expression: '0 9 * * *', timezone: 'UTC' },
  '0 9 * * *',
  [daily],
])('%j is refused, and leaves nothing behind', async (schedule) => {
  const { status, body } = await call('POST', '', order({ name: 'Never', schedule }))
  expect([status, body.error.message]).toEqual([400, expect.stringMatching(/schedule|cron|timezone/)])
  const { id } = await make({})
  expect((await call('PATCH', `/${id}`, { schedule })).status).toBe(400)
  expect(await schedulesOf(id)).toEqual([])
})

test('written many times at once it stays one schedule', async () => {
  const { id } = await make({})
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, hour) =>
      call('PATCH', `/${id}`, { schedule: { ...daily, expression: `0 ${hour} * * *` } }),
    ),
  )
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  const [only, ...others] = await schedulesOf(id)
  expect(others).toEqual([])
  expect((await call('GET', `/${id}`)).body.schedule?.expression).toBe(only?.cron)
})

test('of several schedules it shows the oldest, replaces none, and null deletes them all', async () => {
  const { id } = await make()
  await world.make({ agent: null, kickoff: null, deployment: id, cron: '0 3 1 1 *' })
  expect((await call('GET', `/${id}`)).body.schedule?.expression).toBe('0 9 * * *')
  const { status, body } = await call('PATCH', `/${id}`, { schedule: daily })
  expect([status, body.error.message]).toEqual([400, expect.stringContaining('Several schedules')])
  expect((await call('PATCH', `/${id}`, { schedule: null })).body.schedule).toBeNull()
  expect(await schedulesOf(id)).toEqual([])
})

test('given again, one that was disabled is enabled', async () => {
  const { id } = await make()
  const [schedule] = await schedulesOf(id)
  await world.call('PATCH', `/${schedule?.id}`, { enabled: false })
  expect((await call('GET', `/${id}`)).body.schedule?.upcoming_runs_at).toEqual([])
  expect((await call('PATCH', `/${id}`, { schedule: daily })).body.schedule?.upcoming_runs_at).toHaveLength(5)
})

test('GraphQL takes and answers it, and leads to the schedule itself', async () => {
  const ask = (query: string, variables: object) => world.berth.ask(query, { token: world.token, variables })
  const { body } = await ask(
    'mutation ($input: CreateDeploymentInput!) { createDeployment(input: $input) { deployment { schedule { expression timezone upcomingRunsAt schedule { cron deployment { name } } } } } }',
    {
      input: {
        name: 'Report',
        agent: { agent: { id: world.agent } },
        kickoff: { text: 'Report.' },
        schedule: { cron: { expression: '0 9 * * *', timezone: 'UTC' } },
      },
    },
  )
  expect(body.data).toMatchObject({
    createDeployment: {
      deployment: { schedule: { expression: '0 9 * * *', schedule: { deployment: { name: 'Report' } } } },
    },
  })
})

test('its runs are told live, and each leads to its schedule, as its session does', async () => {
  const { berth, token } = world
  const { id } = await make({ schedule: daily, name: 'Live' })
  const [schedule] = await schedulesOf(id)
  const answer = await fetch(`${berth.url}/graphql`, {
    method: 'POST',
    headers: { accept: 'text/event-stream', 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({
      query: `subscription { deploymentRunEvents(id: "${id}", after: "0") { ... on DeploymentRunEvent { cursor
        run { trigger { __typename ... on ScheduledRun { scheduleId schedule { cron } } } session { source { ... on Schedule { id } } } } } } }`,
    }),
  })
  const fireAt = async (secondsAgo: number): Promise<void> => {
    await world.makeDue(schedule?.id ?? '', secondsAgo)
    await world.fire()
  }
  await fireAt(60)
  const seen: unknown[] = []
  for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream()))
    for (const [, event] of chunk.matchAll(/"deploymentRunEvents":({.*"cursor".*})}}$/gm)) {
      seen.push(JSON.parse(event ?? ''))
      await world.endTurns()
      if (seen.length === 1) await call('POST', `/${id}/run`)
      else if (seen.length === 2) await fireAt(30)
      else await call('DELETE', `/${id}`)
    }
  const scheduled = {
    trigger: { __typename: 'ScheduledRun', scheduleId: schedule?.id, schedule: { cron: '0 9 * * *' } },
    session: { source: { id: schedule?.id } },
  }
  expect(seen).toMatchObject([
    { cursor: '1', run: scheduled },
    { cursor: '2', run: { trigger: { __typename: 'ManualRun' } } },
    { cursor: '3', run: scheduled },
  ])
})
