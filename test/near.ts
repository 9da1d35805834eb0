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
import { runsOf } from './near/runs.ts'

process.chdir(root)
process.exit(await testNear(process.argv.slice(2)))

async function testNear(nouns: readonly string[]): Promise<number> {
  const changed = nouns.length > 0 ? filesOf(nouns) : changedFiles()
  const near = nearTests(changed, listFiles(['test'], '.test.ts'))
  report(changed.length, near)
  const codes = [await runNode(['node_modules/typescript/bin/tsc', '--noEmit'])]
  for (const words of runsOf(near)) codes.push(await runTests(words))
  return codes.find((code) => code !== 0) ?? 0
}

function report(count: number, { columns, files, operations, unknown }: NearTests): void {
  const withVms = files.filter((path) => path.endsWith('.vm.test.ts'))
  say(`${count} changed files; nouns: ${columns.map(({ area, name }) => `${area}/${name}`).join(', ') || 'none'}`)
  say(`${files.length - withVms.length} test files, and the contract tests of ${operations.length} operations`)
  if (withVms.length > 0) say(`Not run, because they start VMs: npm test -- ${withVms.join(' ')}`)
  const ofContract = unknown.filter((path) => path.startsWith('test/contract/'))
  const others = unknown.filter((path) => !ofContract.includes(path))
  if (ofContract.length > 0) say(`Contract tests read ${ofContract.join(', ')}: run npm test -- contract`)
  if (others.length > 0) say(`No tests are known for ${others.join(', ')}: run npm run test:fast`)
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
