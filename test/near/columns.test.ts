/** What `npm run test:near` runs: no noun, no route and no root field is left out of every column. */
import { describe, expect, test } from 'vitest'
import { surfaces } from '#rest-compat/surfaces.ts'
import { schema } from '#schema/schema.ts'
import { listFiles, productFolders, readSources } from '../architecture/sources.ts'
import { agentsRows } from '../contract/matrix/agents.ts'
import { gatewayRows, graphqlRows, restRows } from '../contract/matrix.ts'
import { columnOf, mounts, nearTests, patternOf, rootFields } from './columns.ts'

const tests = listFiles(['test'], '.test.ts')
const paths = readSources(productFolders).map(({ path }) => path)
const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()]
const near = (changed: string[]) => nearTests(changed, tests)

test('a file of a noun leads to the tests and the operations of that noun, from every floor', () => {
  for (const path of ['src/resources/agents/vaults.ts', 'schema/agents/vaults.ts', 'rest-compat/agents/vaults.ts'])
    expect(near([path]), path).toMatchObject({
      columns: [{ area: 'agents', name: 'vaults' }],
      files: expect.arrayContaining([
        'test/agents/vaults.test.ts',
        'test/agents/vaults-by-client.test.ts',
        'test/agents/vault-secrets.test.ts',
      ]),
      operations: expect.arrayContaining(['/agents/v1/vaults', 'createVault', 'vaults']),
      unknown: [],
    })
})

test('a file of a floor without nouns leads to the tests of the same path', () => {
  expect(near(['src/platform/masking.ts']).files).toEqual(['test/platform/masking.test.ts'])
  expect(near(['src/edge/http/waking.ts']).files.every((path) => path.startsWith('test/edge/http/'))).toBe(true)
  expect(near(['test/agents/vaults.test.ts', 'src/nowhere/at-all.ts'])).toMatchObject({
    columns: [{ name: 'vaults' }],
    unknown: ['src/nowhere/at-all.ts'],
  })
})

test('a list, a migration and what is generated are known: the architecture’s tests look at them', () => {
  const listed = ['limits.ts', 'migrations/0001_first.sql', 'tables.sql', 'postgres/tables.ts']
  const changed = [...listed.map((name) => `src/platform/${name}`), 'schema/schema.graphql', 'schema/node-ids.ts']
  expect(near(changed).unknown).toEqual([])
})

describe('taken together, the columns', () => {
  const all = near(paths.filter((path) => columnOf(path)))

  test('have every route', () => {
    const isNamed = (key: string): boolean =>
      all.operations.some((one) => key === one || key.split(' ')[1]?.startsWith(one))
    const keys = surfaces.flatMap(({ mount, routes, handlers }) =>
      [...Object.keys(routes), ...Object.keys(handlers)].map((key) => key.replace(' ', ` ${mount}`)),
    )
    expect(keys.length).toBeGreaterThan(150)
    expect(keys.filter((key) => !isNamed(key))).toEqual([])
  })

  test('have the names of every contract test of an operation', () => {
    const rows = [restRows, agentsRows, gatewayRows, graphqlRows].flatMap((table) => Object.keys(table))
    const pattern = new RegExp(patternOf(all.operations))
    expect(rows.length).toBeGreaterThan(400)
    const left = rows.filter((row) => !pattern.test(`GraphQL ${row} answers ten callers as its row says`))
    expect(left).toEqual(['query node', 'query nodes']) // of all nouns
  })

  test('have every root field', () => {
    const ofAllNouns = ['node', 'nodes']
    const isOld = (name: string): boolean =>
      roots.some((root) => root?.getFields()[name]?.deprecationReason !== undefined)
    const missing = [...rootFields()].filter(
      (name) => !all.operations.includes(name) && !ofAllNouns.includes(name) && !isOld(name),
    )
    expect(rootFields().size).toBeGreaterThan(200)
    expect(missing).toEqual([])
  })
})

test('the areas are mounted where the surfaces are', () => {
  for (const { name, mount } of surfaces) expect(mounts[name] ?? [''], name).toContain(mount)
})
