/** Who gets in to which database through the wire proxy, as whom, and what changes of a database do to those who are in. */
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { encodeId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { idsOf, makeKey } from '../support/makers.ts'
import { until } from '../support/until.ts'
import { openDatabasesWorld, type DatabasesWorld } from './databases-world.ts'

let world: DatabasesWorld
let member: string
beforeAll(async () => {
  world = await openDatabasesWorld()
  member = await world.berth.token('bob', 'acme', 'viewer')
  const owner = await world.client()
  await owner.query(`
    create table notes (owner text default auth.claims() ->> 'sub', body text);
    alter table notes enable row level security;
    create policy own on notes to authenticated using (owner = auth.claims() ->> 'sub') with check (owner = auth.claims() ->> 'sub');
    create policy shown on notes for select to anon using (body = 'for all');
    grant select, insert on notes to authenticated; grant select on notes to anon;
    insert into notes values ('nobody', 'for all')`)
  await owner.end()
})
afterAll(() => world.close())

const wrongPassword = {
  code: '28P01',
  message: expect.stringContaining('password authentication failed'),
  hint: expect.stringContaining('mutation rotateDatabaseToken'),
}
const setClientAccess = (isOn: boolean) => world.change(world.known, sql`client_mode_enabled = ${isOn}`)
const asMember = (token = member) => world.client({ user: 'authenticated', password: token })
const asNobody = (host?: string) => world.client({ user: 'anon', password: 'anything', ...(host ? { host } : {}) })
const endOf = (client: pg.Client): Promise<{ code?: string; message: string }> =>
  new Promise((resolve) => client.once('error', resolve))
const whoIs = async (client: pg.Client) =>
  (await client.query<{ who: string; claims: { sub?: string } }>('select current_user as who, auth.claims() as claims'))
    .rows[0]

describe('the owner', () => {
  test('gets in by user and database, with and without the database’s own host name', async () => {
    for (const host of [world.known.host, world.known.host.toUpperCase(), 'localhost']) {
      const client = await world.client({ host })
      expect((await whoIs(client))?.who).toBe(world.known.row.pgUser)
      await client.end()
    }
  })

  test('gets in nowhere with the name of another database, another user, another password', async () => {
    const { known, foreign } = world
    const wrong: (Partial<pg.ClientConfig> & { host?: string })[] = [
      { host: foreign.host },
      { host: 'db_nothing.db.berth.localhost' },
      { host: `${'0'.repeat(26)}.db.berth.localhost` },
      { database: 'postgres', password: foreign.token },
      { database: 'APP', password: foreign.token },
      { user: foreign.row.pgUser },
      { user: foreign.row.pgUser, host: foreign.host },
      { user: 'postgres' },
      { user: 'berth_authenticated' },
      { user: 'berth_claims' },
      { user: `${known.row.pgUser}'--` },
      { password: foreign.token },
      { password: '' },
      { password: member },
    ]
    const reached = world.reached
    for (const options of wrong)
      await expect(world.client(options), JSON.stringify(options)).rejects.toMatchObject(
        options.password === '' ? { message: expect.any(String) } : wrongPassword,
      )
    expect(world.reached).toBe(reached)
  })

  test('may do nothing with the sessions’ claims', async () => {
    const client = await world.client()
    for (const text of [
      'select * from auth.sessions',
      "insert into auth.sessions values (1, '{}')",
      'drop table auth.sessions',
    ])
      await expect(client.query(text)).rejects.toMatchObject({ code: '42501' })
    await client.end()
  })
})

describe('client access', () => {
  test('is refused while it is off, with the reason', async () => {
    for (const open of [asMember, asNobody])
      await expect(open()).rejects.toMatchObject({ code: '28000', message: 'client access to this database is off' })
  })

  test('lets a member in by JWT as the role authenticated, with the token’s claims, and anybody as anon', async () => {
    await setClientAccess(true)
    const [bob, nobody] = [await asMember(), await asNobody()]
    const sub = encodeId('user', idsOf(member).userId)
    expect(await whoIs(bob)).toMatchObject({ who: 'authenticated', claims: { role: 'authenticated', sub } })
    expect(await whoIs(nobody)).toEqual({ who: 'anon', claims: { role: 'anon' } })
    await bob.query("insert into notes (body) values ('bob’s own')")
    expect((await bob.query('select body from notes')).rows).toEqual([{ body: 'bob’s own' }])
    expect((await nobody.query('select body from notes')).rows).toEqual([{ body: 'for all' }])
    await expect(nobody.query("insert into notes (body) values ('mine')")).rejects.toMatchObject({ code: '42501' })
    const setting = "select current_setting('request.jwt.claims')::jsonb ->> 'role' as role"
    expect((await bob.query(setting)).rows).toEqual([{ role: 'authenticated' }])
    await bob.end()
    await nobody.end()
  })

  test('lets nobody in with a JWT of another organization, an expired one, garbage, or a key', async () => {
    const { berth } = world
    const stranger = await berth.token('mallory', 'other')
    const expired = await berth.token('bob', 'acme', 'viewer', -120)
    const { key } = await makeKey(berth, await berth.token('alice', 'acme'))
    const [head = '', body = '', mark = ''] = member.split('.')
    const forged = [
      head,
      Buffer.from(Buffer.from(body, 'base64url').toString().replace('viewer', 'owner')).toString('base64url'),
      mark,
    ].join('.')
    const unsigned = [Buffer.from('{"alg":"none"}').toString('base64url'), body, ''].join('.')
    for (const token of [stranger, expired, key, forged, unsigned, 'garbage', world.known.token])
      await expect(asMember(token)).rejects.toMatchObject(wrongPassword)
  })

  test('needs the database’s host name, because every database has these users', async () => {
    for (const host of ['localhost', world.foreign.host])
      for (const user of ['anon', 'authenticated'])
        await expect(world.client({ user, password: member, host })).rejects.toMatchObject({
          code: expect.stringMatching(/^28(?:P01|000)$/),
        })
  })

  test('gives no other rights to a client who asks for them', async () => {
    const client = await asMember()
    const claims = (await whoIs(client))?.claims
    await client.query(`set request.jwt.claims = '{"sub": "usr_of_another", "role": "owner"}'`)
    expect((await whoIs(client))?.claims).toEqual(claims)
    for (const role of [world.known.row.pgUser, 'anon', 'berth_claims', 'postgres'])
      await expect(client.query(`set role "${role}"`)).rejects.toMatchObject({ code: '42501' })
    await expect(client.query(`set session authorization "${world.known.row.pgUser}"`)).rejects.toMatchObject({
      code: '42501',
    })
    for (const text of ['reset role', 'set role none', 'discard all']) {
      await client.query(text)
      await expect(client.query('create table mine ()')).rejects.toMatchObject({ code: '42501' })
      await expect(client.query('delete from notes')).rejects.toMatchObject({ code: '42501' })
      await expect(client.query("update auth.sessions set claims = '{}'")).rejects.toMatchObject({ code: '42501' })
    }
    await client.end()
  })

  test('keeps the claims of clients who share a connection apart', async () => {
    const tokens = await Promise.all(['carol', 'dave', 'erin'].map((name) => world.berth.token(name, 'acme', 'viewer')))
    const clients = await Promise.all(tokens.map((token) => asMember(token)))
    const own = await Promise.all(clients.map(whoIs))
    expect(new Set(own.map((one) => one?.claims.sub)).size).toBe(3)
    const databaseId = world.known.row.id
    await until(
      'they have let go of their connections',
      () => {
        const counts = world.proxy.counts(databaseId)
        return counts !== null && counts.free === counts.backends
      },
      10_000,
    )
    for (let round = 0; round < 3; round++)
      for (const [at, client] of clients.entries()) {
        expect(await whoIs(client)).toEqual(own[at])
        if (round === 1) await pause(10)
      }
    for (const client of clients) await client.end()
  })

  test('ends its sessions when it is switched off; the owner stays; and the edge says so', async () => {
    const [bob, nobody, owner] = [await asMember(), await asNobody(), await world.client()]
    const ends = [endOf(bob), endOf(nobody)]
    await setClientAccess(false) // the edge has acknowledged it
    for (const end of await Promise.all(ends))
      expect(end).toMatchObject({ code: '57P01', message: 'client access to the database was switched off' })
    await expect(asMember()).rejects.toMatchObject({ code: '28000' })
    await expect(asNobody()).rejects.toMatchObject({ code: '28000' })
    expect((await owner.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    await owner.end()
  })
})

describe('a database', () => {
  test('that is being restored ends its clients, and takes none until it is active again', async () => {
    const client = await world.client()
    const end = endOf(client)
    await world.change(world.known, sql`status = 'restoring'`)
    expect(await end).toMatchObject({ code: '57P01', message: 'the database is being restored' })
    await expect(world.client()).rejects.toMatchObject({ code: '57P03' })
    await expect(world.client({ password: 'wrong' })).rejects.toMatchObject(wrongPassword)
    await world.change(world.known, sql`status = 'active'`)
    await (await world.client()).end()
  })

  test('whose token is rotated ends its owner’s sessions, and takes the new one only', async () => {
    const client = await world.client()
    const end = endOf(client)
    const { tokenVerifier, tokenHash } = world.foreign.row
    const before = world.known.row
    await world.change(world.known, sql`token_verifier = ${tokenVerifier}, token_hash = ${tokenHash}`)
    expect(await end).toMatchObject({ code: '57P01' })
    await expect(world.client()).rejects.toMatchObject(wrongPassword)
    await (await world.client({ password: world.foreign.token })).end()
    await world.change(world.known, sql`token_verifier = ${before.tokenVerifier}, token_hash = ${before.tokenHash}`)
  })

  test('that is deleted ends its clients, and is as if it had never been', async () => {
    const client = await world.client()
    const end = endOf(client)
    await world.change(world.known, sql`status = 'deleting', deleted_at = now()`)
    expect(await end).toMatchObject({ code: '57P01', message: 'the database is deleted' })
    await expect(world.client()).rejects.toMatchObject(wrongPassword)
    await expect(asNobody()).rejects.toMatchObject(wrongPassword)
  })
})
