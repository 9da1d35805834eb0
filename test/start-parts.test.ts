import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { missingRequirements } from '../src/drivers/vm-requirements.ts'
import { isRunning, markProcess } from '#src/platform/locks/process-marks.ts'
import { nodeProblem } from '../src/start/node-version.ts'
import { readProcfile } from '../src/start/procfile.ts'
import { showProgress } from '../src/start/progress.ts'
import { countPassed, failuresOf } from './support/results.ts'

describe('the Procfile', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-procfile-'))
  })
  afterEach(() => {
    rmSync(folder, { recursive: true })
  })
  const read = (text: string) => {
    writeFileSync(join(folder, 'Procfile'), text)
    return readProcfile(join(folder, 'Procfile'))
  }

  test('names a release command and the processes in their order', () => {
    expect(read('# all of it\nrelease: node a.ts --now\n\nweb: node b.ts\nworker:node c.ts\n')).toEqual({
      release: 'node a.ts --now',
      processes: [
        { name: 'web', command: 'node b.ts' },
        { name: 'worker', command: 'node c.ts' },
      ],
    })
  })

  test('an invalid line is named', () => {
    expect(() => read('web: node b.ts\njust words\n')).toThrow('"just words" is not of the form "name: command"')
  })
})

describe('progress', () => {
  const shown = (isTTY: boolean, fractions: number[]) => {
    const written: string[] = []
    const show = showProgress('VM templates', { isTTY, write: (text) => written.push(text) })
    for (const fraction of fractions) show(fraction, 'packages')
    return written
  }

  test('outside a terminal, writes one line for every tenth', () => {
    const thousandths = Array.from({ length: 1001 }, (_, index) => index / 1000)
    const lines = shown(false, thousandths)
    expect(lines).toHaveLength(11)
    expect(lines[0]).toBe('VM templates   0 %  packages\n')
    expect(lines[10]).toBe('VM templates 100 %  packages\n')
  })

  test('in a terminal, draws over one line and ends it once', () => {
    const drawn = shown(true, [0, 0.5, 1, 1])
    expect(drawn).toHaveLength(3)
    expect(drawn[1]).toMatch(/^\r[^\n]*█{15}░{15}  50 %  packages\x1b\[K$/)
    expect(drawn.join('').match(/\n/g)).toHaveLength(1)
  })
})

test('an older Node is told which one Berth needs and how to get it', () => {
  expect(nodeProblem('26.10.0')).toBeNull()
  expect(nodeProblem('24.21.0')).toMatch(/Node 26 or newer, and this is Node 24\.21\.0.*npm start/)
})

test('compiled code is kept between starts, or where the operator says', () => {
  const folder = (variables: Record<string, string>): string =>
    execFileSync('sh', ['src/start/node.sh', '-p', "require('node:module').getCompileCacheDir() ?? 'none'"], {
      env: { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, ...variables },
      encoding: 'utf8',
    }).trim()
  expect(folder({})).toContain(join(process.cwd(), 'node_modules/.cache/node-compile'))
  expect(folder({ NODE_COMPILE_CACHE: '' })).toBe('none')
})

test('what is missing for VMs is named in one command to run', () => {
  const missing = missingRequirements(null, [])!
  expect(missing.packages).toEqual(
    expect.arrayContaining(['qemu-utils', 'mmdebstrap', 'busybox-static', 'cpio', 'xz-utils', 'e2fsprogs']),
  )
  expect(missing.sentence).toContain(`apt-get install -y ${missing.packages.join(' ')}\``)
})

test('a process is distinguished from a later one with the same pid', () => {
  const self = markProcess(process.pid)!
  expect(isRunning(self)).toBe(true)
  expect(isRunning({ ...self, startedTicks: self.startedTicks - 1 })).toBe(false)
  expect(markProcess(2 ** 22 + 1)).toBeUndefined()
})

test('a test file that fails outside its tests counts as a failure', () => {
  const passed = { status: 'passed', fullName: 'good' }
  const failed = { status: 'failed', fullName: 'bad', failureMessages: ['Error: no\n    at line 1'] }
  const report = {
    testResults: [
      { name: 'a', status: 'passed', assertionResults: [passed, passed] },
      { name: 'b', status: 'failed', assertionResults: [passed, failed, { status: 'skipped', fullName: 'left out' }] },
      { name: 'c', status: 'failed', message: 'SyntaxError', assertionResults: [] },
      { name: 'd', status: 'failed', assertionResults: [passed] },
    ],
  }
  expect(countPassed(report)).toBe(4)
  expect(failuresOf(report)).toEqual([
    { file: 'b', test: 'bad', why: 'Error: no' },
    { file: 'c', test: null, why: 'SyntaxError' },
    { file: 'd', test: null, why: '' },
  ])
})
