/** Builds on a node whose disk is full where their outputs go: a small file system of the test's own stands in for it. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { keptTemplatesFolder } from '#src/drivers/compute/places.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { finished, submit, type Job } from '../../support/builds.ts'
import { until } from '../../support/until.ts'

const buildLimitMs = 120_000
const noRoom = 'The node has no room left for this build. Ask your operator to make room, then build again.'

/** Why no file system can be mounted here; null when one can. */
function mountProblem(): string | null {
  if (process.getuid?.() !== 0) return 'only root may mount a file system'
  const folder = mkdtempSync(join(tmpdir(), 'berth-mount-'))
  try {
    mountSmall(folder)
    execFileSync('umount', [folder])
    return null
  } catch {
    return 'this host does not let root mount a file system'
  } finally {
    rmdirSync(folder)
  }
}
function mountSmall(folder: string, size = '4m'): void {
  mkdirSync(folder, { recursive: true })
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=711`, 'berth-test', folder], { stdio: 'pipe' })
}
const makeRoom = (folder: string): void => void execFileSync('mount', ['-o', 'remount,size=3g', folder])

async function build(
  berth: Berth,
  token: string,
  spec: unknown,
): Promise<{ job: Job; log: string; url: string | null }> {
  const { job, log } = await finished(berth, token, await submit(berth, token, spec), buildLimitMs)
  const { body } = await berth.ask('query ($id: ID!) { build(id: $id) { output { url } } }', {
    token,
    variables: { id: job.id },
  })
  return {
    job,
    log,
    url: (body.data as { build: { output: { url: string | null } | null } }).build.output?.url ?? null,
  }
}

const residents = async (berth: Berth): Promise<number> => (await berth.worker?.compute?.residents())?.length ?? -1

const problem = mountProblem()
const skipped = problem ? ` (skipped: ${problem})` : ''
describe.skipIf(problem)(`with no room for what builds leave behind${skipped}`, () => {
  let berth: Berth
  let token: string
  let mounted: string[] = []

  beforeAll(async () => {
    berth = await startBerth({
      worker: true,
      pool: 1,
      settings: { BERTH_RATE_LIMIT_FACTOR: '100', BERTH_DISK_FLOOR_MB: '0', BERTH_ORG_FILES_GB: '0' },
    })
    token = await berth.token()
    const { dataDir } = berth
    for (const folder of [join(dataDir, 'objects'), keptTemplatesFolder(dataDir)]) {
      mountSmall(folder)
      mounted = [...mounted, folder]
    }
  }, 180_000)
  afterAll(async () => {
    for (const folder of mounted) execFileSync('umount', ['--lazy', folder])
    await berth?.stop()
  })

  const names = (...path: string[]): string[] =>
    existsSync(join(berth.dataDir, ...path)) ? readdirSync(join(berth.dataDir, ...path)) : []

  test(
    'an output that does not fit fails its build with what to do and leaves nothing; with room the next one succeeds',
    async () => {
      const spec = {
        commands: ['head -c 8M /dev/urandom > big'],
        output: { type: 'artifact', name: 'out', path: 'big' },
      }
      const { job, log, url } = await build(berth, token, spec)
      expect(job, log).toMatchObject({ status: 'failed', error: noRoom, exit_code: null })
      expect(log.endsWith(`${noRoom}\n`)).toBe(true)
      expect(url).toBeNull()
      expect(names('objects', 'incoming')).toEqual([])
      expect(names('objects', 'files')).toEqual([])
      expect(names('folders')).toHaveLength(names('machines').length) // those of warm machines
      expect(await residents(berth)).toBe(0)
      expect((await build(berth, token, { ...spec, commands: ['echo small > big'] })).job).toMatchObject({
        status: 'succeeded',
      }) // what fits still fits
      makeRoom(join(berth.dataDir, 'objects'))
      const again = await build(berth, token, spec)
      expect(again.job, again.log).toMatchObject({ status: 'succeeded', error: null })
      expect((await (await fetch(again.url ?? '')).arrayBuffer()).byteLength).toBeGreaterThan(8 * 1024 * 1024)
      expect(names('objects', 'incoming')).toEqual([])
    },
    3 * buildLimitMs,
  )

  test(
    'a template that does not fit fails its build in the same way',
    async () => {
      const folder = keptTemplatesFolder(berth.dataDir)
      const spec = { commands: ['head -c 8M /dev/urandom > big'], output: { type: 'template', name: 'tools' } }
      const { job, log } = await build(berth, token, spec)
      expect(job, log).toMatchObject({ status: 'failed', error: noRoom })
      expect(readdirSync(folder)).toEqual([])
      expect(await residents(berth)).toBe(0)
      expect((await berth.call('POST', '/api/v1/vms', { token, body: { template_id: 'tools' } })).status).toBe(400)
      makeRoom(folder)
      const again = await build(berth, token, spec)
      expect(again.job, again.log).toMatchObject({ status: 'succeeded' })
      expect(readdirSync(folder)).toHaveLength(1)
    },
    2 * buildLimitMs,
  )
})

describe.skipIf(problem)(`with no room for the disks of machines${skipped}`, () => {
  let berth: Berth
  let token: string
  let folder: string

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'berth-full-'))
    chmodSync(folder, 0o711)
    mountSmall(folder, '192m')
    berth = await startBerth({
      worker: true,
      pool: 1,
      settings: { BERTH_DATA_DIR: folder, BERTH_RATE_LIMIT_FACTOR: '100', BERTH_DISK_FLOOR_MB: '0' },
    })
    token = await berth.token()
  }, 180_000)
  afterAll(async () => {
    await berth?.stop()
    execFileSync('umount', ['--lazy', folder])
    rmdirSync(folder)
  })

  test(
    'a VM that is paused because the node is full goes on when there is room again',
    async () => {
      const { body } = await berth.call<{ vm_id: string }>('POST', '/api/v1/vms', { token, body: {} })
      const exec = (command: string, timeout: number) =>
        berth.call<{ stdout: string }>('POST', `/api/v1/vms/${body.vm_id}/envd/exec`, {
          token,
          body: { command, timeout },
        })
      expect((await exec('true', 60)).status).toBe(200)
      const filler = join(folder, 'filler')
      const roomBytes = (): number => statfsSync(folder).bavail * statfsSync(folder).bsize
      writeFileSync(filler, Buffer.alloc(roomBytes() - 1024 * 1024))
      const writing = exec('head -c 8M /dev/urandom > big; sync', 120)
      await until('the node is full', () => roomBytes() < 128 * 1024, buildLimitMs)
      await exec('true', 1) // well or not: its disk wanted to grow meanwhile
      rmSync(filler)
      await writing // its connection may have died of the wait, the machine must not
      await until('it goes on', async () => (await exec('sync; echo back', 20)).body.stdout === 'back\n', buildLimitMs)
      expect((await berth.call('DELETE', `/api/v1/vms/${body.vm_id}`, { token })).status).toBe(204)
      await until('it is gone', async () => (await residents(berth)) === 0)
    },
    2 * buildLimitMs,
  )

  test(
    'a build that fills the node ends with what to do instead of standing still, and the next one has room again',
    async () => {
      const { job, log } = await build(berth, token, {
        cache: false,
        commands: ['head -c 2G /dev/urandom > big; sync; echo whole'],
      })
      expect(job, log).toMatchObject({ status: 'failed', error: noRoom, exit_code: null })
      expect(log).not.toMatch(/^whole$/m)
      expect(await residents(berth)).toBe(0)
      const again = await build(berth, token, { cache: false, commands: ['echo next'] })
      expect(again.job, again.log).toMatchObject({ status: 'succeeded' })
    },
    2 * buildLimitMs,
  )
})
