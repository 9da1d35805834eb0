/** Starting a session on behalf of somebody who is not calling: what counts is what is there, and what they may do, now. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { decodeId, encodeId, newUuid } from '#src/platform/ids.ts'
import { startLimits } from '#src/platform/limits/starts.ts'
import { change, databaseAway, findOne, getOne, sql, transaction } from '#src/platform/postgres.ts'
import { readKickoff } from '#src/resources/agents/kickoffs.ts'
import { startOnBehalf, type Started, type StartOrder } from '#src/resources/agents/starts.ts'
import { isLastingError } from '#src/resources/agents/starts/errors.ts'
import { removeMembership } from '#src/resources/identity/members.ts'
import { setPlan } from '#src/resources/llm/billing.ts'
import { callAgents } from '../../support/agents-service.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { idsOf } from '../../support/makers.ts'
import { until } from '../../support/until.ts'

let berth: Berth
let token: string
let agentId: string
let order: StartOrder
const stored = (kind: 'agent' | 'vault' | 'environment', id: string): string => decodeId(kind, id) ?? ''
const make = async (path: string, body: unknown): Promise<string> =>
  (await callAgents<{ id: string }>(berth, token, 'POST', path, body)).body.id

beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
})
afterAll(() => berth.stop())

let number = 0
beforeEach(async () => {
  token = await berth.token(`alice${++number}`, `acme${number}`, 'owner')
  agentId = stored('agent', await make('/agents', { name: 'helper', model: 'berth/demo' }))
  order = {
    ...idsOf(token),
    agent: { id: agentId, version: null },
    environment: { type: 'none' },
    vaultIds: [],
    kickoff: readKickoff({ text: 'Do it.' }),
    budgetNanoUsd: null,
    metadata: { why: 'because' },
    source: 'schedule',
    deploymentId: null,
  }
})

const startOne = (change: Partial<StartOrder> = {}): Promise<Started> =>
  transaction(berth.services.db, (tx) => startOnBehalf(berth.services, tx, { ...order, ...change }))
const countOf = async (table: 'sessions' | 'environments'): Promise<number> =>
  (
    await getOne<{ count: number }>(
      berth.services.db,
      sql`select count(*) from ${sql.table(table)} where organization_id = ${order.organizationId}`,
    )
  ).count

test('a session starts with the kickoff as its owner’s, and its owner reads it', async () => {
  const { session } = await startOne({ title: 'Nightly' })
  const id = encodeId('session', session?.id ?? '')
  expect((await callAgents(berth, token, 'GET', `/sessions/${id}`)).body).toMatchObject({
    status: 'running',
    source: 'schedule',
    title: 'Nightly',
    metadata: { why: 'because' },
    agent: { version: 1 },
  })
  const { body } = await callAgents<{ data: unknown[] }>(berth, token, 'GET', `/sessions/${id}/events`)
  expect(body.data[0]).toMatchObject({ type: 'user.message', content: [{ type: 'text', text: 'Do it.' }] })
})

test('the newest version of the agent starts, unless one is pinned', async () => {
  await callAgents(berth, token, 'PATCH', `/agents/${encodeId('agent', agentId)}`, { version: 1, system: 'Be brief.' })
  expect((await startOne()).session?.agentVersion).toBe(2)
  expect((await startOne({ agent: { id: agentId, version: 1 } })).session?.agentVersion).toBe(1)
})

test('it works in an environment of the person’s, or in a fresh one of its own', async () => {
  const environmentId = stored('environment', await make('/environments', { name: 'work', config: { vcpu: 1 } }))
  expect((await startOne({ environment: { type: 'existing', environmentId } })).session).toMatchObject({
    environmentId,
    kind: 'computer',
  })
  const own = (await startOne({ environment: { type: 'ephemeral', config: null } })).session?.environmentId
  expect(own).not.toBe(environmentId)
  const environment = await getOne<{ ephemeral: boolean }>(
    berth.services.db,
    sql`select ephemeral from environments where id = ${own}`,
  )
  expect(environment.ephemeral).toBe(true)
})

describe('nothing starts, nothing is left behind, and the answer says why', () => {
  const refused = async (type: string, change: Partial<StartOrder> = {}): Promise<Started> => {
    const before = await countOf('environments')
    const started = await startOne({ environment: { type: 'ephemeral', config: null }, ...change })
    expect(started).toMatchObject({ error: { type, message: expect.stringMatching(/^[A-Za-z].*(\.|: npm run .*)$/) } })
    expect([await countOf('sessions'), await countOf('environments')]).toEqual([0, before])
    return started
  }
  const post = (path: string): Promise<unknown> => callAgents(berth, token, 'POST', path)

  test('with an archived agent', async () => {
    await post(`/agents/${encodeId('agent', agentId)}/archive`)
    await refused('agent_archived_error')
  })

  test('in an archived environment, or one that is gone', async () => {
    const id = await make('/environments', { name: 'work' })
    const environment = { type: 'existing', environmentId: stored('environment', id) } as const
    await post(`/environments/${id}/archive`)
    await refused('environment_archived_error', { environment })
    await callAgents(berth, token, 'DELETE', `/environments/${id}`)
    await refused('environment_not_found_error', { environment })
  })

  test('with an archived vault, one that is gone, or a colleague’s', async () => {
    const id = await make('/vaults', { display_name: 'work' })
    const vaultIds = [stored('vault', id)]
    await post(`/vaults/${id}/archive`)
    await refused('vault_archived_error', { vaultIds })
    await callAgents(berth, token, 'DELETE', `/vaults/${id}`)
    await refused('vault_not_found_error', { vaultIds })
    const colleague = await berth.token(`bob${number}`, `acme${number}`, 'member')
    const { body } = await callAgents<{ id: string }>(berth, colleague, 'POST', '/vaults', { display_name: 'theirs' })
    await refused('vault_not_found_error', { vaultIds: [stored('vault', body.id)] })
  })

  test('for somebody who is only a viewer by now, or has left', async () => {
    const { userId, organizationId } = idsOf(token)
    const set = (values: ReturnType<typeof sql>): Promise<number> =>
      change(
        berth.services.db,
        sql`update memberships set ${values} where user_id = ${userId} and organization_id = ${organizationId}`,
      )
    await set(sql`role = 'viewer'`)
    expect((await refused('session_creation_rejected_error')).refusal?.code).toBe('not_permitted_for_role')
    await set(sql`deactivated_at = now()`)
    expect((await refused('session_creation_rejected_error')).error?.message).toMatch(/has left the organization/)
  })

  test('in an organization that is deactivated, or has no plan', async () => {
    const { db } = berth.services
    await setPlan(db, order.organizationId, null)
    expect((await refused('organization_disabled_error')).refusal?.status).toBe(402)
    await change(db, sql`update organizations set deactivated_at = now() where id = ${order.organizationId}`)
    await refused('organization_disabled_error')
  })

  test('while the organization starts environments too fast, which is not lasting', async () => {
    await change(
      berth.services.db,
      sql`insert into environments (id, organization_id, owner_user_id, name, config, status, ephemeral)
      select gen_random_uuid(), ${order.organizationId}, ${order.userId}, 'run-' || n, '{"type": "vm"}', 'ready', true from generate_series(1, ${startLimits.environmentsPerMinute}) n`,
    )
    await refused('session_rate_limited_error')
    expect(isLastingError('session_rate_limited_error')).toBe(false)
    expect((await startOne()).session).toBeDefined()
  })

  test('with a template that is gone', async () => {
    const config = { type: 'vm', template_id: `tpl_${encodeId('vm', newUuid()).slice(3)}` } as never // only its template matters
    await refused('session_creation_rejected_error', { environment: { type: 'ephemeral', config } })
  })
})

test('what the caller wrote before in its transaction stays, and it goes on', async () => {
  await callAgents(berth, token, 'POST', `/agents/${encodeId('agent', agentId)}/archive`)
  const { db } = berth.services
  await transaction(db, async (tx) => {
    await change(tx, sql`update organizations set name = name || ' (new)' where id = ${order.organizationId}`)
    expect((await startOnBehalf(berth.services, tx, order)).error).toBeDefined()
    expect((await startOnBehalf(berth.services, tx, order)).error).toBeDefined()
  })
  const { name } = await getOne<{ name: string }>(
    db,
    sql`select name from organizations where id = ${order.organizationId}`,
  )
  expect(name).toMatch(/\(new\)$/)
})

test('whoever removes its owner meanwhile waits, and the session that has started is stopped', async () => {
  const { db } = berth.services
  const { organizationId, userId } = order
  const { id } = await getOne<{ id: string }>(
    db,
    sql`update memberships set role = 'member' where user_id = ${userId} and organization_id = ${organizationId} returning id`,
  )
  let removing: Promise<unknown> = Promise.resolve()
  const { session } = await transaction(db, async (tx) => {
    const started = await startOnBehalf(berth.services, tx, order)
    removing = removeMembership(berth.services, organizationId, id)
    await until('the removal waits for the start', async () => {
      const waiting = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return (await findOne(db, waiting)) !== undefined
    })
    return started
  })
  await removing
  const { status } = await getOne<{ status: string }>(db, sql`select status from sessions where id = ${session?.id}`)
  expect(status).toBe('idle')
})

test('a fault of ours is thrown, and is not the answer', async () => {
  const broken = {
    ...berth.services,
    jobs: { ...berth.services.jobs, enqueueEach: () => Promise.reject(databaseAway()) },
  }
  await expect(transaction(berth.services.db, (tx) => startOnBehalf(broken, tx, order))).rejects.toThrow(
    'The database is not reachable',
  )
  expect(await countOf('sessions')).toBe(0)
})
