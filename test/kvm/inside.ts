/** The checks inside the machine, one after another: each step says how it ended, and the last line is the verdict. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { snapshotsFolder } from '#src/drivers/compute/places.ts'
import { readConfig } from '#src/platform/config.ts'
import { filesParameter, verdictWord } from './words.ts'

const say = (line: string) => process.stdout.write(`${line}\n`)
const { cacheDir } = readConfig()

/** What the doctor prints, which fails where a database is missing, say. */
async function askDoctor(): Promise<string> {
  const child = spawn(process.execPath, ['src/doctor.ts'], { stdio: ['ignore', 'pipe', 'inherit'] })
  return (await child.stdout.setEncoding('utf8').toArray()).join('')
}

/** Runs a test file, and shows its tests as they end. */
async function runTests(file: string): Promise<boolean> {
  const words = ['run', '--config', 'test/vitest.config.ts', '--project', 'vm', '--reporter=verbose', '--maxWorkers=1']
  const child = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', ...words, file], { stdio: 'inherit' })
  const [code] = (await once(child, 'exit')) as [number | null]
  return code === 0
}

/** How the snapshots that are here were made. */
function snapshotsMade(): { acceleration: string }[] {
  const folder = snapshotsFolder(cacheDir)
  return readdirSync(folder)
    .map((name) => join(folder, name, 'made.json'))
    .filter((path) => existsSync(path))
    .map((path) => JSON.parse(readFileSync(path, 'utf8')) as { acceleration: string }) // written by Berth
}

const given = readFileSync('/proc/cmdline', 'utf8').trim().split(' ')
const files = given
  .find((word) => word.startsWith(filesParameter))!
  .slice(filesParameter.length)
  .split(',')

const steps: readonly (readonly [name: string, passes: () => Promise<boolean> | boolean])[] = [
  ['the device of KVM is there', () => existsSync('/dev/kvm')],
  [
    'the doctor says that KVM works',
    async () => {
      const output = await askDoctor()
      const works = output.includes('✓ KVM boots a kernel here')
      if (!works) say(output)
      return works
    },
  ],
  ...files.map((file) => [file, () => runTests(file)] as const),
  ['a snapshot was made under KVM', () => snapshotsMade().some(({ acceleration }) => acceleration === 'kvm')],
]

let failed = 0
for (const [name, passes] of steps) {
  const passed = await passes()
  if (!passed) failed++
  say(`${passed ? '✓' : '✗'} ${name} (${Math.round(performance.now() / 1000)} s of the machine’s time)`)
}
say(`${verdictWord} ${steps.length - failed} steps passed, ${failed} failed`)
