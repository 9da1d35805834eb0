/** `berth up` and what else is done on the host of a Berth: the programs of npm's scripts, by the command line. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { isRunning, markProcess, type ProcessMark } from '#src/platform/locks/process-marks.ts'
import { hostNoun, type HostCommand } from '../../cli/commands/host.ts'
import { LogFile } from '../../src/start/background/log-file.ts'
import { findRun, writeRunFile, type RunFile } from '../../src/start/run-file.ts'
import { startCommand } from '../support/command.ts'
import { freePort } from '../support/ports.ts'
import { makePerson, type Person } from './command.ts'

let folder: string
let person: Person
let port: string
// Everything is as people have it but for workers and edges: the database that the first start makes is used by the others.
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-host-'))
  chmodSync(folder, 0o711) // Postgres runs as another user when we are root
  mkdirSync(join(folder, 'here'))
  port = String(await freePort())
  const settings = { PORT: port, BERTH_DATA_DIR: dataDir(), BERTH_CACHE_DIR: join(folder, 'cache') }
  // What a person has set for other commands must not be taken for settings of Berth.
  person = makePerson({ ...settings, BERTH_URL: `http://localhost:${port}`, BERTH_ORG: 'acme' }, join(folder, 'here'))
})
beforeEach(() => writeFileSync(join(folder, 'here/Procfile'), processes))
afterEach(async () => void (await person.run(['down'])), 120_000)
afterAll(() => {
  person.leave()
  rmSync(folder, { recursive: true, force: true })
})

const processes = 'release: node src/platform/migrate.ts\nweb: node src/gateway/main.ts\n'
const dataDir = (): string => join(folder, 'data')
const up = ['up', '--without-vms', '--procfile', 'Procfile'] // the person's own, beside them
const marksOf = ({ starter, processes }: RunFile): ProcessMark[] => [starter, ...Object.values(processes)]

test('up in the background returns with the address; a second one, token, backup and down find it; and down ends all of it', async () => {
  const started = await person.run([...up, '--detach'])
  expect(started).toMatchObject({ exit: 0, err: '' })
  expect(started.out).toContain(`\nBerth is ready at http://localhost:${port} (npm stop, or berth down, stops it)\n`)
  expect(started.out).not.toContain('web ')
  const log = join(dataDir(), 'berth.log')
  expect(started.out).toContain(`Its log is ${log}\n`)
  expect(statSync(log).mode & 0o777).toBe(0o600)
  expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200)
  const run = findRun(dataDir())
  if (!run) throw new Error('nothing runs')
  expect(await person.run([...up, '--detach'])).toMatchObject({
    exit: 1,
    err: expect.stringContaining(`Berth already runs on ${dataDir()}, at http://localhost:${port}.`),
  })
  const token = await person.run(['token', '--user', 'alice', '--org', 'acme', '--ttl', '5m'])
  expect(token).toMatchObject({ exit: 0, out: expect.stringMatching(/^ey[\w.-]+\n$/), err: '' })
  expect((await person.run(['backup'])).exit).toBe(0)
  expect(readdirSync(join(folder, 'here')).sort()).toEqual(['Procfile', expect.stringMatching(/^berth-.*\.tar\.zst$/)])
  expect(await person.run(['down'])).toEqual({
    exit: 0,
    out: `Berth has ended; it was at http://localhost:${port}.\n`,
    err: '',
  })
  expect(marksOf(run).filter(isRunning)).toEqual([])
  expect(readFileSync(log, 'utf8')).toContain('database system is shut down')
  expect(await person.run(['down', '--vms'])).toEqual({
    exit: 0,
    out: `No Berth runs on ${dataDir()}.\nNo VM ran.\n`,
    err: '',
  })
}, 240_000)

test('up in the foreground is the process itself, and a Ctrl-C ends all of it in order', async () => {
  const running = person.start(up)
  await running.printed('Berth is ready at', 90_000)
  const run = findRun(dataDir())
  expect(run?.starter.pid).toBe(running.child.pid)
  running.child.kill('SIGINT')
  const ended = await running.ended
  expect(ended).toMatchObject({ exit: 0, out: expect.stringContaining('database system is shut down') })
  expect(run && marksOf(run).filter(isRunning)).toEqual([])
}, 120_000)

test('a start in the background that fails says why, and leaves nothing', async () => {
  writeFileSync(
    join(folder, 'here/Procfile'),
    'release: sh -c "echo the disk is on fire; exit 3"\nweb: node nowhere.mjs\n',
  )
  const failed = await person.run([...up, '--detach'])
  expect(failed.exit).toBe(1)
  expect(`${failed.out}${failed.err}`).toMatch(/the disk is on fire[^]*The database could not be migrated/)
  expect(findRun(dataDir())).toBeNull()
}, 120_000)

test('down ends no process that has only the number of the one that started Berth', async () => {
  const elsewhere = join(folder, 'elsewhere')
  mkdirSync(elsewhere)
  const own = markProcess(process.pid)
  if (!own) throw new Error('we live')
  const starter = { pid: own.pid, startedTicks: own.startedTicks - 1 } // of an earlier process
  writeRunFile(elsewhere, { starter, processes: { web: starter } } as object as RunFile) // what down reads of it
  const down = await person.run(['down'], '', { BERTH_DATA_DIR: elsewhere })
  expect(down).toMatchObject({ exit: 0, out: `No Berth runs on ${elsewhere}.\n` })
  expect(isRunning(own)).toBe(true)
  expect(existsSync(join(elsewhere, 'run.json'))).toBe(false)
})

test('files are named from where the person is, and failures have the exit codes of the programs', async () => {
  const missing = await person.run(['restore', 'one.tar.zst'])
  expect(missing).toMatchObject({ exit: 1, err: `There is no file ${join(folder, 'here/one.tar.zst')}.\n` })
  expect((await person.run(['token', '--user', 'alice'])).exit).toBe(2)
  expect((await person.run(['doctor', 'everything'])).exit).toBe(2)
  const wrong = await person.run(['doctor'], '', { PORT: 'http' })
  expect(wrong).toMatchObject({ exit: 1, out: expect.stringContaining('✗ settings: PORT must be') })
}, 60_000)

test.each<[HostCommand, string]>([
  ['up', 'src/start.ts'],
  ['down', 'src/stop.ts'],
  ['token', 'src/identity/token.ts'],
])('%s has the options of its program', async (name, file) => {
  const { ended, lines } = startCommand([file, '--help'])
  expect(await ended).toBe(0)
  const inUsage = [...lines.join('\n').matchAll(/(?<=[[\s])--[a-z][a-z-]+/g)].map(([option]) => option)
  const ours = (hostNoun(name).alone?.options ?? []).map(([flags]) => flags.replace(/ .*$/, ''))
  expect([...new Set(ours)].sort()).toEqual([...new Set(inUsage)].sort())
})

test('the log of one in the background has two files of limited size, and a full disk does not end it', () => {
  const path = join(folder, 'one.log')
  const log = new LogFile(path, 100)
  for (let line = 1; line <= 30; line++) log.write(`this is line ${line}`)
  expect(readFileSync(path, 'utf8')).toMatch(/this is line 30\n$/)
  for (const file of [path, `${path}.1`]) expect(statSync(file).size).toBeLessThanOrEqual(100)
  expect(() => new LogFile('/dev/full').write('lost')).not.toThrow()
})
