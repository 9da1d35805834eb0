/** Schedules over REST and GraphQL: what may be made and changed, and by whom. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#src/platform/ids.ts'
import { callAgents, makeAgent, refusal } from '../../support/agents-service.ts'
import { startScheduleWorld, type ScheduleWorld } from './world.ts'

let world: ScheduleWorld
beforeAll(async () => {
  world = await startScheduleWorld()
})
afterAll(() => world.berth.stop())

const makeAnother = (token = world.token): Promise<string> => makeAgent(world.berth, token, { name: 'other' })

test('a schedule is made, read, listed, changed and deleted', async () => {
  const { call, agent } = world
  const kickoff = { text: null, events: [{ type: 'user.message', content: [{ type: 'text', text: 'Good morning.' }] }] }
  const order = { cron: '0  9 * * mon-fri', timezone: 'Europe/Rome', agent: { id: agent, version: 1 } }
  const { status, body: made } = await call('POST', '', { ...order, kickoff: 'Good morning.' })
  expect(status).toBe(201)
  expect(made).toEqual({
    id: expect.stringMatching(/^sch_/),
    type: 'schedule',
    name: null,
    cron: '0 9 * * mon-fri',
    timezone: 'Europe/Rome',
    enabled: true,
    kickoff: { ...kickoff, text: 'Good morning.' },
    agent: { type: 'agent', id: agent, version: 1 },
    deployment_id: null,
    overlap: 'skip',
    last_run_at: null,
    next_run_at: made.upcoming_runs_at[0],
    upcoming_runs_at: expect.any(Array),
    last_error: null,
    created_at: expect.any(String),
    updated_at: expect.any(String),
  })
  expect(made.upcoming_runs_at).toHaveLength(5)
  expect((await call('GET', `/${made.id}`)).body).toEqual(made)
  expect((await call('GET', '')).body.data).toEqual([made])
  const { body: off } = await call('PATCH', `/${made.id}`, { enabled: false, overlap: 'allow', kickoff: made.kickoff })
  expect(off).toMatchObject({ enabled: false, overlap: 'allow', next_run_at: null, upcoming_runs_at: [] })
  expect(off.kickoff).toEqual(made.kickoff)
  const { body: on } = await call('PATCH', `/${made.id}`, {
    enabled: true,
    cron: '5 4 * * *',
    timezone: 'UTC',
    kickoff,
  })
  expect(on).toMatchObject({
    enabled: true,
    cron: '5 4 * * *',
    kickoff,
    next_run_at: expect.stringMatching(/T04:05:00/),
  })
  expect((await call('DELETE', `/${made.id}`)).status).toBe(204)
  expect((await call('GET', `/${made.id}`)).status).toBe(404)
})

test('its name finds it again: nobody gives one twice, and two people may give the same', async () => {
  const { berth, call, agent, make } = world
  const named = await make({ agent, name: 'nightly' })
  expect(named).toMatchObject({ name: 'nightly' })
  const order = { cron: '0 9 * * *', timezone: 'UTC', agent, kickoff: 'Go.' }
  const refused = { status: 400, body: { type: 'error' } }
  expect(await call('POST', '', { ...order, name: 'nightly' })).toMatchObject(refused)
  const other = await make({ agent })
  const taken = await call('PATCH', `/${other.id}`, { name: 'nightly' })
  expect(taken).toMatchObject(refused)
  expect(taken.body.error?.message).toBe('You have a schedule of this name. Choose another one.')
  expect((await call('PATCH', `/${named.id}`, { enabled: false })).body).toMatchObject({ name: 'nightly' })
  expect((await call('PATCH', `/${named.id}`, { name: 'weekly' })).body).toMatchObject({
    name: 'weekly',
    enabled: false,
  })
  expect(await call('PATCH', `/${named.id}`, { name: '' })).toMatchObject(refused)
  const zoe = await berth.token('zoe', 'other', 'owner')
  expect((await call('POST', '', { ...order, name: 'weekly', agent: await makeAnother(zoe) }, zoe)).status).toBe(201)
})

test('the agent is given by its id, or as it is answered', async () => {
  const { agent } = world
  const one = await world.make({ agent })
  expect(one.agent).toEqual({ type: 'agent', id: agent, version: null })
  expect((await world.make({ agent: one.agent })).agent).toEqual(one.agent)
})

test('the list is narrowed by agent', async () => {
  const other = await makeAnother()
  const { id } = await world.make({ agent: other })
  expect((await world.call('GET', `?agent_id=${other}`)).body.data.map((one) => one.id)).toEqual([id])
  expect((await world.call('GET', `?agent_id=${newId('agent')}`)).body.data).toEqual([])
  expect((await world.call('GET', '?agent_id=nonsense')).body.data).toEqual([])
})

describe('refused, and the sentence says what to do:', () => {
  const valid = { cron: '0 9 * * *', timezone: 'UTC', kickoff: 'Go.' }
  test.each<[string, object, string]>([
    ['no cron', { cron: null }, 'invalid_request_error'],
    ['seconds', { cron: '0 0 9 * * *' }, 'invalid_cron'],
    ['@daily', { cron: '@daily' }, 'invalid_cron'],
    ['the last day', { cron: '0 0 L * *' }, 'invalid_cron'],
    ['a day that does not exist', { cron: '0 0 30 2 *' }, 'invalid_cron'],
    ['a range backwards', { cron: '30-10 * * * *' }, 'invalid_cron'],
    ['a step of nothing', { cron: '*/0 * * * *' }, 'invalid_cron'],
    ['much text', { cron: '1,'.repeat(100_000) }, 'invalid_cron'],
    ['no time zone', { timezone: undefined }, 'invalid_timezone'],
    ['an unknown time zone', { timezone: 'Mars/Olympus' }, 'invalid_timezone'],
    ['an offset', { timezone: '+01:00' }, 'invalid_timezone'],
    ['no kickoff', { kickoff: undefined }, 'invalid_request_error'],
    ['an empty kickoff', { kickoff: '' }, 'invalid_request_error'],
    ['neither agent nor deployment', { agent: undefined }, 'invalid_request_error'],
    ['an unknown overlap', { overlap: 'queue' }, 'invalid_request_error'],
    ['an unknown key', { colour: 'red' }, 'invalid_request_error'],
    ['a version of nothing', { agent: { id: 'agt_x', version: 0 } }, 'invalid_request_error'],
    ['overrides', { agent: { type: 'agent_with_overrides', id: 'agt_x' } }, 'invalid_request_error'],
  ])('%s', async (_, fields, code) => {
    const answer = await world.call('POST', '', { agent: world.agent, ...valid, ...fields })
    expect(answer).toMatchObject({ status: 400, body: { type: 'error', error: { message: expect.any(String) } } })
    expect(answer.body.error).toMatchObject(code === 'invalid_request_error' ? { type: code } : { code })
  })

  test('an agent that is not there, one of somebody else, and an archived one', async () => {
    const { berth, token } = world
    expect(await world.call('POST', '', { ...valid, agent: newId('agent') })).toMatchObject({ status: 404 })
    const eve = await berth.token('eve', 'evil', 'owner')
    expect(await world.call('POST', '', { ...valid, agent: world.agent }, eve)).toMatchObject({ status: 404 })
    const agent = await makeAnother()
    await callAgents(berth, token, 'POST', `/agents/${agent}/archive`)
    expect(await world.call('POST', '', { ...valid, agent })).toMatchObject(refusal(409, 'resource_archived'))
  })

  test('a change to what it cannot be', async () => {
    const { id, cron } = await world.make()
    for (const change of [{ cron: '@daily' }, { timezone: 'x' }, { enabled: null }, { kickoff: null }, { agent: 'x' }])
      expect((await world.call('PATCH', `/${id}`, change)).status, JSON.stringify(change)).toBe(400)
    expect((await world.shown(id)).cron).toBe(cron)
  })
})

