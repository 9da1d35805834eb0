/** A real database as its users have it: created over REST, reached through the edge process with what people use. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startCommand } from '../support/command.ts'
import { startInstallation, type Installation } from '../support/installation.ts'
import { until } from '../support/until.ts'

const limitMs = 180_000
type Created = { id: string; host: string; token: string; status: string }
let berth: Installation
let folder: string
let token: string
let created: Created
let pgUser: string
const call = <Body>(method: string, path: string, body?: unknown): Promise<{ status: number; body: Body }> =>
  berth.call<Body>(token, method, path, body)
const graphql = async <Data>(query: string): Promise<Data> =>
  (await call<{ data: Data }>('POST', '/graphql', { query })).body.data

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-ca-'))
  berth = await startInstallation({ BERTH_VM_POOL: '0' })
  token = await berth.token()
  const { viewer } = await graphql<{ viewer: { organization: { id: string } } }>('{ viewer { organization { id } } }')
  const made = await call<Created>('POST', '/api/v1/databases', {
    organization_id: viewer.organization.id,
    name: 'shop',
  })
  expect(made.status).toBe(201)
  created = made.body
  pgUser = `app_${created.id.slice(-6)}`
  await until(
    'the database is active',
    async () => (await call<Created>('GET', `/api/v1/databases/${created.id}`)).body.status === 'active',
    limitMs,
  )
}, 2 * limitMs)
afterAll(async () => {
  await berth.stop()
  rmSync(folder, { recursive: true, force: true })
}, limitMs)

async function connect(options: pg.ClientConfig = {}): Promise<pg.Client> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port: berth.postgresPort,
    user: pgUser,
    database: 'app',
    password: created.token,
    ssl: { rejectUnauthorized: false, servername: created.host },
    ...options,
  })
  client.on('error', () => {
    // Tests that cut it say so themselves.
  })
  await client.connect()
  return client
}

test(
  'psql connects with the parts of the answer, and checks the certificate by the authority that npm run ca prints',
  async () => {
    const ca = startCommand(['src/edge/ca.ts'], { BERTH_DATA_DIR: berth.dataDir })
    await ca.ended
    const authority = join(folder, 'ca.pem')
    writeFileSync(authority, ca.lines.join('\n'))
    const address = `postgresql://${pgUser}:${created.token}@${created.host}:${berth.postgresPort}/app?hostaddr=127.0.0.1&sslmode=verify-full&sslrootcert=${authority}&channel_binding=require`
    const { stdout } = await promisify(execFile)('psql', [address, '-Atc', 'show server_version_num'])
    expect(stdout).toMatch(/^17/)
  },
  limitMs,
)

test(
  'its owner may do what an owner may, and nothing to the server',
  async () => {
    const client = await connect()
    await client.query('create table orders (id int primary key, item text)')
    await client.query("insert into orders select n, repeat('x', 1000) from generate_series(1, 20000) n")
    expect((await client.query('select count(*)::int as n, sum(length(item))::int as size from orders')).rows).toEqual([
      { n: 20_000, size: 20_000_000 },
    ])
    expect((await client.query('select * from orders')).rows).toHaveLength(20_000) // 20 MB through the tunnel
    const heard = new Promise((resolve) => client.once('notification', ({ payload }) => resolve(payload)))
    await client.query('listen news')
    const other = await connect()
    await other.query("notify news, 'hello'")
    expect(await heard).toBe('hello')
    await other.end()
    for (const text of [
      "copy orders to program 'id'",
      "copy orders to '/tmp/x'",
      "select pg_read_file('/etc/passwd')",
      "select lo_import('/etc/passwd')",
      "alter system set work_mem = '1GB'",
      'create extension dblink',
      'create extension postgres_fdw',
      'create extension file_fdw',
      "create function f() returns int language c as 'x'",
      'create role mallory superuser',
      `alter role "${pgUser}" superuser`,
      'set role postgres',
      'select * from pg_authid',
      'select * from auth.sessions',
    ])
      await expect(client.query(text), text).rejects.toMatchObject({
        code: expect.stringMatching(/^(?:42501|0A000|58P01|42704)$/),
      })
    await client.end()
    for (const user of ['postgres', 'berth_claims', 'berth_authenticated'])
      await expect(connect({ user })).rejects.toMatchObject({ code: '28P01' })
  },
  limitMs,
)

test(
  'clients get in by JWT and anonymously once that is enabled, on the wire and over HTTP, until it is disabled',
  async () => {
    const owner = await connect()
    await owner.query(`
    create table notes (owner text default auth.user_id(), body text);
    alter table notes enable row level security;
    create policy own on notes to authenticated using (owner = auth.user_id());
    grant select, insert on notes to authenticated`)
    await owner.end()
    const asMember = { user: 'authenticated', password: token }
    await expect(connect(asMember)).rejects.toMatchObject({ code: '28000' })
    expect((await call('POST', `/api/v1/databases/${created.id}/client-access/enable`)).status).toBe(200)
    const member = await connect(asMember)
    await member.query("insert into notes (body) values ('mine')")
    expect(
      (await member.query("select current_user as who, body, owner = auth.claims() ->> 'sub' as own from notes")).rows,
    ).toEqual([{ who: 'authenticated', body: 'mine', own: true }])
    const nobody = await connect({ user: 'anon', password: 'x' })
    await expect(nobody.query('select * from notes')).rejects.toMatchObject({ code: '42501' })
    const post = (headers: Record<string, string>) =>
      fetch(`${berth.url}/sql`, {
        method: 'POST',
        headers: { 'neon-connection-string': `postgresql://authenticated@${created.host}/app`, ...headers },
        body: JSON.stringify({ query: 'select body, current_user::text as who from notes' }),
      })
    const answer = await post({ authorization: `Bearer ${token}` })
    expect(await answer.json()).toMatchObject({ rows: [{ body: 'mine', who: 'authenticated' }] })
    const ends = [member, nobody].map(
      (client) => new Promise<{ code: string }>((resolve) => client.once('error', (error) => resolve(error as never))),
    )
    expect((await call('POST', `/api/v1/databases/${created.id}/client-access/disable`)).status).toBe(200)
    for (const end of await Promise.all(ends)) expect(end.code).toBe('57P01')
    expect((await post({ authorization: `Bearer ${token}` })).status).toBe(401)
  },
  limitMs,
)

test(
  'after kill -9 of the edge process clients connect again, and what was committed is there',
  async () => {
    const client = await connect()
    await client.query("insert into orders values (100001, 'kept')")
    const cut = new Promise((resolve) => client.once('end', resolve))
    expect(berth.kill('edge')).toBe(true)
    await cut
    let again: pg.Client | null = null
    await until('it is back', async () => (again = await connect().catch(() => null)) !== null, 30_000)
    const back = again as pg.Client | null
    expect((await back?.query('select item from orders where id = 100001'))?.rows).toEqual([{ item: 'kept' }])
    await back?.end()
  },
  limitMs,
)

test(
  'a database that sleeps is woken by its next client',
  async () => {
    await graphql(
      `mutation { updateDatabase(input: { id: "${created.id}", sleepAfterSeconds: 10 }) { database { id } } }`,
    )
    await until(
      'it sleeps',
      async () => {
        const { database } = await graphql<{ database: { isAsleep: boolean } }>(
          `{ database(id: "${created.id}") { isAsleep status } }`,
        )
        return database.isAsleep
      },
      120_000,
    )
    const client = await connect()
    expect((await client.query('select count(*)::int as n from orders')).rows).toEqual([{ n: 20_001 }])
    await client.end()
  },
  limitMs,
)
