/** The build of a template whose process is killed: nothing of it goes on, and the next one cleans up. */
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { isRoot } from '#src/platform/settings/places.ts'
import { until } from '../../support/until.ts'

const limitMs = 120_000
const cacheDir = mkdtempSync(join(tmpdir(), 'berth-template-'))
const templates = join(cacheDir, 'templates')
const children: ChildProcess[] = []
afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
  rmSync(cacheDir, { recursive: true, force: true })
})

/** Begins a build in a process of its own, until Debian is being unpacked. */
async function begin(): Promise<ChildProcess> {
  const script = `
    const { ensureTemplate } = await import(${JSON.stringify(new URL('../../../src/drivers/compute/templates.ts', import.meta.url))})
    await ensureTemplate(${JSON.stringify(cacheDir)}, 'data', (_, sentence) => console.log(sentence))`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  let said = ''
  child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
    said += piece
  })
  await until(`it unpacks Debian: ${said}`, () => said.includes('Unpacking the base system'), limitMs)
  return child
}

/** The processes that know the folder of the build. */
const processes = (): string[] =>
  readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid) || pid === String(process.pid)) return false
    try {
      return ['cmdline', 'environ'].some((name) => readFileSync(`/proc/${pid}/${name}`, 'latin1').includes(templates))
    } catch {
      return false // it has ended
    }
  })

test.skipIf(!isRoot())(
  'a kill ends all of a build, and the next build removes what it left',
  async () => {
    const killed = await begin()
    const left = join(templates, `data-building-${killed.pid}`)
    expect(processes().length).toBeGreaterThan(1)
    expect(readdirSync(left)).toContainEqual(expect.stringMatching(/^mmdebstrap\./))
    killed.kill('SIGKILL')
    await until('nothing of it runs', () => processes().length === 0)
    const next = await begin()
    expect(existsSync(left)).toBe(false)
    next.kill('SIGKILL')
    await until('nothing of the next one runs', () => processes().length === 0)
  },
  limitMs,
)
