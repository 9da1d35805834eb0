/** `POST /sql` through the web process: with Neon's own driver, and by hand. */
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { limits } from '#src/platform/limits.ts'
import { sql as platformSql } from '#src/platform/postgres.ts'
import { until } from '../support/until.ts'
import { openDatabasesWorld, type DatabasesWorld } from './databases-world.ts'

/** What is used of the driver; its own types are not needed to know that it works. */
type NeonQuery = Promise<unknown> & { readonly queryData?: unknown }
type NeonSql = {
  (strings: TemplateStringsArray, ...values: unknown[]): NeonQuery
  query(text: string, params?: unknown[], options?: Record<string, unknown>): NeonQuery
  transaction(queries: NeonQuery[], options?: Record<string, unknown>): Promise<unknown[]>
}
type Driver = {
  neon(url: string, options?: Record<string, unknown>): NeonSql
  neonConfig: { fetchEndpoint: string | ((host: string) => string) }
}

let world: DatabasesWorld
let driver: Driver
let member: string
const urlWith = (user: string, password = '') =>
  `postgresql://${user}${password && `:${password}`}@${world.known.host}/app?sslmode=require`
const asOwner = (options?: Record<string, unknown>) =>
  driver.neon(urlWith(world.known.row.pgUser, world.known.token), options)
beforeAll(async () => {
  world = await openDatabasesWorld({ BERTH_RATE_LIMIT_FACTOR: '100' })
  member = await world.berth.token('bob', 'acme', 'viewer')
  const name: string = '@neondatabase/serverless'
  driver = (await import(name)) as Driver
  driver.neonConfig.fetchEndpoint = () => `${world.berth.url}/sql`
  const sql = asOwner()
  await sql`create table notes (id int primary key, owner text default auth.claims() ->> 'sub', body text)`
  await sql`alter table notes enable row level security`
  await sql`create policy own on notes to authenticated using (owner = auth.claims() ->> 'sub') with check (owner = auth.claims() ->> 'sub')`
  await sql`grant select, insert on notes to authenticated`
  await sql`create table shown (body text)`
  await sql`grant select on shown to anon`
})
afterAll(() => world.close())

test('numbers reach Postgres with every digit, as parameters and in them', async () => {
  const answer = await fetch(`${world.berth.url}/sql`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${world.known.token}`,
      'neon-connection-string': urlWith(world.known.row.pgUser),
    },
    body: `{"query": "select $1::numeric::text as one, $2::numeric[]::text as list, $3::json::text as document",
      "params": [9007199254740993, [0.1000000000000000055, 12345678901234567890], {"big": 1e400, "b": -0}]}`,
  })
  expect(await answer.json()).toMatchObject({
    rows: [
      {
        one: '9007199254740993',
        list: '{0.1000000000000000055,12345678901234567890}',
        document: '{"big":1e400,"b":-0}',
      },
    ],
  })
})

test('JSON is answered as Postgres has it, with every digit and however deep', async () => {
  const answer = await fetch(`${world.berth.url}/sql`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${world.known.token}`,
      'neon-connection-string': urlWith(world.known.row.pgUser),
    },
    body: JSON.stringify({
      query: `select '{"big": 12345678901234567890}'::json as exact, (repeat('[', 3000) || repeat(']', 3000))::jsonb as deep`,
    }),
  })
  const text = await answer.text()
  expect(answer.status, text.slice(0, 500)).toBe(200)
  expect(text).toContain('12345678901234567890')
  expect(text).toContain('['.repeat(3000))
})

test('requests that take long leave room for the owner, and for those of other databases', async () => {
  await world.change(world.known, platformSql`client_mode_enabled = true`)
  const keeper = await world.superuser()
  await keeper.query('select pg_advisory_lock(4711)')
  const post = (query: string, token?: string) =>
    fetch(`${world.berth.url}/sql`, {
      method: 'POST',
      headers: { 'neon-connection-string': urlWith('anon'), ...(token ? { authorization: `Bearer ${token}` } : {}) },
      body: JSON.stringify({ query }),
    })
  const most = limits.sqlRequestsPerDatabase
  let refused = 0
  const slow = Array.from({ length: most }, async () => {
    const { status } = await post('select pg_advisory_xact_lock_shared(4711)')
    if (status === 429) refused++
    return status
  })
  await until('some are refused', () => refused === most / 8, 30_000)
  expect((await post('select 1', world.known.token)).status).toBe(200)
  await keeper.end()
  const statuses = await Promise.all(slow)
  expect(statuses.filter((status) => status === 200)).toHaveLength(most - most / 8)
  await world.change(world.known, platformSql`client_mode_enabled = false`)
}, 60_000)

