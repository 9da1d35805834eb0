/**
 * `npm stop [-- --vms]`: ends the Berth that runs on the data folder, and waits for it. It is known by its process id and the
 * moment at which that process began, so that nobody else's process is ended.
 */
import './start/node-version.ts'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { readFlags, reportError } from './platform/command-line.ts'
import { readConfig, type Config } from './platform/config.ts'
import { setLogLevel } from './platform/log.ts'
import { isRunning, signal } from '#src/platform/locks/process-marks.ts'
import { claim, clearLeftovers } from './start/instance.ts'
import { findRun, type RunFile } from './start/run-file.ts'
import { environmentOf } from './start/running-settings.ts'
import { StartError } from './start/start-error.ts'
import { endVms } from './start/vms.ts'
import { pollUntil } from './start/wait.ts'

/** It ends its processes one after another, each of which has 11 s; then Postgres. */
const endLimitMs = 120_000
const claimLimitMs = 10_000

const usage = `npm stop [-- --vms]: ends the Berth of this checkout, or that of BERTH_DATA_DIR, and waits until it has ended.
  --vms  shuts its VMs down too. Otherwise they keep running, and the next start finds them; after --vms, the next start
         starts those again that were running, from their disks`

const say = (line: string): void => void process.stdout.write(`${line}\n`)

async function main(): Promise<number> {
  const flags = readFlags(process.argv.slice(2), usage, { vms: { type: 'boolean', default: false } })
  process.chdir(fileURLToPath(new URL('..', import.meta.url))) // .berth belongs to the checkout
  setLogLevel('warn')
  const here = readConfig()
  const run = findRun(here.dataDir)
  const environment = run && environmentOf(run, here.dataDir)
  const config = environment ? readConfig(environment) : here // that of a Berth of another user cannot be read, nor be ended
  if (run) await end(run)
  say(run ? `Berth has ended; it was at ${run.publicUrl}.` : `No Berth runs on ${here.dataDir}.`)
  if (!existsSync(config.dataDir)) return 0
  // Of a process that counts as ended, the last thread may hold the claim for a moment.
  const isOurs = async (): Promise<boolean> => (await claim(config.dataDir)) !== null
  if (!(await pollUntil(isOurs, { limitMs: claimLimitMs, everyMs: 50 })))
    throw new StartError(`Somebody else works on ${config.dataDir}: a start or a restore. Try again when it is done.`)
  await clearLeftovers(config.dataDir)
  if (flags.vms) await shutDown(config)
  return 0
}

async function end({ starter, publicUrl }: RunFile): Promise<void> {
  try {
    signal(starter.pid, 'SIGTERM')
  } catch (error) {
    throw new StartError(
      `The Berth at ${publicUrl} is process ${starter.pid} of another user. Stop it as that user, or as root.`,
      { cause: error },
    )
  }
  if (!(await pollUntil(() => !isRunning(starter), { limitMs: endLimitMs, everyMs: 20 })))
    throw new StartError(
      `The Berth at ${publicUrl}, process ${starter.pid}, has not ended in ${endLimitMs / 1000} s. Its output says why; kill ${starter.pid} ends it at once when it is asked again.`,
    )
}

async function shutDown(config: Config): Promise<void> {
  const ended = await endVms(config)
  say(ended === 0 ? 'No VM ran.' : `${ended === 1 ? '1 VM was' : `${ended} VMs were`} shut down.`)
}

process.exit(await main().catch(reportError))
