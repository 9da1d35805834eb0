/**
 * `npm test`: the whole suite, real VMs included, on a machine that may be fresh. Its last line is always
 * `N passed, N failed`; it fails when anything does, and when nothing ran. A few files that failed in a whole run are run
 * once more by themselves, because a busy machine can be too slow for a real VM; both results are shown.
 * Words after `npm test --` go to vitest: a part of a file name runs only what fits.
 */
import '../src/start/node-version.ts'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDebianFamily } from '../src/drivers/vm-requirements.ts'
import { isRoot } from '../src/platform/settings/places.ts'
import { readConfig } from '../src/platform/config.ts'
import { setLogLevel } from '../src/platform/log.ts'
import { installPackages } from '../src/start/packages.ts'
import { prepareVms } from '../src/start/vms.ts'
import { countPassed, failuresOf, withRerun, type Failure, type JsonReport } from './support/results.ts'

/** More failed files than these are no accident of a busy machine, and are not run again. */
const filesAgainMax = 6

const say = (line: string) => process.stdout.write(`${line}\n`)

/** What tests need beside what VMs need: Debian package -> a file by which we know it is here. */
const testPackages: Readonly<Record<string, string>> = { chromium: '/usr/bin/chromium', git: '/usr/bin/git' }

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const folder = mkdtempSync(join(tmpdir(), 'berth-run-'))
chmodSync(folder, 0o711) // QEMU runs as another user when we are root
const code = await testAll()
rmSync(folder, { recursive: true, force: true })
process.exit(code)

async function testAll(): Promise<number> {
  if ((await runNode(['node_modules/typescript/bin/tsc', '--noEmit'])) !== 0) return summary(0, 1)
  setLogLevel('warn')
  await prepareHost()
  const chosen = process.argv.slice(2)
  const { code: vitestCode, report } = await runVitest(chosen, 'report')
  if (!report) return summary(0, 1)
  const failures = failuresOf(report)
  if (failures.length === 0) {
    // vitest also fails for what no test stands for, such as an error after the last one: that counts as one.
    return summary(countPassed(report), vitestCode === 0 ? 0 : 1)
  }
  list('Failed', failures)
  const files = [...new Set(failures.map(({ file }) => file))]
  if (chosen.length > 0 || files.length > filesAgainMax) return summary(countPassed(report), failures.length)
  say(`Running again, one after the other, the files that failed beside others: ${files.length}`)
  const again = await runVitest([...files, '--no-file-parallelism'], 'again')
  const both = again.report ? withRerun(report, again.report) : report
  const left = failuresOf(both)
  list(
    'Failed at first and passed by itself',
    failures.filter((one) => !left.some(({ file, test }) => file === one.file && test === one.test)),
  )
  list('Failed twice', left)
  return summary(countPassed(both), left.length === 0 && again.code !== 0 ? 1 : left.length)
}

/** Runs vitest with these words; no report when it could not start. */
async function runVitest(words: readonly string[], name: string): Promise<{ code: number; report?: JsonReport }> {
  const path = join(folder, `${name}.json`)
  const code = await runNode([
    'node_modules/vitest/vitest.mjs',
    'run',
    '--config',
    'test/vitest.config.ts',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${path}`,
    ...words,
  ])
  return existsSync(path) ? { code, report: JSON.parse(readFileSync(path, 'utf8')) as JsonReport } : { code }
}

function list(what: string, failures: readonly Failure[]): void {
  if (failures.length === 0) return
  say(`${what}:`)
  for (const { file, test, why } of failures) say(`  ${relative('.', file)}: ${test ?? 'the file itself'}: ${why}`)
}

/** Installs packages and builds the templates. What cannot be had is said here, and fails in the tests that need it. */
async function prepareHost(): Promise<void> {
  const missing = Object.keys(testPackages).filter((name) => !existsSync(testPackages[name]!))
  if (missing.length > 0 && isRoot() && isDebianFamily()) {
    say(`Installing the Debian packages that tests need: ${missing.join(' ')}`)
    await installPackages(missing).catch((error: unknown) => say(String(error)))
  } else if (missing.length > 0) {
    say(`Some tests need programs that are missing here: ${missing.join(', ')}`)
  }
  const problem = await prepareVms({ ...readConfig(), dataDir: folder, runDir: join(folder, 'run') }, process.stdout)
  if (problem) say(`The tests of VMs will fail. ${problem}`)
}

function summary(passed: number, failed: number): number {
  say(`${passed} passed, ${failed} failed`)
  return failed > 0 || passed === 0 ? 1 : 0
}

async function runNode(words: readonly string[]): Promise<number> {
  const [exitCode] = (await once(spawn(process.execPath, words, { stdio: 'inherit' }), 'exit')) as [number | null]
  return exitCode ?? 1
}
