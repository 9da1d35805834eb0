/** Runs of a deployment that nobody asked for: what schedules and triggers start. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { change, findAll, getOne, sql, transaction } from '#src/platform/postgres.ts'
import { archiveDeployment, createDeployment, deleteDeployment } from '#src/resources/agents/deployments.ts'
import { deploymentLimits } from '#src/resources/agents/deployments/limits.ts'
import { findDeploymentRow, type Deployment, type RunTrigger } from '#src/resources/agents/deployments/rows.ts'
import { followRuns } from '#src/resources/agents/deployments/runs.ts'
import { startDeployment, type StartedRun } from '#src/resources/agents/deployments/starting.ts'
import { pauseIfActive, pausedByOwner } from '#src/resources/agents/deployments/states.ts'
import type { Call } from '#src/platform/services.ts'
import { findMember } from '#src/resources/identity/memberships.ts'
import { callAgents } from '../../support/agents-service.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { idsOf } from '../../support/makers.ts'

let berth: Berth
let token: string
let agent: string
let deployment: Deployment
let call: Call
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
})
afterAll(() => berth.stop())

const make = async (path: string, body: unknown): Promise<string> =>
  (await callAgents<{ id: string }>(berth, token, 'POST', path, body)).body.id
let number = 0
beforeEach(async () => {
  token = await berth.token(`alice${++number}`, `acme${number}`, 'owner')
  agent = await make('/agents', { name: 'helper', model: 'berth/demo' })
  const caller = await findMember(berth.services.db, idsOf(token), 'test')
  if (!caller) throw new Error('the token names no member')
  call = { ...berth.services, caller, requestId: 'req_test' }
  const order = { name: 'nightly', agent: { agent: { id: agent } }, metadata: { a: 'b' } }
  deployment = await createDeployment(call, { ...order, kickoff: { text: 'Do it.' } })
})

const tick: RunTrigger = { type: 'schedule', scheduled_at: '2026-01-01T00:00:00.000Z', schedule_id: 'sch_1' }
const startOne = (trigger: RunTrigger = tick): Promise<StartedRun | undefined> =>
  transaction(berth.services.db, (tx) => startDeployment(berth.services, tx, deployment, { trigger }))
const now = (): Promise<Deployment | undefined> => findDeploymentRow(berth.services.db, deployment.id)

test('a schedule starts a session that says where it came from, and the run is recorded', async () => {
  const started = await startOne()
  expect(started?.session).toMatchObject({ source: 'schedule', deploymentId: deployment.id, title: 'nightly' })
  expect(started?.run).toMatchObject({ position: 1, trigger: tick, sessionId: started?.session?.id, error: null })
  expect((await now())?.lastRunAt).not.toBeNull()
})

test('what it is told may be more than the deployment says', async () => {
  const started = await transaction(berth.services.db, (tx) =>
    startDeployment(berth.services, tx, deployment, {
      trigger: { type: 'trigger', trigger_id: 'trg_1', delivery_id: 'd' },
      kickoff: { events: [...deployment.kickoff.events, ...deployment.kickoff.events] },
    }),
  )
  const events = await findAll(
    berth.services.db,
    sql`select id from session_events where session_id = ${started?.session?.id} and type = 'user.message'`,
  )
  expect(events).toHaveLength(2)
})

describe('a failure', () => {
  test('that lasts is recorded and pauses, with its type', async () => {
    await callAgents(berth, token, 'POST', `/agents/${agent}/archive`)
    expect((await startOne())?.run).toMatchObject({ sessionId: null, error: { type: 'agent_archived_error' } })
    expect(await now()).toMatchObject({
      status: 'paused',
      pausedReason: { type: 'error', error: { type: 'agent_archived_error' } },
      lastRunAt: null,
    })
  })

  test('of the agent that a trigger brings does not pause, and an archived deployment stays as it is', async () => {
    const other = await make('/agents', { name: 'other', model: 'berth/demo' })
    await callAgents(berth, token, 'POST', `/agents/${other}/archive`)
    const brought = { id: decodeId('agent', other) ?? '', version: null }
    const fired: RunTrigger = { type: 'trigger', trigger_id: 'trg_1', delivery_id: 'd' }
    const started = await transaction(berth.services.db, (tx) =>
      startDeployment(berth.services, tx, deployment, { trigger: fired, agent: brought }),
    )
    expect(started?.error?.type).toBe('agent_archived_error')
    expect((await now())?.status).toBe('active')
    await archiveDeployment(call, encodeId('deployment', deployment.id))
    const paused = await transaction(berth.services.db, (tx) => pauseIfActive(tx, deployment.id, pausedByOwner))
    expect(paused).toBeUndefined()
  })

  test('because its owner is a viewer by now pauses as unknown_error, as Anthropic’s words have no other', async () => {
    const { organizationId, userId } = idsOf(token)
    await change(
      berth.services.db,
      sql`update memberships set role = 'viewer' where organization_id = ${organizationId} and user_id = ${userId}`,
    )
    expect((await startOne())?.run.error?.type).toBe('session_creation_rejected_error')
    expect((await now())?.pausedReason).toEqual({ type: 'error', error: { type: 'unknown_error' } })
  })

  test('by a limit does not pause', async () => {
    await change(
      berth.services.db,
      sql`insert into environments (id, organization_id, owner_user_id, name, config, status, ephemeral)
      select gen_random_uuid(), organization_id, owner_user_id, 'run-' || n, '{"type": "vm"}', 'ready', true from deployments, generate_series(1, 60) n where deployments.id = ${deployment.id}`,
    )
    await change(
      berth.services.db,
      sql`update deployments set environment_type = 'ephemeral' where id = ${deployment.id}`,
    )
    deployment = (await now()) ?? deployment
    expect((await startOne())?.error?.type).toBe('session_rate_limited_error')
    expect((await now())?.status).toBe('active')
  })

  test('of a run by hand does not pause either', async () => {
    await callAgents(berth, token, 'POST', `/agents/${agent}/archive`)
    expect((await startOne({ type: 'manual' }))?.error?.type).toBe('agent_archived_error')
    expect((await now())?.status).toBe('active')
  })
})

test('its runs are followed as they start, those after a cursor first, until it is deleted', async () => {
  await startOne()
  const runs = await followRuns(call, encodeId('deployment', deployment.id), '0')
  expect((await runs.next()).value).toMatchObject({ position: 1, trigger: tick })
  const next = runs.next()
  const started = await startOne({ type: 'manual' })
  expect((await next).value).toMatchObject({ position: 2, sessionId: started?.session?.id })
  const end = runs.next()
  await deleteDeployment(call, encodeId('deployment', deployment.id))
  expect((await end).done).toBe(true)
})

test('one that is deleted meanwhile starts nothing', async () => {
  await change(berth.services.db, sql`delete from deployments where id = ${deployment.id}`)
  await transaction(berth.services.db, async (tx) => {
    expect(await startDeployment(berth.services, tx, deployment, { trigger: tick })).toBeUndefined()
  })
  const { count } = await getOne<{ count: number }>(
    berth.services.db,
    sql`select count(*) from sessions where deployment_id = ${deployment.id}`,
  )
  expect(count).toBe(0)
})

test('the oldest records are deleted when there are too many', async () => {
  const { db } = berth.services
  await change(
    db,
    sql`insert into deployment_runs (id, deployment_id, organization_id, owner_user_id, position, agent_id, agent_version, session_id, trigger)
    select gen_random_uuid(), id, organization_id, owner_user_id, n, agent_id, 1, gen_random_uuid(), '{"type": "manual"}' from deployments, generate_series(1, 5) n where id = ${deployment.id}`,
  )
  const next = deploymentLimits.runsKept + deploymentLimits.runsTrimmedEvery
  await change(db, sql`update deployments set run_position = ${next - 1} where id = ${deployment.id}`)
  await startOne()
  const left = await findAll<{ position: number }>(
    db,
    sql`select position from deployment_runs where deployment_id = ${deployment.id}`,
  )
  expect(left).toEqual([{ position: next }])
})

test('deleting the agent deletes its deployments with it', async () => {
  expect(decodeId('agent', agent)).toBe(deployment.agentId)
  expect((await callAgents(berth, token, 'DELETE', `/agents/${encodeId('agent', deployment.agentId)}`)).status).toBe(
    204,
  )
  expect(await now()).toBeUndefined()
})
