/** How many agents, environments, vaults, sessions and processes there may be: one more is refused with a sentence, for its organization only. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkRoughCount } from '#src/platform/metrics/counts.ts'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { findOne, sql, transaction } from '#src/platform/postgres.ts'
import { addBuildCache } from '#src/resources/infra/builds/caches.ts'
import { checkAtWork } from '#src/resources/agents/sessions/rows.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { startWithoutBuilder, submitRunning, uuidOf } from '../support/builds.ts'
import { idsOf, makeSilentNode, makeVmRow } from '../support/makers.ts'
import { makeSessionRow } from '../support/sessions.ts'

let berth: Berth
let token: string
let other: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  token = await berth.token()
  other = await berth.token('bob', 'second')
})
afterAll(() => berth.stop())

/** Copies a row of the table until its organization has so many; each with an id, and a name where there is one, of its own. */
async function fill(table: 'agents' | 'environments' | 'vaults', most: number): Promise<void> {
  const { organizationId } = idsOf(token)
  const { rows } = await sql<{ name: string }>`
    select column_name as name from information_schema.columns where table_name = ${table} and is_generated = 'NEVER'`.execute(
    berth.services.db,
  )
  const columns = sql.join(rows.map(({ name }) => sql.ref(name)))
  const copies = sql.join(rows.map(({ name }) => sql.ref(`made.${name}`)))
  await sql`
    insert into ${sql.table(table)} (${columns}) select ${copies}
    from (select * from ${sql.table(table)} where organization_id = ${organizationId} limit 1) original, generate_series(2, ${most}::int) n,
      lateral jsonb_populate_record(null::${sql.table(table)}, to_jsonb(original) || jsonb_build_object('id', gen_random_uuid())
        || case when to_jsonb(original) ? 'name' then jsonb_build_object('name', 'copy-' || n) else '{}' end) made`.execute(
    berth.services.db,
  )
}

describe('an organization has at most so many', () => {
  test.each([
    ['agents', limits.agentsMax, '/agents/v1/agents', { name: 'helper', model: 'berth/demo' }],
    ['environments', limits.environmentsMax, '/agents/v1/environments', { name: 'work' }],
    ['vaults', limits.vaultsMax, '/agents/v1/vaults', { display_name: 'mine' }],
  ] as const)('%s', async (noun, most, path, body) => {
    const create = (as: string, name: string) =>
      berth.call<{ error?: { type: string; message: string } }>('POST', path, {
        token: as,
        body: 'name' in body ? { ...body, name } : body,
      })
    expect((await create(token, 'first')).status).toBe(201)
    await fill(noun, most)
    expect(await create(token, 'last')).toMatchObject({
      status: 429,
      body: {
        error: { type: 'rate_limit_error', message: expect.stringContaining(`${most} ${noun}, which is the limit`) },
      },
    })
    expect((await create(other, 'first')).status).toBe(201)
  })

  test('sessions, counted once a minute', async () => {
    const { db } = berth.services
    const check = (as: string) =>
      checkRoughCount(db, idsOf(as).organizationId, {
        rows: sql`sessions where organization_id = ${idsOf(as).organizationId}`,
        nouns: 'sessions',
        most: 3,
        advice: 'Delete one.',
      })
    await makeSessionRow(db, token)
    await check(token)
    await check(token) // two were let through since one was counted
    await expect(check(token)).rejects.toMatchObject({
      code: 'rate_limited',
      message: 'Your organization has 3 sessions, which is the limit. Delete one.',
    })
    await check(token) // counted anew: those that were let through were never made
    await check(other)
  })

  test('running sessions', async () => {
    const { organizationId } = idsOf(token)
    for (let made = 0; made < 3; made++) await makeSessionRow(berth.services.db, token)
    await sql`update sessions set status = ${'running'}, running_since = now() where id in (select id from sessions where organization_id = ${organizationId} limit 3)`.execute(
      berth.services.db,
    )
    const check = (rateLimitFactor: number) =>
      transaction(berth.services.db, (tx) => checkAtWork({ rateLimitFactor }, tx, organizationId))
    await check(1)
    await expect(check(3 / limits.sessionsAtWorkMax)).rejects.toMatchObject({
      code: 'rate_limited',
      message: expect.stringContaining('Your organization has 3 running sessions'),
    })
  })
})

test('an agent has at most so many versions', async () => {
  const {
    body: { id },
  } = await berth.call<{ id: string }>('POST', '/agents/v1/agents', {
    token: other,
    body: { name: 'often', model: 'berth/demo' },
  })
  await sql`update agents set version = ${limits.agentVersionsMax} where id = ${decodeId('agent', id)}`.execute(
    berth.services.db,
  )
  expect(
    await berth.call('PATCH', `/agents/v1/agents/${id}`, {
      token: other,
      body: { version: limits.agentVersionsMax, name: 'changed' },
    }),
  ).toMatchObject({ status: 429 })
})

test('a VM has at most so many running background processes', async () => {
  const { db } = berth.services
  const vm = await makeVmRow(db, other, await makeSilentNode(db))
  await sql`insert into vm_processes (id, vm_id, command, status) select gen_random_uuid(), ${decodeId('vm', vm)}, 'sleep', 'running' from generate_series(1, ${limits.processesRunningMax}::int)`.execute(
    db,
  )
  const started = await berth.call('POST', `/api/v1/vms/${vm}/envd/exec`, {
    token: other,
    body: { command: 'true', background: true },
  })
  expect(started).toMatchObject({
    status: 429,
    body: { error: 'rate_limited', message: expect.stringContaining('1000 background processes') },
  })
})

test('an organization’s builds have at most so many caches, and the others run without one', async () => {
  const { berth: builds, token: owner, node } = await startWithoutBuilder()
  try {
    const { organizationId } = idsOf(owner)
    const id = uuidOf(await submitRunning(builds, owner))
    const add = (repoKey: string) =>
      addBuildCache(builds.services.db, { id, organizationId, repoKey, nodeId: node }, newUuid())
    for (let repo = 0; repo < limits.buildCachesMax; repo++) expect(await add(`repo-${repo}`)).toBe(true)
    expect(await add('one-more')).toBe(false)
    expect(
      await findOne(builds.services.db, sql`select 1 from build_caches where repo_key = 'one-more'`),
    ).toBeUndefined()
  } finally {
    await builds.stop()
  }
})