describe('Neon’s driver', () => {
  test('runs statements with values of every kind, as objects, lists and full results', async () => {
    const sql = asOwner()
    expect(
      await sql`select ${1}::int as one, ${'two'} as two, ${null}::text as nothing, ${true}::bool as truth`,
    ).toEqual([{ one: 1, two: 'two', nothing: null, truth: true }])
    expect(await sql`select ${[1, 2]}::int[] as list, ${{ a: [1] }}::jsonb as document, now() as moment`).toEqual([
      { list: [1, 2], document: { a: [1] }, moment: expect.any(Date) },
    ])
    expect(
      await sql.query('select $1::bigint as big, $2::bytea as bytes', ['9007199254740993', Buffer.from('é')]),
    ).toEqual([{ big: '9007199254740993', bytes: Buffer.from('é') }])
    expect(await asOwner({ arrayMode: true })`select 1 as a, 2 as a`).toEqual([[1, 2]])
    expect(await asOwner({ fullResults: true })`select 1 as a from generate_series(1, 2)`).toMatchObject({
      command: 'SELECT',
      rowCount: 2,
      fields: [{ name: 'a', dataTypeID: 23 }],
      rows: [{ a: 1 }, { a: 1 }],
    })
    expect(await sql`create temporary table t (a int)`).toEqual([])
  })

  test('says what is wrong with a statement as Postgres does', async () => {
    const sql = asOwner()
    await expect(sql`select * from nowhere`).rejects.toMatchObject({ code: '42P01', position: '15', severity: 'ERROR' })
    await expect(sql.query('select 1; select 2')).rejects.toMatchObject({ code: '42601' })
    await sql`create table once (a int constraint only_one unique)`
    await sql`insert into once values (1)`
    await expect(sql`insert into once values (1)`).rejects.toMatchObject({
      code: '23505',
      constraint: 'only_one',
      table: 'once',
      detail: expect.stringContaining('already exists'),
    })
  })

  test('runs transactions: all statements or none, with the isolation that is asked for', async () => {
    const sql = asOwner()
    const [, rows] = await sql.transaction([
      sql`insert into notes values (1, 'alice', 'one')`,
      sql`select id, body from notes order by id`,
    ])
    expect(rows).toEqual([{ id: 1, body: 'one' }])
    await expect(
      sql.transaction([
        sql`insert into notes values (2, 'alice', 'two')`,
        sql`insert into notes values (1, 'alice', 'again')`,
      ]),
    ).rejects.toMatchObject({ code: '23505' })
    expect(await sql`select id from notes`).toEqual([{ id: 1 }])
    const asked = { isolationLevel: 'Serializable', readOnly: true, deferrable: true }
    const isolation = await sql.transaction(
      [sql`show transaction_isolation`, sql`show transaction_read_only`, sql`show transaction_deferrable`],
      asked,
    )
    expect(isolation).toEqual([
      [{ transaction_isolation: 'serializable' }],
      [{ transaction_read_only: 'on' }],
      [{ transaction_deferrable: 'on' }],
    ])
    await expect(sql.transaction([sql`delete from notes`], { readOnly: true })).rejects.toMatchObject({ code: '25006' })
    expect(await sql.transaction([])).toEqual([])
  })

  test('leaves nothing behind for the next request', async () => {
    const sql = asOwner()
    await sql`set work_mem = '7777kB'`
    await sql`select set_config('my.secret', 'alice', false)`
    await sql`select pg_advisory_lock(1)`
    for (let round = 0; round < 20; round++)
      expect(
        await sql`select current_setting('work_mem') <> '7777kB' as clear, coalesce(current_setting('my.secret', true), '') as secret, (select count(*)::int from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()) as locks`,
      ).toEqual([{ clear: true, secret: '', locks: 0 }])
    await sql`select pg_advisory_unlock_all()`
  })
})