test('nobody gets in without a token, a viewer makes none, and nobody else has it, not even a colleague', async () => {
  const { berth, call } = world
  const { id } = await world.make()
  expect((await berth.call('GET', '/agents/v1/schedules')).status).toBe(401)
  const viewer = await berth.token('victor', 'acme', 'viewer')
  expect((await call('POST', '', { cron: '* * * * *', timezone: 'UTC' }, viewer)).status).toBe(403)
  for (const other of [await berth.token('eve', 'evil', 'owner'), await berth.token('mia', 'acme', 'owner')]) {
    for (const method of ['GET', 'DELETE']) expect((await call(method, `/${id}`, undefined, other)).status).toBe(404)
    expect((await call('PATCH', `/${id}`, { enabled: false }, other)).status).toBe(404)
    expect((await call('GET', `/${id}/runs`, undefined, other)).status).toBe(404)
    expect((await call('GET', '', undefined, other)).body.data).toEqual([])
  }
})

test('in the graph it leads from its agent to its runs', async () => {
  const { berth, token, agent } = world
  const { id } = await world.make()
  await world.makeDue(id)
  await world.fire()
  const query = `{ agent(id: "${agent}") { schedules(first: 1) { nodes { id ownAgent { name } ownKickoff { text events { ... on KickoffMessage { content { ... on TextBlock { text } } } } }
    owner { id } organization { name } runs(first: 5) { totalCount nodes { status session { status sourceKind source { ... on Schedule { id cron } } } } } } } } }`
  const { body } = await berth.ask(query, { token })
  expect(body).toMatchObject({
    data: {
      agent: {
        schedules: {
          nodes: [
            {
              id,
              ownAgent: { name: 'helper' },
              ownKickoff: { text: 'Look around.', events: [{ content: [{ text: expect.any(String) }] }] },
              organization: { name: expect.any(String) },
              runs: {
                totalCount: 1,
                nodes: [
                  {
                    status: 'STARTED',
                    session: { sourceKind: 'SCHEDULE', source: { id, cron: '0 3 1 1 *' } },
                  },
                ],
              },
            },
          ],
        },
      },
    },
  })
})

test('deleting the agent deletes its schedules', async () => {
  const agent = await makeAnother()
  const { id } = await world.make({ agent })
  expect((await callAgents(world.berth, world.token, 'DELETE', `/agents/${agent}`)).status).toBe(204)
  expect((await world.call('GET', `/${id}`)).status).toBe(404)
})

test('every run is told to whoever follows the schedule, from any cursor, until it is deleted', async () => {
  const { berth, token } = world
  const { id } = await world.make({ overlap: 'allow' })
  for (const secondsAgo of [60, 50]) {
    await world.makeDue(id, secondsAgo)
    await world.fire()
  }
  const answer = await fetch(`${berth.url}/graphql`, {
    method: 'POST',
    headers: { accept: 'text/event-stream', 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({
      query: `subscription { scheduleEvents(id: "${id}", after: "1") { ... on ScheduleEvent { cursor run { status } } } }`,
    }),
  })
  const seen: string[] = []
  for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
    for (const [, cursor] of chunk.matchAll(/"cursor":"(\d+)","run":{"status":"STARTED"}/g)) {
      seen.push(cursor ?? '')
      if (cursor === '2') {
        await world.makeDue(id, 40)
        await world.fire()
      } else await world.call('DELETE', `/${id}`)
    }
  }
  expect(seen).toEqual(['2', '3'])
})
