/**
 * `npm run test:near`: what the changes of this checkout can break, in about a minute and a half: the types, the
 * architecture, the tests of the nouns whose files changed, and of the contract tests the rows of those nouns. Changes
 * are those since the branch left `main`, committed or not; `npm run test:near -- vms vaults` names nouns instead.
 * Tests with VMs are only named. `npm test` stays the last word.
 */
import '../src/start/node-version.ts'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { listFiles, readSources, root } from './architecture/sources.ts'
import { columnOf, nearTests, type NearTests } from './near/columns.ts'

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
/** Slow, and about files rather than what they do: `npm run lint` and `npx biome check` say the same. */
const lintTest = 'test/architecture/tools.test.ts'

process.chdir(root)
process.exit(await testNear(process.argv.slice(2)))

async function testNear(nouns: readonly string[]): Promise<number> {
  const changed = nouns.length > 0 ? filesOf(nouns) : changedFiles()
  const near = nearTests(changed, listFiles(['test'], '.test.ts'))
  report(changed.length, near)
  const withoutVms = near.files.filter((path) => !path.endsWith('.vm.test.ts') && !contractTests.includes(path))
  const codes = [
    await runNode(['node_modules/typescript/bin/tsc', '--noEmit']),
    await runTests(['test/architecture', ...withoutVms, '--exclude', lintTest]),
    near.operations.length === 0
      ? 0
      : await runTests([...contractTests, '--testNamePattern', patternOf(near.operations)]),
  ]
  return codes.find((code) => code !== 0) ?? 0
}

function report(count: number, { columns, files, operations, unknown }: NearTests): void {
  const withVms = files.filter((path) => path.endsWith('.vm.test.ts'))
  say(`${count} changed files; nouns: ${columns.map(({ area, name }) => `${area}/${name}`).join(', ') || 'none'}`)
  say(`${files.length - withVms.length} test files, and the contract tests of ${operations.length} operations`)
  if (withVms.length > 0) say(`Not run, because they start VMs: npm test -- ${withVms.join(' ')}`)
  if (unknown.length > 0) say(`No tests are known for ${unknown.join(', ')}: run npm run test:fast`)
}

/** Files that differ from where this branch left `main`, and new ones. */
function changedFiles(): string[] {
  const git = (...words: string[]): string => execFileSync('git', words, { encoding: 'utf8' }).trim()
  const base = git('merge-base', 'HEAD', 'main')
  const lines = `${git('diff', '--name-only', base)}\n${git('ls-files', '--others', '--exclude-standard')}`.split('\n')
  return lines.filter((line) => line !== '')
}

/** Every file of these nouns. */
function filesOf(nouns: readonly string[]): string[] {
  const all = readSources(['src/resources', 'schema', 'rest-compat', 'workers', 'test']).map(({ path }) => path)
  const found = all.filter((path) => nouns.includes(columnOf(path)?.name ?? ''))
  if (found.length === 0) throw new Error(`No noun is called ${nouns.join(' or ')}. See src/resources for their names.`)
  return found
}

/** A whole name of an operation, wherever it stands in the name of a test. */
function patternOf(operations: readonly string[]): string {
  const escaped = operations.map((one) => one.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return `(?:^|[ :])(?:${escaped.join('|')})(?:$|[ ,:/])`
}

async function runTests(words: readonly string[]): Promise<number> {
  const projects = ['fast', 'slow', 'measured', 'waiting'].flatMap((name) => ['--project', name])
  return runNode(['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', ...projects, ...words])
}

async function runNode(words: readonly string[]): Promise<number> {
  const [code] = (await once(spawn(process.execPath, words, { stdio: 'inherit' }), 'exit')) as [number | null]
  return code ?? 1
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