describe('clients', () => {
  const asMember = (token = member) => driver.neon(urlWith('authenticated'), { authToken: token })
  const asNobody = () => driver.neon(urlWith('anon'))

  test('are refused while client access is off, as if the database were not there', async () => {
    const ask = async (user: string, token?: string): Promise<[number, string]> => {
      const answer = await fetch(`${world.berth.url}/sql`, {
        method: 'POST',
        headers: {
          'neon-connection-string': `postgresql://${user}@localhost/app`,
          ...(token && { authorization: `Bearer ${token}` }),
        },
        body: JSON.stringify({ query: 'select 1' }),
      })
      return [answer.status, ((await answer.json()) as { message: string }).message]
    }
    for (const sql of [asMember(), asNobody()])
      await expect(sql`select 1`).rejects.toThrow(/HTTP status 401.*its client access is off/)
    for (const token of [undefined, member])
      expect(await ask(world.foreign.row.pgUser, token)).toEqual(await ask('app_nobody', token))
    const failed = async (user: string): Promise<number> => {
      for (let failures = 0; failures <= 2 * limits.postgresFailuresPerMinute; failures++)
        if ((await ask(user))[0] === 429) return failures
      return Infinity
    }
    expect(await failed(world.foreign.row.pgUser)).toBeLessThan(Infinity)
    expect(await failed('app_nobody')).toBeLessThan(Infinity)
  })

  test('are authenticated by their JWT, which policies see, or anonymous', async () => {
    await world.change(world.known, platformSql`client_mode_enabled = true`)
    const carol = await world.berth.token('carol', 'acme', 'viewer')
    await asMember()`insert into notes (id, body) values (10, 'bob’s')`
    await asMember(carol)`insert into notes (id, body) values (11, 'carol’s')`
    for (const [token, body] of [
      [member, 'bob’s'],
      [carol, 'carol’s'],
      [member, 'bob’s'],
    ] as const) {
      expect(await asMember(token)`select body from notes`).toEqual([{ body }])
      const [both] = (await asMember(token)`
        select auth.claims() ->> 'sub' as sub, current_setting('request.jwt.claims')::jsonb ->> 'sub' as setting, current_user::text as who`) as [
        Record<string, string>,
      ]
      expect(both).toEqual({ sub: both.setting, setting: both.sub, who: 'authenticated' })
    }
    expect(await asNobody()`select current_user::text as who, (select count(*)::int from shown) as shown`).toEqual([
      { who: 'anon', shown: 0 },
    ])
    await expect(asNobody()`select * from notes`).rejects.toMatchObject({ code: '42501' })
    expect(
      await asMember().transaction([
        asMember()`select set_config('request.jwt.claims', '{"sub":"usr_other"}', true)`,
        asMember()`select body from notes`,
      ]),
    ).toMatchObject([expect.anything(), [{ body: 'bob’s' }]])
  })

  test('with a token that is no good here get in nowhere', async () => {
    const stranger = await world.berth.token('mallory', 'other')
    for (const token of [stranger, 'garbage', `${member}x`, world.foreign.token])
      await expect(asMember(token)`select 1`).rejects.toThrow('HTTP status 401')
    const foreign = driver.neon(`postgresql://anon@${world.foreign.host}/app`)
    await expect(foreign`select 1`).rejects.toThrow('HTTP status 401')
  })
})

