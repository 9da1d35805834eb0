/** Logins of roles that the owner of a database has made on its server: while that runs, and while it sleeps. */
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { limits } from '#src/platform/limits.ts'
import { decodeId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { roomOf } from '#src/edge/postgres/shares.ts'
import { databaseRoleLimits } from '#src/resources/infra/databases/limits.ts'
import { findStoredRoles, storeRoles, type OwnersRole } from '#src/resources/infra/databases/roles.ts'
import { makeSilentNode, makeVmRow } from '../support/makers.ts'
import { until } from '../support/until.ts'
import { openDatabasesWorld, type DatabasesWorld } from './databases-world.ts'

let world: DatabasesWorld
let superuser: pg.Client
beforeAll(async () => {
  world = await openDatabasesWorld()
  superuser = await world.superuser()
  const { db } = world.berth.services
  const vm = await makeVmRow(db, await world.berth.token('alice', 'acme'), await makeSilentNode(db))
  await world.change(world.known, sql`vm_id = ${decodeId('vm', vm)}`)
})
afterAll(async () => {
  await superuser.end()
  await world.close()
})
beforeEach(() => run('running'))

const run = async (status: string): Promise<void> =>
  void (await sql`update vms set status = ${status} where id = ${world.known.row.vmId}`.execute(
    world.berth.services.db,
  ))

/** Makes a role as Postgres 17 does where an owner makes it: for the owner to administer. */
async function make(name: string, password = 'its own'): Promise<{ user: string; password: string }> {
  await superuser.query(`drop role if exists ${name}; create role ${name} login password '${password}';
    grant ${name} to ${world.known.row.pgUser} with admin option; grant connect on database app to ${name}`)
  return { user: name, password }
}

const whoIs = async (options: Partial<pg.ClientConfig> & { host?: string }): Promise<unknown> => {
  const client = await world.client(options)
  try {
    return (await client.query('select session_user::text as who')).rows[0]
  } finally {
    await client.end()
  }
}

test('a role logs in by its own password, as itself, at the host name or behind the name of the owner', async () => {
  const role = await make('reader')
  expect(await whoIs(role)).toEqual({ who: 'reader' })
  expect(await whoIs({ ...role, user: `reader.${world.known.row.pgUser}`, host: 'elsewhere' })).toEqual({
    who: 'reader',
  })
  for (const wrong of [
    { password: 'wrong' },
    { password: world.known.token },
    { host: 'elsewhere' },
    { host: world.foreign.host },
    { user: `reader.${world.foreign.row.pgUser}` },
    { user: 'readers' },
  ])
    await expect(whoIs({ ...role, ...wrong })).rejects.toMatchObject({ code: '28P01' })
})

test('a role that Berth has made, or the superuser, does not get in, whatever its password is', async () => {
  await superuser.query(
    "create role made_by_berth login password 'known' in role berth_logins; alter role postgres password 'known'",
  )
  for (const user of ['made_by_berth', 'postgres', 'berth_claims', 'berth_authenticated'])
    await expect(whoIs({ user, password: 'known' })).rejects.toMatchObject({ code: '28P01' })
  const superRole = await make('mighty')
  await superuser.query('alter role mighty superuser')
  await expect(whoIs(superRole)).rejects.toMatchObject({ code: '28P01' })
  await superuser.query('alter role mighty nosuperuser nologin')
  await expect(whoIs(superRole)).rejects.toMatchObject({ code: '28P01' })
})

test('a role that is made again gets no connection of the one before it', async () => {
  const role = await make('short_lived')
  const before = await world.client(role)
  await before.query('select 1')
  await before.end()
  await superuser.query('drop owned by short_lived')
  await make('short_lived', 'another')
  await expect(whoIs(role)).rejects.toMatchObject({ code: '28P01' })
  const again = await world.client({ user: 'short_lived', password: 'another' })
  expect((await again.query("select has_database_privilege('app', 'connect') as may")).rows).toEqual([{ may: true }])
  await again.end()
})

test('what the server refuses is told in its own words, to those alone who know the password', async () => {
  const role = await make('refused')
  await superuser.query('revoke connect on database app from refused')
  await expect(whoIs(role)).rejects.toMatchObject({
    code: '42501',
    message: expect.stringContaining('permission denied'),
  })
  await expect(whoIs({ ...role, password: 'wrong' })).rejects.toMatchObject({ code: '28P01' })
  await expect(whoIs({ database: 'missing' })).rejects.toMatchObject({
    code: '3D000',
    message: 'database "missing" does not exist',
    hint: expect.stringContaining('The address ends in the name of a database: /app'),
  })
  await expect(whoIs({ database: 'missing', password: 'wrong' })).rejects.toMatchObject({ code: '28P01' })
})

test('nobody waits in a database that the owner has made, so that it can be dropped', async () => {
  await superuser.query(`create database apart owner ${world.known.row.pgUser}`)
  expect(await whoIs({ database: 'apart' })).toEqual({ who: world.known.row.pgUser })
  await superuser.query('drop database apart')
})

test('while the server sleeps, a right password wakes it and a wrong one does not', async () => {
  const role = await make('sleeper')
  const { services } = world.berth
  const { id } = world.known.row
  const { rows } = await superuser.query<{ verifier: string }>(
    "select rolpassword as verifier from pg_authid where rolname = 'sleeper'",
  )
  const stored = { name: 'sleeper', canLogin: true, verifier: rows[0]?.verifier } as OwnersRole // what a login reads
  await storeRoles(services, id, [stored, { ...stored, name: 'no_login', canLogin: false }])
  await until('no connection is open', async () => {
    await superuser.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where usename is distinct from 'postgres'",
    )
    return world.proxy.totals().backends === 0
  })
  await run('paused')
  const { reached } = world
  for (const wrong of [{ password: 'wrong' }, { user: 'no_login' }, { user: 'nobody' }])
    await expect(whoIs({ ...role, ...wrong })).rejects.toMatchObject({ code: '28P01' })
  expect(world.reached).toBe(reached)
  expect(await whoIs(role)).toEqual({ who: 'sleeper' })
  expect(world.reached).toBeGreaterThan(reached)
  const many = Array.from({ length: databaseRoleLimits.databaseRolesMax + 1 }, (_, at) => ({
    ...stored,
    name: `r${at}`,
  }))
  await storeRoles(services, id, many)
  expect(await findStoredRoles(services, id)).toEqual([])
})

test('a new token and client access are nothing to a role, and its owner finds room beside it', async () => {
  const client = await world.client(await make('steady'))
  await world.change(world.known, sql`client_mode_enabled = true`)
  await world.change(world.known, sql`client_mode_enabled = false`)
  expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  expect(roomOf('role', limits.postgresBackendsMax)).toBeLessThan(limits.postgresBackendsMax)
  const gone = new Promise((resolve) => client.once('error', resolve))
  await world.change(world.known, sql`status = 'restoring'`)
  expect(await gone).toMatchObject({ code: '57P01' })
  await expect(whoIs({ user: 'steady', password: 'its own' })).rejects.toMatchObject({ code: '28P01' })
  await world.change(world.known, sql`status = 'active'`)
})
