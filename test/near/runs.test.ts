/** What `npm run test:near` starts: a contract test by the names of its rows, or whole when it changed itself. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { listFiles, root } from '../architecture/sources.ts'
import { nearTests } from './columns.ts'
import { runsOf, testsOfAll } from './runs.ts'

const tests = listFiles(['test'], '.test.ts')
const runs = (changed: string[]): string[][] => runsOf(nearTests(changed, tests))
const openapi = 'test/contract/openapi.test.ts'

test('a noun’s change runs the rows of its operations, and what looks at all operations at once', () => {
  const [first = [], second = []] = runs(['schema/agents/vaults.ts'])
  expect(first).not.toContain(openapi)
  expect(second).toContain(openapi)
  const pattern = new RegExp(second.at(-1) ?? '')
  for (const name of [
    'the description of every surface has the nouns and bodies as components, and refers to each that it has',
    'REST every operation has an answer for it',
    'GraphQL mutation createVault answers ten callers as its row says',
  ])
    expect(name).toMatch(pattern)
  expect('GraphQL mutation createVm answers ten callers as its row says').not.toMatch(pattern)
})

test('a contract test that changed itself runs whole', () => {
  const [first = [], second = []] = runs([openapi, 'schema/agents/vaults.ts'])
  expect(first).toContain(openapi)
  expect(second).not.toContain(openapi)
  expect(runs([openapi])).toEqual([expect.arrayContaining([openapi])])
})

test('files with VMs do not run', () => {
  expect(runs(['test/infra/vms.vm.test.ts']).flat()).not.toContain('test/infra/vms.vm.test.ts')
})

test('each beginning of a name is that of a test', () => {
  const text = listFiles(['test/contract'], '.test.ts')
    .map((path) => readFileSync(`${root}/${path}`, 'utf8'))
    .join('\n')
  for (const begin of testsOfAll) expect(text, begin).toMatch(new RegExp(`(?:test|describe|\\))\\('${begin}`))
})
