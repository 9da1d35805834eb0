/** Whatever has a size that callers choose has a limit: every column of every table, and every place where files are written. */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'
import { sizes } from './sizes/declared.ts'
import { describeSizes, isInRoom, readSizedColumns, sizeIn, type SizedColumn } from './sizes/describe.ts'
import { describeLimits, limitPages, misplacedAreas } from './sizes/limits.ts'
import { callersPlaces, ownPlaces } from './sizes/places.ts'
import { rowsOf } from './sizes/rows.ts'
import { productFolders, readSources, root } from './sources.ts'

let database: TestDatabase
let client: pg.Client
let columns: SizedColumn[]
beforeAll(async () => {
  database = await createDatabase()
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
  columns = await readSizedColumns(client)
})
afterAll(async () => {
  await client.end()
  await database.drop()
})

const named = (list: readonly SizedColumn[]): string[] => list.map(({ table, column }) => `${table}.${column}`)

describe('a column of any size', () => {
  test('counts in a room, or has a limit in a check or among those declared', () => {
    expect(columns.length).toBeGreaterThan(300)
    expect(named(columns.filter(({ room, checked, declared }) => !room && !checked && !declared))).toEqual([])
  })

  test('is not declared where a room or a check says it already, or where it is no more', () => {
    expect(named(columns.filter(({ room, checked, declared }) => declared && (room ?? checked)))).toEqual([])
    const there = new Set(named(columns))
    const declared = Object.entries(sizes).flatMap(([table, of]) => Object.keys(of).map((name) => `${table}.${name}`))
    expect(declared.filter((name) => !there.has(name))).toEqual([])
  })

  test('that is new and has no limit is found, and one that a check or a room bounds is not', async () => {
    await client.query('begin')
    try {
      await client.query(`
        create table drawings (id uuid primary key, title text check (length(title) <= 255), picture bytea, kind text check (kind in ('a', 'b')),
          either text check (length(either) <= 5 or kind = 'a'), organization_id uuid references organizations);
        alter table agents add note text;
        call count_stored_bytes('drawings', 'definitions', 'stored.organization_id', array['picture'])`)
      const found = (await readSizedColumns(client)).filter(
        ({ room, checked, declared }) => !room && !checked && !declared,
      )
      expect(named(found)).toEqual(['agents.note', 'drawings.either'])
    } finally {
      await client.query('rollback')
    }
  })
})

test('a table with such a column has a largest number of rows, or a room counts them', () => {
  const tables = [...new Set(columns.map(({ table }) => table))]
  expect(tables.filter((table) => !(table in rowsOf) && !isInRoom(columns, table))).toEqual([])
  expect(Object.keys(rowsOf).filter((table) => !tables.includes(table))).toEqual([])
})

test.each([
  [`CHECK ((length(x) <= 9))`, { characters: 9 }],
  [`CHECK (((octet_length(x) >= 1) AND (octet_length(x) <= 9)))`, { bytes: 9 }],
  [`CHECK ((x ~ '^[a-z][a-z0-9-]{0,62}$'::text))`, { characters: 63 }],
  [`CHECK ((x ~ '^key:.+$'::text))`, null],
  [`CHECK ((x = ANY (ARRAY['a'::text, 'b'::text])))`, 'word'],
  [`CHECK ((length(x) >= 9))`, null],
  [`CHECK (((x IS NULL) = (y IS NULL)))`, null],
  [`CHECK (((length(x) <= 9) OR (y = 1)))`, null],
])('%s bounds x by %j', (check, size) => {
  expect(sizeIn(check, 'x')).toEqual(size)
})

test('files are written only where the list of places says', () => {
  const writes = /\b(?:mkdir|mkdirSync|createWriteStream|writeFileSync|copyFile|copyFileSync|cpSync|openSync)\(/
  const fromNode = /from 'node:fs(?:\/promises)?'/
  const puts = /objectStore\([\w.]+\)\s*\.put\(|\.signedUrl\('PUT'/
  const reading = ['src/drivers/compute/qemu.ts', 'src/drivers/flushed-folders.ts', 'src/drivers/vm-requirements.ts'] // openSync(…, 'r')
  const writing = readSources(productFolders).filter(
    ({ text, code }) => (fromNode.test(text) && writes.test(code)) || puts.test(text),
  )
  const known = [...Object.keys(callersPlaces), ...Object.keys(ownPlaces)]
  const paths = writing.map(({ path }) => path).filter((path) => !reading.includes(path))
  expect(paths).toEqual(known.sort())
})

test('the document of what takes up room is current; if not, run: npm run sizes', async () => {
  await expect(describeSizes(columns)).toMatchFileSnapshot(`${root}/docs/limits-columns.md`)
})

describe('limits by area', () => {
  test('have every area of the code on a page', async () => {
    expect(await misplacedAreas()).toEqual([])
  })

  test.each(limitPages)('of %s are current; if not, run: npm run sizes', async (name) => {
    const document = await describeLimits(name)
    expect(document.match(/^\| `/gm)?.length).toBeGreaterThan(20)
    await expect(document).toMatchFileSnapshot(`${root}/docs/limits/${name}.md`)
  })
})
