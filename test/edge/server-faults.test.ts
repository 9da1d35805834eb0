/** What the owner of a database may do to it that would shut others out: it is noticed, and set back. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { askForFaults } from '#src/resources/infra/databases/server-faults.ts'
import { makeSilentNode, makeVmRow } from '../support/makers.ts'
import { until } from '../support/until.ts'
import { openDatabasesWorld, type DatabasesWorld } from './databases-world.ts'

let world: DatabasesWorld
beforeAll(async () => {
  world = await openDatabasesWorld()
  const { db } = world.berth.services
  const vm = await makeVmRow(db, await world.berth.token('alice', 'acme'), await makeSilentNode(db))
  await world.change(world.known, sql`client_mode_enabled = true, vm_id = ${decodeId('vm', vm)}`)
})
afterAll(() => world.close())

const asNobody = () => world.client({ user: 'anon', password: '' })
const passing = { code: '57P03', message: expect.stringContaining('try again in a moment') as unknown }
const setups = async (): Promise<number | undefined> =>
  (
    await sql<{ count: number }>`select count(*)::int as count from pgboss.job
      where name like 'databases-set-up/%' and data ->> 'databaseId' = ${world.known.row.id}`.execute(
      world.berth.services.db,
    )
  ).rows[0]?.count

/** What the node finds. */
async function faults(): Promise<string> {
  const superuser = await world.superuser()
  const { rows } = await superuser.query({ text: askForFaults(world.known.row), rowMode: 'array' })
  await superuser.end()
  return rows.flat().join(', ')
}
/** Runs statements as the owner, or as the superuser where an owner could not; whoever comes next has a new connection to the server. */
async function run(text: string, as: 'owner' | 'superuser'): Promise<void> {
  const client = await (as === 'owner' ? world.client() : world.superuser())
  for (const setting of ['set role none', 'set default_transaction_read_only = off']) await client.query(setting)
  await client.query(text.replaceAll('{owner}', world.known.row.pgUser))
  await client.end()
  const superuser = await world.superuser()
  await superuser.query('set role none') // as the node begins
  await superuser.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() and datname = 'app'",
  )
  await superuser.end()
  await until('no connection is left', () => world.proxy.totals().backends === 0)
}

test('a server as it was set up has no faults', async () => {
  expect(await faults()).toBe('')
})

/** Statements of an owner, what is found then, and whether somebody is shut out until it is set back. */
test.each([
  ['alter database app connection limit 0', 'had a connection limit', true],
  ['alter database app with is_template true', 'was a template', false],
  ['revoke connect on database app from {owner}', '{owner} could not connect', true],
  ['revoke connect on database app from berth_claims', 'berth_claims could not connect', true],
  ['revoke all on database app from berth_anonymous', 'berth_anonymous could not connect', false],
  [
    'revoke connect on database app from {owner}, berth_claims, berth_authenticated, berth_anonymous; alter database app connection limit 1',
    'had a connection limit',
    true,
  ],
])('after %j by its owner that is found, and set back', async (text, found, shutsOut) => {
  const before = (await setups()) ?? 0
  await run(text, 'owner')
  expect(await faults()).toContain(found.replace('{owner}', world.known.row.pgUser))
  if (shutsOut) {
    const tried = await Promise.allSettled([world.client(), asNobody()])
    const refusals = tried.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []))
    expect(refusals.length).toBeGreaterThan(0)
    for (const refusal of refusals) expect(refusal).toMatchObject(passing)
    for (const one of tried) if (one.status === 'fulfilled') await one.value.end()
    if (before === 0) await until('the login has asked for it', async () => (await setups()) === 1) // once in ten seconds
  }
  await world.setUp()
  expect(await faults()).toBe('')
  for (const client of [await world.client(), await asNobody()]) {
    expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    await client.end()
  }
})

test.each([
  ['alter role berth_anonymous nologin', 'berth_anonymous could not log in'],
  ['alter role {owner} connection limit 0', '{owner} could not log in'],
  ["alter role berth_claims valid until '2001-01-01'", 'berth_claims could not log in'],
  ['alter database app owner to postgres', 'had another owner'],
  ["comment on role berth_claims is 'set up by an older version'", 'set up by another version'],
])('%j, however it came about, is found and set back', async (text, found) => {
  await run(text, 'superuser')
  expect(await faults()).toContain(found.replace('{owner}', world.known.row.pgUser))
  await world.setUp()
  expect(await faults()).toBe('')
})

test('settings of the database that an owner chose keep nobody without the token out', async () => {
  await run(
    `alter database app set default_transaction_read_only = on; alter database app set search_path = nowhere;
     alter database app set default_transaction_isolation = 'serializable'; alter database app set role = anon`,
    'owner',
  )
  const nobody = await asNobody()
  expect((await nobody.query('select auth.role() as role, auth.claims() as claims')).rows).toEqual([
    { role: 'anon', claims: { role: 'anon' } },
  ])
  await nobody.end()
  await run('alter database app reset all', 'owner')
})
