/**
 * `npm run test:kvm [-- file …]`: Berth on KVM, on hosts that have none too. A machine with virtualization of its own is emulated,
 * and in it the doctor and the heart of the tests of VMs run, or the named test files. It takes an hour or more on two
 * processors: nothing that is measured in it means anything. Exit 1 when a step fails.
 */
import '../../src/start/node-version.ts'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { ensureTemplate } from '#src/drivers/compute/templates.ts'
import { reportError } from '#src/platform/command-line.ts'
import { readConfig } from '#src/platform/config.ts'
import { isRoot } from '#src/platform/settings/places.ts'
import { machineArguments, makeBoot, makeDisk } from './machine.ts'
import { filesParameter, verdictWord } from './words.ts'

/** What shows that machines, VMs, databases and builds work on KVM, and survive the deaths of what runs them. */
const heart = [
  'test/infra/compute.vm.test.ts',
  'test/infra/compute/pool.vm.test.ts',
  'test/infra/compute/isolation.vm.test.ts',
  'test/infra/databases.vm.test.ts',
  'test/infra/vms.vm.test.ts',
  'test/infra/builds.vm.test.ts',
  'test/chaos.vm.test.ts',
]
const consoleLinesShown = 20

const checkout = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')
const say = (line: string) => process.stdout.write(`${line}\n`)

process.chdir(checkout)
process.exit(await main().catch(reportError))

async function main(): Promise<number> {
  if (!isRoot() || process.arch !== 'x64') {
    say('The machine reads this host’s files as they are: run it as root, on x64.')
    return 2
  }
  const { cacheDir } = readConfig()
  for (const name of ['base', 'postgres'] as const) await ensureTemplate(cacheDir, name, () => undefined)
  const boot = makeBoot(join(checkout, 'node_modules/.cache/berth-kvm'), join(checkout, 'test/kvm/initramfs-init'))
  const folder = mkdtempSync(join(tmpdir(), 'berth-kvm-'))
  try {
    return await runMachine(folder, boot)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function runMachine(folder: string, boot: ReturnType<typeof makeBoot>): Promise<number> {
  const places = { disk: join(folder, 'disk'), console: join(folder, 'console') }
  makeDisk(places.disk)
  const named = process.argv.slice(2)
  const files = named.length > 0 ? named : heart
  const words = [`berth.checkout=${checkout}`, `${filesParameter}${files.join(',')}`]
  const qemu = spawn('qemu-system-x86_64', machineArguments(boot, places, words), {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  process.once('SIGINT', () => qemu.kill()).once('SIGTERM', () => qemu.kill())
  const ended = once(qemu, 'exit')
  let verdict = ''
  for await (const line of createInterface({ input: qemu.stdout })) {
    say(line)
    if (line.startsWith(verdictWord)) verdict = line
  }
  await ended
  if (verdict === '') {
    const lines = readFileSync(places.console, 'utf8').trimEnd().split('\n').slice(-consoleLinesShown)
    say(`The machine ended before its last step. The end of its console:\n${lines.join('\n')}`)
  }
  return verdict.endsWith(', 0 failed') ? 0 : 1
}
