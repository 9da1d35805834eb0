/**
 * `npm test`: the whole suite, real VMs included, on a machine that may be fresh. Its last line is always
 * `N passed, N failed`, after a list of what failed; it fails when anything does, and when nothing ran.
 * Words after `npm test --` go to vitest: a part of a file name runs only what fits.
 */
import '../src/start/node-version.ts'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureTemplate } from '../src/drivers/compute/templates.ts'
import { isDebianFamily, missingRequirements } from '../src/drivers/vm-requirements.ts'
import { isRoot } from '../src/platform/settings/places.ts'
import { readConfig } from '../src/platform/config.ts'
import { setLogLevel } from '../src/platform/log.ts'
import { installPackages } from '../src/start/packages.ts'
import { prepareVms } from '../src/start/vms.ts'
import { countPassed, failuresOf, type JsonReport } from './support/results.ts'

const say = (line: string) => process.stdout.write(`${line}\n`)

/** What tests need beside what VMs need: Debian package -> a file by which we know it is here. */
const testPackages: Readonly<Record<string, string>> = {
  chromium: '/usr/bin/chromium',
  'default-jdk-headless': '/usr/bin/javac',
  'dnsmasq-base': '/usr/sbin/dnsmasq',
  git: '/usr/bin/git',
  'golang-github-jackc-pgx-v4-dev': '/usr/share/gocode/src/github.com/jackc/pgx/v4',
  'golang-github-lib-pq-dev': '/usr/share/gocode/src/github.com/lib/pq',
  'golang-go': '/usr/bin/go',
  knot: '/usr/sbin/knotd', // a DNS server
  'libdbd-pg-perl': '/var/lib/dpkg/info/libdbd-pg-perl.list',
  'libnss3-tools': '/usr/bin/certutil', // for authorities that Chromium trusts
  'libpostgresql-jdbc-java': '/usr/share/java/postgresql.jar',
  pebble: '/usr/bin/pebble',
  'php-cli': '/usr/bin/php',
  'php-pgsql': '/var/lib/dpkg/info/php-pgsql.list',
  postgresql: '/usr/bin/pg_ctlcluster', // for psql, pg_dump and pgbench
  'python3-asyncpg': '/usr/lib/python3/dist-packages/asyncpg',
  'python3-psycopg': '/usr/lib/python3/dist-packages/psycopg',
  'python3-psycopg2': '/usr/lib/python3/dist-packages/psycopg2',
  'ruby-pg': '/var/lib/dpkg/info/ruby-pg.list',
  unbound: '/usr/sbin/unbound',
}

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const folder = mkdtempSync(join(tmpdir(), 'berth-run-'))
chmodSync(folder, 0o711) // QEMU runs as another user when we are root
const code = await testAll()
rmSync(folder, { recursive: true, force: true })
process.exit(code)

async function testAll(): Promise<number> {
  setLogLevel('warn')
  const [typesCode] = await Promise.all([runNode(['node_modules/typescript/bin/tsc', '--noEmit']), installMissing()])
  if (typesCode !== 0) return summary(0, 1)
  await buildTemplates() // before any test: the longest of them measure what a busy machine would disturb
  const path = join(folder, 'report.json')
  const words = [
    'run',
    '--config',
    'test/vitest.config.ts',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${path}`,
    ...process.argv.slice(2),
  ]
  const vitestCode = await runNode(['node_modules/vitest/vitest.mjs', ...words])
  if (!existsSync(path)) return summary(0, 1)
  const report = JSON.parse(readFileSync(path, 'utf8')) as JsonReport
  const failures = failuresOf(report)
  for (const { file, test, why } of failures)
    say(`Failed: ${relative('.', file)}: ${test ?? 'the file itself'}: ${why}`)
  // vitest also fails for what no test stands for, such as an error after the last one: that counts as one.
  return summary(countPassed(report), failures.length === 0 && vitestCode !== 0 ? 1 : failures.length)
}

/** Installs the packages that tests and VMs need. What cannot be had is said, and fails in the tests that need it. */
async function installMissing(): Promise<void> {
  const ofTests = Object.keys(testPackages).filter((name) => !existsSync(testPackages[name]!))
  const missing = [...new Set([...ofTests, ...(missingRequirements(readConfig().vmUids)?.packages ?? [])])]
  if (missing.length > 0 && isRoot() && isDebianFamily()) {
    say(`Installing the Debian packages that tests and VMs need: ${missing.join(' ')}`)
    await installPackages(missing).catch((error: unknown) => say(String(error)))
  } else if (ofTests.length > 0) {
    say(`Some tests need programs that are missing here: ${ofTests.join(', ')}`)
  }
}

/**
 * Builds the templates that are missing, and the snapshots that machines start from; `data` beside the others, each of which
 * leaves a processor idle.
 */
async function buildTemplates(): Promise<void> {
  const config = { ...readConfig(), dataDir: folder, runDir: join(folder, 'run') }
  const [problem, ofData] = await Promise.all([
    prepareVms(config, process.stdout, true),
    ensureTemplate(config.cacheDir, 'data', () => undefined).then(
      () => null,
      (error: Error) => error.message,
    ),
  ])
  if (problem ?? ofData) say(`The tests of VMs will fail. ${problem ?? ofData}`)
}

function summary(passed: number, failed: number): number {
  say(`${passed} passed, ${failed} failed`)
  return failed > 0 || passed === 0 ? 1 : 0
}

async function runNode(words: readonly string[]): Promise<number> {
  const [exitCode] = (await once(spawn(process.execPath, words, { stdio: 'inherit' }), 'exit')) as [number | null]
  return exitCode ?? 1
}