describe('by hand', () => {
  const post = async (body: unknown, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${world.berth.url}/sql`, {
      method: 'POST',
      headers: { 'neon-connection-string': urlWith(world.known.row.pgUser, world.known.token), ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
  }

  test('an answer has fields, rows as objects with JSON’s own values, the command and the count', async () => {
    const { status, body } = await post({
      query: 'select $1::int as a, $2::text as b, true as c, null as d, 1.5::numeric as e',
      params: [1, '2'],
    })
    expect([status, body]).toEqual([
      200,
      {
        command: 'SELECT',
        rowCount: 1,
        rowAsArray: false,
        fields: expect.arrayContaining([expect.objectContaining({ name: 'a', dataTypeID: 23 })]),
        rows: [{ a: 1, b: '2', c: true, d: null, e: '1.5' }],
      },
    ])
  })

  test.each([
    'copy (select 1) to stdout',
    'COPY notes TO STDOUT',
    'copy notes from stdin',
    ' ;; /* a comment /* in it */ */ -- and one\n cOpY (insert into copied values (1) returning n) to stdout',
  ])('%s is refused with 0A000, and nothing is done', async (query) => {
    await post({ query: 'create table if not exists copied (n int)' })
    const refused = {
      status: 400,
      body: { error: 'invalid_request', code: '0A000', hint: expect.stringContaining('port') },
    }
    expect(await post({ query })).toMatchObject(refused)
    expect(await post({ queries: [{ query: 'insert into copied values (2)' }, { query }] })).toMatchObject(refused)
    expect((await post({ query: 'select n from copied' })).body['rows']).toEqual([])
  })

  test('the database may be named by the host name of the request, and nothing else', async () => {
    const body = JSON.stringify({ query: 'select current_user::text as who' })
    const { port } = new URL(world.berth.url)
    const ask = async (headers: Record<string, string>): Promise<[number | undefined, unknown]> => {
      const sent = request({ host: '127.0.0.1', port, path: '/sql', method: 'POST', headers }).end(body)
      const [answer] = (await once(sent, 'response')) as [IncomingMessage] // what a request emits
      return [answer.statusCode, JSON.parse(Buffer.concat(await answer.toArray()).toString())]
    }
    const host = `${world.known.host}:${port}`
    const own = { authorization: `Bearer ${world.known.token}` }
    expect(await ask({ host, ...own })).toMatchObject([200, { rows: [{ who: world.known.row.pgUser }] }])
    expect(await ask({ host, authorization: `Bearer ${member}` })).toMatchObject([
      200,
      { rows: [{ who: 'authenticated' }] },
    ])
    expect(await ask({ host })).toMatchObject([200, { rows: [{ who: 'anon' }] }])
    for (const other of [world.foreign.host, `x${host}`])
      expect(await ask({ host: other, ...own })).toMatchObject([401, { error: 'unauthorized' }])
    for (const user of ['', 'anon', 'authenticated'])
      for (const headers of [own, {}])
        expect(
          await ask({
            host: 'localhost',
            ...headers,
            ...(user && { 'neon-connection-string': `postgresql://${user}@localhost/app` }),
          }),
        ).toMatchObject([
          400,
          {
            error: 'invalid_request',
            message: expect.stringMatching(
              /^Say which database: by .*Neon-Connection-String.* or by the header Host, such as <id>\.db\.berth\.localhost/,
            ),
          },
        ])
  })

  test('the token may be a bearer token', async () => {
    const headers = {
      'neon-connection-string': urlWith(world.known.row.pgUser),
      authorization: `Bearer ${world.known.token}`,
    }
    expect((await post({ query: 'select 1 as one' }, headers)).body['rows']).toEqual([{ one: 1 }])
  })

  test.each([
    ['{', 'invalid_request'],
    [{}, 'invalid_request'],
    [{ query: 1 }, 'invalid_request'],
    [{ query: 'select 1', params: 'none' }, 'invalid_request'],
    [{ query: 'select 1', colour: 'red' }, 'invalid_request'],
    [{ queries: 'select 1' }, 'invalid_request'],
    [[], 'invalid_request'],
  ])('%j is refused with a sentence', async (body, error) => {
    expect(await post(body)).toMatchObject({ status: 400, body: { error, message: expect.any(String) } })
  })

  test.each([
    { 'neon-batch-isolation-level': 'Chaos' },
    { 'neon-batch-read-only': 'maybe' },
    { 'neon-array-mode': '1' },
    { 'neon-connection-string': 'mysql://x@y/z' },
    { 'neon-connection-string': '%' },
  ])('headers such as %j are refused with a sentence', async (headers) => {
    expect(await post({ query: 'select 1' }, { ...headers } as unknown as Record<string, string>)).toMatchObject({
      status: 400,
      body: { error: 'invalid_request' },
    })
  })

  test('a body, an answer and a batch that are too large are refused, and the next request is served', async () => {
    expect((await post({ query: `select '${'x'.repeat(limits.infraBodyBytes)}'` })).status).toBe(413)
    expect(await post({ query: "select repeat('x', 1000) from generate_series(1, 20000)" })).toMatchObject({
      status: 413,
      body: { error: 'request_too_large' },
    })
    const queries = Array.from({ length: limits.sqlQueriesMax + 1 }, () => ({ query: 'select 1' }))
    expect((await post({ queries })).status).toBe(400)
    expect((await post({ query: 'select 1 as one' })).status).toBe(200)
  })

  test('statements whose caller has left are cancelled', async () => {
    const left = new AbortController()
    const asked = fetch(`${world.berth.url}/sql`, {
      method: 'POST',
      headers: { 'neon-connection-string': urlWith(world.known.row.pgUser, world.known.token) },
      body: JSON.stringify({ query: 'select pg_sleep(55)' }),
      signal: left.signal,
    })
    const superuser = await world.superuser()
    const sleeping = async (): Promise<number> =>
      (
        await superuser.query(
          "select from pg_stat_activity where query like 'select pg_sleep(55)%' and state = 'active'",
        )
      ).rowCount ?? 0
    await until('it sleeps', async () => (await sleeping()) === 1)
    left.abort()
    await expect(asked).rejects.toThrow()
    await until('it is cancelled', async () => (await sleeping()) === 0)
    await superuser.end()
  })

  test('wrong tokens are counted, and answered otherwise after too many; a right one is let in from the same address', async () => {
    const headers = { 'neon-connection-string': urlWith(world.known.row.pgUser, 'bdb_wrong') }
    expect((await post({ query: 'select 1' }, headers)).body['message']).toContain('mutation rotateDatabaseToken')
    const statuses = new Set<number>()
    for (let attempt = 0; attempt <= limits.postgresFailuresPerMinute; attempt++)
      statuses.add((await post({ query: 'select 1' }, headers)).status)
    expect([...statuses]).toEqual([401, 429])
    expect((await post({ query: 'select 1' })).status).toBe(200)
  })

  test('while the edge process is away the web process says so', async () => {
    await world.closeDoor()
    expect(await post({ query: 'select 1' })).toMatchObject({ status: 503, body: { error: 'service_unavailable' } })
  })
})
