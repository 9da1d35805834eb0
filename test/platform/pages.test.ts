/** How many rows a list has, beside the page of it that was read a moment before. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { encodeId, newUuid } from '#src/platform/ids.ts'
import { rowsOf } from '#src/platform/nouns.ts'
import type { Page, SkippingWindow } from '#src/platform/pages.ts'
import { change, openDatabase, sql, type Database } from '#src/platform/postgres.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'

type Thing = { id: string }
const things = rowsOf<Thing>('project', 'things', 'thing')

let database: TestDatabase
let ours: Database
/** The oldest first. */
let ids: string[]
beforeAll(async () => {
  database = await createDatabase()
  ours = openDatabase(database.url, { connections: 1, applicationName: 'pages-test' })
  await change(ours.db, sql`create table things (id uuid primary key)`)
})
beforeEach(async () => {
  ids = Array.from({ length: 5 }, newUuid).toSorted()
  await make(...ids)
})
afterEach(() => change(ours.db, sql`delete from things`))
afterAll(async () => {
  await ours.close()
  await database.drop()
})

const make = (...made: string[]): Promise<unknown> =>
  change(ours.db, sql`insert into things select unnest(${made}::uuid[])`)
const remove = (id: string | undefined): Promise<unknown> => change(ours.db, sql`delete from things where id = ${id}`)
const page = (window: SkippingWindow): Promise<Page<Thing>> => things.page(ours.db, window, sql`true`)

test('what is made after the first page was read is not in its number, as it is not in its rows', async () => {
  const first = await page({ first: 2 })
  await make(newUuid())
  expect([first.nodes.length, await first.count()]).toEqual([2, 5])
})

test('what leaves the first page meanwhile is in its number, as it is in its rows; what leaves a later page is not', async () => {
  const first = await page({ first: 2 })
  await remove(ids[4])
  await remove(ids[0])
  expect([first.nodes.map(({ id }) => id), await first.count()]).toEqual([[ids[4], ids[3]], 4])
})

test('a list that is one page has as many as its page', async () => {
  const whole = await page({ first: 5 })
  await make(newUuid())
  expect([whole.pageInfo.hasNextPage, await whole.count()]).toEqual([false, 5])
})

test('pages that do not begin where the list does say how many there are in all', async () => {
  const cursor = encodeId('project', ids[2] ?? '')
  const windows = [
    { first: 1, after: cursor },
    { first: 100, after: cursor },
    { first: 1, before: cursor },
    { last: 1 },
    { last: 100 },
    { last: 1, before: cursor },
    { first: 2, offset: 2 },
    { first: 100, offset: 4 },
    { first: 100, offset: 9 },
  ]
  for (const window of windows) expect([window, await (await page(window)).count()]).toEqual([window, 5])
})
