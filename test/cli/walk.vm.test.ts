/** The walk of WALK-VMS.md, on a whole Berth with real VMs, at a terminal and in a pipe; with `--update`, what happens at a terminal is recorded. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startInstallation, type Installation } from '../support/installation.ts'
import { walkPage } from './walk/page.ts'
import { makeWalker, type Mode } from './walk/walker.ts'

const limitMs = 1_200_000
let berth: Installation
beforeAll(async () => {
  berth = await startInstallation()
}, 600_000)
afterAll(() => berth?.stop(), 120_000)

test.each<Mode>(['at a terminal', 'in a pipe'])(
  'VMs, sandboxes, databases and files that describe them print %s what is recorded',
  async (mode) => {
    const walker = makeWalker(mode, Number(new URL(berth.url).port))
    try {
      const example = readFileSync(join(import.meta.dirname, '../../examples/berth.yaml'), 'utf8')
      const machines = example.slice(0, example.indexOf('\ndomains:'))
      expect(machines).toMatch(/^vms:$[\s\S]*^databases:$/m)
      writeFileSync(join(walker.folder, 'berth.yaml'), machines)
      writeFileSync(join(walker.folder, 'empty.yaml'), 'project: shop\nvms: {}\ndatabases: {}\n')
      await walkPage(join(import.meta.dirname, 'WALK-VMS.md'), mode, walker)
    } finally {
      walker.person.leave()
    }
  },
  limitMs,
)
