/** The tables of a database in the graph: what is said of them, how they are listed, and for whom. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeId } from '#src/platform/ids.ts'
import { openDatabasesWorld, type DatabasesWorld } from './databases-world.ts'

type Table = Record<string, unknown> & { schema: string; name: string }
type Tables = { nodes: Table[]; totalCount?: number; pageInfo: { hasNextPage: boolean; endCursor: string } }

let world: DatabasesWorld
let owner: string
let id: string
beforeAll(async () => {
  world = await openDatabasesWorld({ BERTH_RATE_LIMIT_FACTOR: '100' })
  owner = await world.berth.token('alice', 'acme')
  id = encodeId('database', world.known.row.id)
  const client = await world.client()
  await client.query(`
    create schema shop;
    create type shop.mood as enum ('glad', 'sad');
    create table shop.customers (
      id bigint generated always as identity primary key,
      email varchar(80) not null default 'none' constraint once unique,
      mood shop.mood
    );
    comment on table shop.customers is 'Who buys';
    comment on column shop.customers.email is 'Where they are told';
    create table shop.orders (
      customer bigint references shop.customers (id) on update restrict on delete cascade,
      parts text[] default '{}',
      primary key (customer, parts)
    );
    create index by_size on shop.orders (cardinality(parts), customer desc) where customer > 0;
    insert into shop.customers (email) select 'c' || n from generate_series(1, 500) n;
    analyze shop.customers;
    create view shop."Glad ones" as select * from shop.customers where mood = 'glad';
    create materialized view shop.counted as select count(*) from shop.customers;
    create table public.measured (at date) partition by range (at);
    create table public.measured_2026 partition of measured for values from ('2026-01-01') to ('2027-01-01');
  `)
  await client.end()
})
afterAll(() => world.close())

const fields = `schema name kind estimatedRows sizeBytes comment
  columns { name type isNullable default isGenerated isPrimaryKey comment }
  indexes { name columns definition isUnique isPrimaryKey isValid sizeBytes }
  foreignKeys { name columns referencedSchema referencedTable referencedColumns onUpdate onDelete }`

async function tables(
  args = 'first: 50',
  { token = owner, of = id, select = 'nodes { schema name }' }: { token?: string; of?: string; select?: string } = {},
): Promise<{ list: Tables | undefined; code: string | undefined; message: string | undefined }> {
  const { body } = await world.berth.ask(
    `{ database(id: "${of}") { tables(${args}) { ${select} pageInfo { hasNextPage endCursor } } } }`,
    { token },
  )
  const [error] = body.errors ?? []
  const database = body.data?.['database'] as { tables: Tables } | null | undefined
  return { list: database?.tables, code: error?.extensions.code, message: error?.message }
}

async function one(name: string): Promise<Table | undefined> {
  const { list } = await tables(`filter: {text: "${name}"}`, { select: `nodes { ${fields} }` })
  expect(list?.nodes).toHaveLength(1)
  return list?.nodes[0]
}

const named = (list: Tables | undefined): string[] | undefined =>
  list?.nodes.map(({ schema, name }) => `${schema}.${name}`)

test('says of a table what it has: columns, indexes, size, rows and comments', async () => {
  const customers = await one('customers')
  expect(customers).toMatchObject({
    schema: 'shop',
    kind: 'TABLE',
    estimatedRows: 500,
    comment: 'Who buys',
    columns: [
      { name: 'id', type: 'bigint', isNullable: false, default: null, isGenerated: true, isPrimaryKey: true },
      {
        name: 'email',
        type: 'character varying(80)',
        isNullable: false,
        default: "'none'::character varying",
        isGenerated: false,
        isPrimaryKey: false,
        comment: 'Where they are told',
      },
      { name: 'mood', type: 'shop.mood', isNullable: true, default: null, comment: null },
    ],
    indexes: [
      { name: 'customers_pkey', columns: ['id'], isUnique: true, isPrimaryKey: true, isValid: true },
      { name: 'once', columns: ['email'], isUnique: true, isPrimaryKey: false },
    ],
    foreignKeys: [],
  })
  expect(customers?.['sizeBytes']).toBeGreaterThan(8192)
})

test('says where a foreign key points and what it does, and what an index is of', async () => {
  expect(await one('orders')).toMatchObject({
    estimatedRows: null, // nobody has looked yet
    columns: [{ isPrimaryKey: true }, { name: 'parts', type: 'text[]', default: "'{}'::text[]", isPrimaryKey: true }],
    indexes: [
      {
        name: 'by_size',
        columns: ['cardinality(parts)', 'customer'],
        isUnique: false,
        definition:
          'CREATE INDEX by_size ON shop.orders USING btree (cardinality(parts), customer DESC) WHERE (customer > 0)',
      },
      { name: 'orders_pkey', columns: ['customer', 'parts'] },
    ],
    foreignKeys: [
      {
        columns: ['customer'],
        referencedSchema: 'shop',
        referencedTable: 'customers',
        referencedColumns: ['id'],
        onUpdate: 'RESTRICT',
        onDelete: 'CASCADE',
      },
    ],
  })
})

test('tells tables from views, and what is stored from what is not', async () => {
  const { list } = await tables('first: 50', { select: 'totalCount nodes { schema name kind sizeBytes }' })
  expect(list?.nodes.map(({ name, kind, sizeBytes }) => [name, kind, sizeBytes === null])).toEqual([
    ['measured', 'PARTITIONED_TABLE', true],
    ['measured_2026', 'TABLE', false],
    ['Glad ones', 'VIEW', true],
    ['counted', 'MATERIALIZED_VIEW', false],
    ['customers', 'TABLE', false],
    ['orders', 'TABLE', false],
  ])
  expect(list?.totalCount).toBe(6)
})

test('is paged both ways, and narrowed by schema and by text', async () => {
  const first = await tables('first: 2')
  expect(named(first.list)).toEqual(['public.measured', 'public.measured_2026'])
  expect(first.list?.pageInfo.hasNextPage).toBe(true)
  const cursor = first.list?.pageInfo.endCursor ?? ''
  expect(named((await tables(`first: 2, after: "${cursor}"`)).list)).toEqual(['shop.Glad ones', 'shop.counted'])
  expect(named((await tables(`last: 1, before: "${cursor}"`)).list)).toEqual(['public.measured'])
  expect(named((await tables('last: 2')).list)).toEqual(['shop.customers', 'shop.orders'])
  const narrow = await tables('filter: {schema: "shop", text: "gLAD"}', { select: 'totalCount nodes { schema name }' })
  expect([named(narrow.list), narrow.list?.totalCount]).toEqual([['shop.Glad ones'], 1])
  expect(named((await tables('filter: {text: "100%"}')).list)).toEqual([])
})

test('refuses what is no cursor of it, and a text that is too long', async () => {
  expect((await tables('after: "x"')).code).toBe('INVALID_REQUEST')
  expect((await tables(`after: "${Buffer.from('[1, 2]').toString('base64url')}"`)).code).toBe('INVALID_REQUEST')
  expect((await tables(`filter: {text: "${'x'.repeat(256)}"}`)).code).toBe('INVALID_REQUEST')
  expect((await tables(`filter: {schema: "${'x'.repeat(256)}"}`)).code).toBe('INVALID_REQUEST')
})

test('a page ends early where more is said of its tables than a page may have', async () => {
  const client = await world.client()
  const wide = Array.from({ length: 1500 }, (_, at) => `c${at} text default '${'d'.repeat(190)}'`).join(',')
  await client.query(`create schema wide; create table wide.a (${wide}); create table wide.b (${wide})`)
  const first = await tables('filter: {schema: "wide"}', { select: 'nodes { schema name columns { name } }' })
  expect(named(first.list)).toEqual(['wide.a'])
  expect(first.list?.nodes[0]?.['columns']).toHaveLength(1500)
  expect(first.list?.pageInfo.hasNextPage).toBe(true)
  const second = await tables(`filter: {schema: "wide"}, after: "${first.list?.pageInfo.endCursor}"`)
  expect([named(second.list), second.list?.pageInfo.hasNextPage]).toEqual([['wide.b'], false])
  await client.query('drop schema wide cascade')
  await client.end()
})

test('names of the owner’s own in the way change nothing', async () => {
  const client = await world.client()
  await client.query(`
    create schema trick;
    create function trick.format_type(oid, integer) returns text language sql as $$ select 'tricked' $$;
    alter role current_user set search_path to trick, pg_catalog`)
  expect(await one('counted')).toMatchObject({ columns: [{ name: 'count', type: 'bigint' }] })
  await client.query('alter role current_user reset search_path; drop schema trick cascade')
  await client.end()
})

test('says that a lock is in the way when one is', async () => {
  const client = await world.client()
  await client.query('begin; lock table shop.orders')
  expect(await tables('filter: {text: "orders"}', { select: 'nodes { schema name sizeBytes }' })).toMatchObject({
    code: 'TIMEOUT',
    message: expect.stringMatching(/holds a lock.*Try again/),
  })
  await client.query('rollback')
  await client.end()
})

test('is for admins of the organization', async () => {
  const ask = (token: string, of = id) => tables('first: 5', { token, of })
  expect((await ask(await world.berth.token('martha', 'acme', 'member'))).code).toBe('NOT_PERMITTED_FOR_ROLE')
  expect((await ask(await world.berth.token('adam', 'acme', 'admin'))).list?.nodes.length).toBe(5)
  expect((await ask(await world.berth.token('mallory', 'other'))).code).toBe('NOT_FOUND')
  expect((await ask(owner, encodeId('database', world.foreign.row.id))).code).toBe('NOT_FOUND')
})

test('an operation reads the tables of a few databases', async () => {
  const aliases = Array.from({ length: 5 }, (_, at) => `a${at}: tables(first: 1) { nodes { name } }`).join(' ')
  const { body } = await world.berth.ask(`{ database(id: "${id}") { ${aliases} } }`, { token: owner })
  const lists = Object.values((body.data?.['database'] ?? {}) as Record<string, unknown>)
  expect(lists.filter((list) => list === null)).toHaveLength(1)
  expect(body.errors).toMatchObject([{ extensions: { code: 'INVALID_REQUEST' } }])
})

test('says that it cannot reach the database while nothing answers', async () => {
  await world.closeDoor()
  expect(await tables()).toMatchObject({ list: null, code: 'SERVICE_UNAVAILABLE' })
})
