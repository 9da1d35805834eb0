/** What `npm run test:near` starts vitest with. */
import { patternOf, type NearTests } from './columns.ts'

/** Tests that have a row, by name, for each operation. */
const contractTests = [
  'test/contract/hostile.test.ts',
  'test/contract/agents-hostile.test.ts',
  'test/contract/openapi.test.ts',
  'test/contract/persons-own.test.ts',
  'test/contract/tenants.test.ts',
  'test/contract/thrice.test.ts',
  'test/contract/unknown-keys.test.ts',
  'test/contract/vm-tokens.test.ts',
]
/** How the names begin of those among them that look at all operations or fields at once: a new one is missing there. */
export const testsOfAll = [
  'the description',
  'descriptions of',
  'every REST operation',
  'every REST document',
  'every root field',
  'every operation',
  'every field that a body',
  'REST takes every argument',
]
/** Slow, and about files rather than what they do: `npm run lint` and `npm run format` say the same. */
const lintTest = 'test/architecture/tools.test.ts'

/** Arguments of vitest, for each run: the architecture with the nouns’ tests, then the rows of the contract tests. */
export function runsOf({ files, operations }: Pick<NearTests, 'files' | 'operations'>): string[][] {
  const whole = files.filter((path) => !path.endsWith('.vm.test.ts'))
  const byName = contractTests.filter((path) => !whole.includes(path))
  const rows = [...byName, '--testNamePattern', patternOf([...testsOfAll, ...operations])]
  return [['test/architecture', ...whole, '--exclude', lintTest], ...(operations.length > 0 ? [rows] : [])]
}
