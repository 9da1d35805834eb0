/**
 * The units of deploy/systemd: they start what the Procfile does, with settings that are there, and are as closed as they say. Where
 * systemd-analyze is installed, it checks them.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { settings } from '#src/platform/settings.ts'
import { readProcfile } from '../../src/start/procfile.ts'
import { root } from '../architecture/sources.ts'
import { startCommand, type Command } from '../support/command.ts'
import { freePort } from '../support/ports.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'

const folder = join(root, 'deploy/systemd')
const read = (name: string): string => readFileSync(join(folder, name), 'utf8')
const services = readdirSync(folder).filter((name) => name.endsWith('.service'))
const { processes, release } = readProcfile(join(root, 'Procfile'))

/** What a unit says for a key, each time that it says it. */
function valuesOf(unit: string, key: string): string[] {
  return read(unit)
    .split('\n')
    .filter((line) => line.startsWith(`${key}=`))
    .map((line) => line.slice(key.length + 1))
}

test('each process of the Procfile has a unit that starts it in the same way, and the target starts them all', () => {
  const unitOf = (name: string): string => `berth-${name}.service`
  expect(services.toSorted()).toEqual([...processes.map(({ name }) => unitOf(name)), unitOf('release')].toSorted())
  const started = processes.map(({ name }) => valuesOf(unitOf(name), 'ExecStart'))
  expect(started).toEqual(processes.map(({ command }) => [command.replace(/^node /, '/bin/sh src/start/node.sh ')]))
  expect(valuesOf(unitOf('release'), 'ExecStart')[0]).toBe(release?.replace(/^node /, '/bin/sh src/start/node.sh '))
  const wanted = (valuesOf('berth.target', 'Wants')[0] ?? '').split(' ')
  expect(wanted.toSorted()).toEqual(services.toSorted())
})

test('the variables of the units are settings, and all use one data folder, which the folders’ file makes', () => {
  const names = new Set<string>(Object.values(settings).map(({ name }) => name))
  const given = services.flatMap((unit) => valuesOf(unit, 'Environment').map((text) => text.split('=')[0] ?? ''))
  expect(given.filter((name) => name !== 'NODE_COMPILE_CACHE' && !names.has(name))).toEqual([])
  const dataFolders = services.map((unit) =>
    valuesOf(unit, 'Environment').filter((text) => text.startsWith('BERTH_DATA_DIR=')),
  )
  expect(new Set(dataFolders.flat())).toEqual(new Set(['BERTH_DATA_DIR=/var/lib/berth/data']))
  expect(dataFolders.every((found) => found.length === 1)).toBe(true)
  const made = [...read('berth.tmpfiles.conf').matchAll(/^d (\S+)/gm)].map(([, path = '']) => path)
  const written = services.flatMap((unit) => valuesOf(unit, 'ReadWritePaths').flatMap((text) => text.split(' ')))
  expect(written.length).toBeGreaterThan(3)
  expect(written.filter((path) => !made.includes(path))).toEqual([])
})

test('only the worker and what runs before it are root, and the worker leaves its VMs alone when it stops', () => {
  expect(services.filter((unit) => valuesOf(unit, 'User').length === 0)).toEqual([
    'berth-release.service',
    'berth-worker.service',
  ])
  for (const unit of ['berth-web.service', 'berth-edge.service'])
    expect(valuesOf(unit, 'CapabilityBoundingSet')).toEqual([''])
  expect(valuesOf('berth-worker.service', 'KillMode')).toEqual(['process'])
  expect(valuesOf('berth-worker.service', 'SystemCallFilter')[0]?.split(' ')).toContain('seccomp') // without it QEMU has no sandbox
  expect(valuesOf('berth-worker.service', 'OOMPolicy')).toEqual(['continue'])
})

const hasAnalyze = spawnSync('systemd-analyze', ['security', '--help']).stdout?.toString().includes('--offline')
describe.skipIf(!hasAnalyze)('systemd-analyze', () => {
  const analyze = (...words: string[]): { status: number | null; said: string } => {
    const { status, stdout, stderr } = spawnSync('systemd-analyze', ['--no-pager', ...words], { encoding: 'utf8' })
    return { status, said: `${stdout}${stderr}` }
  }

  test('finds nothing wrong with the units', () => {
    const { status, said } = analyze(
      'verify',
      '--man=no',
      ...[...services, 'berth.target'].map((name) => join(folder, name)),
    )
    expect(said.split('\n').filter((line) => line.includes('berth'))).toEqual([])
    expect(status, said).toBe(0)
  })

  test.each([
    ['berth-web.service', 20],
    ['berth-edge.service', 20],
    ['berth-release.service', 30],
    ['berth-worker.service', 50],
  ])('says that the exposure of %s is at most %i tenths', (unit, tenths) => {
    const { status, said } = analyze('security', '--offline=true', `--threshold=${tenths}`, join(folder, unit))
    expect(status, said).toBe(0)
    expect(said).toContain('Overall exposure level')
  })
})

describe('deploy/ready.ts', () => {
  let database: TestDatabase
  let dataDir: string
  let web: Command
  let variables: Record<string, string>
  const ready = async (...words: string[]): Promise<{ code: number | null; said: string }> => {
    const { ended, lines } = startCommand(['deploy/ready.ts', ...words], variables)
    return { code: await ended, said: lines.join('\n') }
  }

  beforeAll(async () => {
    database = await createDatabase()
    dataDir = mkdtempSync(join(tmpdir(), 'berth-ready-'))
    chmodSync(dataDir, 0o711)
    variables = {
      PORT: String(await freePort()),
      BERTH_METRICS_PORT: String(await freePort()),
      BERTH_WORKER_METRICS_PORT: String(await freePort()),
      BERTH_EDGE_METRICS_PORT: String(await freePort()),
      BERTH_DATA_DIR: dataDir,
      BERTH_VMS: 'off',
      DATABASE_URL: database.url,
    }
    web = startCommand(['src/gateway/main.ts'], variables)
  })
  afterAll(async () => {
    web.child.kill('SIGKILL')
    await web.ended
    await database.drop()
    rmSync(dataDir, { recursive: true, force: true })
  })

  test('waits until a process that starts is ready', async () => {
    expect(await ready('web', '--wait', '60')).toEqual({ code: 0, said: '' })
  })

  test('waits no longer than the process lives', async () => {
    const ended = startCommand(['--version'])
    await ended.ended
    const { code, said } = await ready('edge', '--wait', '3600', '--pid', String(ended.child.pid))
    expect(code).toBe(1)
    expect(said).toContain('The edge process is not ready.')
  })

  test('says why one is not, and ends with 1', async () => {
    const { code, said } = await ready('worker')
    expect(code).toBe(1)
    expect(said).toMatch(/^The worker process is not ready\.\nNothing answers at 127\.0\.0\.1 port \d+: /)
  })

  test.each([[[]], [['sidecar']], [['web', '--wait', 'long']], [['web', '--now']]])('refuses %j', async (words) => {
    const { code, said } = await ready(...words)
    expect(code).toBe(2)
    expect(said).toContain('node deploy/ready.ts web|edge|worker')
  })
})
