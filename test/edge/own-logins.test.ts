/** Logins of clients without the token, each of which has a role of its own: those of other processes, and of earlier versions. */
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import { roomOf } from '#src/edge/postgres/shares.ts'
import { limits } from '#src/platform/limits.ts'
import { setUpTopic } from '#src/resources/infra/databases/jobs.ts'
import { openLogins } from '#src/resources/infra/databases/setup.ts'
import { makeSilentNode, makeVmRow } from '../support/makers.ts'
import { until } from '../support/until.ts'
import { openDatabasesWorld, type DatabasesWorld } from './databases-world.ts'

let world: DatabasesWorld
beforeAll(async () => {
  world = await openDatabasesWorld({}, { setUpSeconds: 60 })
  const { db } = world.berth.services
  const vm = await makeVmRow(db, await world.berth.token('alice', 'acme'), await makeSilentNode(db))
  await world.change(world.known, sql`client_mode_enabled = true, vm_id = ${decodeId('vm', vm)}`)
})
afterAll(() => world.close())

const logins = roomOf('anonymous', limits.postgresBackendsMax)
let names = 0
/** A client with a server connection that began just now. */
const enter = () => world.client({ user: 'anon', password: '', application_name: `client ${names++}` })

/** Takes logins as another process would that lets clients of the same database in. */
async function hold(numbers: readonly number[]): Promise<pg.Client[]> {
  const superuser = await world.superuser()
  await superuser.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where usename like 'berth_%' and datname = 'app'",
  )
  await until('this process has none', () => world.proxy.totals().backends === 0)
  for (const number of numbers) await superuser.query("select auth.prepare_login('anonymous', $1)", [number])
  const password = openLogins(world.berth.services.sealer, world.known.row).anonymous
  const held = []
  for (const number of numbers) {
    const { host, port } = superuser
    const client = new pg.Client({ host, port, user: `berth_anonymous_${number}`, password, database: 'app' })
    await client.connect()
    held.push(client)
  }
  await superuser.end()
  return held
}

test('a client finds a login beside another process that has half of them, in whatever order', async () => {
  const held = await hold(Array.from({ length: logins / 2 }, (_, at) => (process.pid + at) % logins))
  const client = await enter()
  expect((await client.query('select auth.role() as role')).rows).toEqual([{ role: 'anon' }])
  await client.end()
  for (const one of held) await one.end()
})

test('while all logins are taken a client is told that there is no room, and the server is not set up again', async () => {
  const held = await hold(Array.from({ length: logins }, (_, at) => at))
  await expect(enter()).rejects.toMatchObject({
    code: '53300',
    message: expect.stringContaining('try again in a moment') as unknown,
  })
  expect(await setups()).toBe(0)
  for (const one of held) await one.end()
  await (await enter()).end()
})

test('the first client of a server that an earlier version set up waits until it is set up again', async () => {
  const superuser = await world.superuser()
  await superuser.query(`alter extension plpgsql drop function auth.prepare_login(text, integer);
    drop function auth.prepare_login(text, integer)`)
  await superuser.end()
  const entering = [enter(), enter()]
  const settled = Promise.allSettled(entering)
  await until('its node is asked', async () => (await setups()) === 1)
  await world.setUp() // as the node does
  publish(world.berth.services.db, setUpTopic, world.known.row.id)
  expect((await settled).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
  for (const client of await Promise.all(entering)) await client.end()
})

async function setups(): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from pgboss.job
    where name like 'databases-set-up/%'`.execute(world.berth.services.db)
  return rows[0]?.count ?? 0
}
