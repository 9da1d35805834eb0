/** The containers of deploy/image and deploy/compose.yaml: what they run, with which settings and rights, and how their health is asked. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { settings } from '#src/platform/settings.ts'
import { readProcfile } from '../../src/start/procfile.ts'
import { root } from '../architecture/sources.ts'

type Service = {
  image: string
  command?: string[]
  user?: string
  read_only?: boolean
  environment?: Record<string, string>
  cap_drop?: string[]
  cap_add?: string[]
  volumes?: string[]
  healthcheck?: { test: string[] }
}

const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const { services, volumes } = parse(read('deploy/compose.yaml'), { merge: true }) as {
  services: Record<string, Service>
  volumes: Record<string, unknown>
}
const names = new Set<string>(Object.values(settings).map(({ name }) => name))
const { processes, release } = readProcfile(join(root, 'Procfile'))
const ours = Object.entries(services).filter(([, { image }]) => image.startsWith('localhost/berth-'))

test('the composition has a container for each process of the Procfile, and its health is that process’ readiness', () => {
  expect(ours.map(([name]) => name).toSorted()).toEqual([...processes.map(({ name }) => name), 'release'].toSorted())
  for (const [name, { command, healthcheck }] of ours) {
    expect(command).toEqual([name])
    if (name !== 'release')
      expect(healthcheck?.test).toEqual(['CMD', 'sh', 'src/start/node.sh', 'deploy/ready.ts', name])
  }
})

test('only the worker and the migrations are root, nothing is privileged, and all share the data folder', () => {
  for (const [name, { image, user, read_only: isReadOnly, cap_drop: dropped, cap_add: added, volumes: used }] of ours) {
    expect(dropped, name).toEqual(['ALL'])
    expect(used, name).toContain('data:/var/lib/berth')
    if (name === 'worker' || name === 'release') continue
    expect({ image, user, isReadOnly, added }, name).toMatchObject({
      image: 'localhost/berth-web:latest',
      isReadOnly: true,
    })
    expect(user ?? added, name).toBeUndefined()
  }
  expect(services['worker']?.cap_add).not.toContain('SYS_ADMIN')
  const used = Object.values(services).flatMap(({ volumes: some = [] }) => some.map((one) => one.split(':')[0] ?? ''))
  expect([...new Set(used)].toSorted()).toEqual(Object.keys(volumes).toSorted())
})

test('the variables of the composition and of the images are settings', () => {
  const given = ours.flatMap(([, { environment = {} }]) => Object.keys(environment))
  const inImages = [...read('deploy/image/build.sh').matchAll(/--env (\w+)=/g)].map(([, name = '']) => name)
  expect(inImages.length).toBeGreaterThan(4)
  const others = ['PATH', 'NODE_COMPILE_CACHE']
  expect([...given, ...inImages].filter((name) => !names.has(name) && !others.includes(name))).toEqual([])
})

test('a container runs a process as the Procfile says it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-run-'))
  try {
    // Stands for the script that finds Node: it prints what it is given.
    writeFileSync(join(folder, 'node.sh'), 'echo "$@"\n')
    const script = read('deploy/image/run.sh')
      .replace('cd /opt/berth', `cd '${root}'`)
      .replaceAll('src/start/node.sh', join(folder, 'node.sh'))
    writeFileSync(join(folder, 'run.sh'), script)
    const run = (...words: string[]): string =>
      spawnSync('sh', [join(folder, 'run.sh'), ...words], {
        env: { PATH: '/usr/bin:/bin', BERTH_DATA_DIR: folder },
        encoding: 'utf8',
      }).stdout.trim()
    for (const { name, command } of processes)
      expect(run(name).split('\n'), name).toContain(command.replace(/^node /, ''))
    expect(run('release').split('\n')[0]).toBe(release?.replace(/^node /, ''))
    expect(run('echo', 'a b')).toBe('a b')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('the image is built by root into a new file, and says so otherwise', () => {
  const build = (...words: string[]): { status: number | null; stderr: string } =>
    spawnSync('sh', [join(root, 'deploy/image/build.sh'), ...words], { encoding: 'utf8' })
  expect(build()).toMatchObject({ status: 2, stderr: expect.stringContaining('build.sh web|worker <file.tar>') })
  expect(build('edge', '/tmp/x.tar').status).toBe(2)
})
