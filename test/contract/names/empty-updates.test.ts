/** Every mutation that changes a noun, asked to change nothing of it: it changes nothing, and tells nobody of a change. */
import { getNamedType, isInputObjectType, isNonNullType } from 'graphql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { schema } from '#schema/schema.ts'
import { findAll, getOne, sql } from '#src/platform/postgres.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { fill, makeCallers, makeRefusingNode, makeTarget, type Target } from '../callers.ts'
import { graphqlRows } from '../matrix.ts'

/** What says which row is meant, and as of when; all else that a mutation requires is a change. */
const naming = /^(id|.+Id|revision)$/
const mutations = Object.values(schema.getMutationType()?.getFields() ?? {})
  .filter(({ name }) => name.startsWith('update'))
  .map(({ name, args }) => {
    const input = args[0] && getNamedType(args[0].type)
    const fields = isInputObjectType(input) ? Object.values(input.getFields()) : []
    return { name, required: fields.filter(({ type }) => isNonNullType(type)).map((field) => field.name) }
  })
const emptyable = mutations.filter(({ required }) => required.every((name) => naming.test(name)))

let berth: Berth
let owner: string
let target: Target
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  owner = (await makeCallers(berth)).owner
  target = await makeTarget(berth, owner, await makeRefusingNode(berth))
})
afterAll(() => berth.stop())

/** What is stored, but for what every request counts. */
async function stored(): Promise<Record<string, string>> {
  const { db } = berth.services
  const tables = await findAll<{ name: string }>(
    db,
    sql`select schemaname || '.' || tablename as name from pg_tables where schemaname = 'public' or (schemaname = 'pgboss' and tablename like 'job%')`,
  )
  const kept = tables.filter(({ name }) => !/rate_buckets|stored_/.test(name))
  const hashes = await Promise.all(
    kept.map(async ({ name }) => {
      const rows = sql<{
        hash: string
      }>`select coalesce(md5(string_agg(t::text, ',' order by t::text)), '') as hash from ${sql.table(name)} t`
      return [name, (await getOne(db, rows)).hash]
    }),
  )
  return Object.fromEntries(hashes) as Record<string, string>
}

test('most mutations may be asked so', () => {
  expect(emptyable.length).toBeGreaterThan(10)
  expect(emptyable.map(({ name }) => name)).toContain('updateVm')
})

test.each(emptyable)('$name without anything to change changes nothing', async ({ name, required }) => {
  const args = fill(graphqlRows[`mutation ${name}`]?.args ?? '', target)
  const given = args.split(', ').filter((one) => required.includes(one.split(':')[0] ?? ''))
  expect(given).toHaveLength(required.length)
  const before = await stored()
  const query = `mutation { ${name}(input: { ${given.join(', ')} }) { __typename } }`
  const { body } = await berth.call<{ errors?: { extensions: { code: string } }[] }>('POST', '/graphql', {
    token: owner,
    body: { query },
  })
  expect(['INVALID_REQUEST', undefined]).toContain(body.errors?.[0]?.extensions.code)
  expect(await stored()).toEqual(before)
})
