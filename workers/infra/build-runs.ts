/** One running build: its machine, its log, its time limit, and how a step of it is run and stopped. */
import { setTimeout as pause } from 'node:timers/promises'
import { execInGuest, type GuestResult } from '#src/drivers/compute/guest-exec.ts'
import type { Channel, Exit, Machine } from '#src/drivers/compute/machine.ts'
import { newUuid } from '#src/platform/ids.ts'
import type { Build } from '#src/resources/infra/build-rows.ts'
import type { BuildSpec } from '#src/resources/infra/build-specs.ts'
import type { Ending } from '#src/resources/infra/build-states.ts'
import type { BuildLogWriter } from './build-log-writers.ts'
import type { VmWork } from './vms.ts'

/** Where the files of a build are in its machine. */
export const checkoutFolder = '/home/user/build'
/** From SIGTERM to the end of the machine, when a build is cancelled or its time is over. */
const graceMs = 5_000
const killRequestMs = 2_000
/** The guest's own limit comes after ours, which also stores what was printed. */
const guestLimitSlackMs = 60_000
const questionMs = 30_000

/** The end of a build, thrown from wherever it is decided. */
export class BuildEnd extends Error {
  readonly ending: Ending
  constructor(ending: Ending) {
    super(ending.error ?? ending.status)
    this.name = 'BuildEnd'
    this.ending = ending
  }
}

/** A build that failed for a reason of its own. */
export function failed(error: string, more: Pick<Ending, 'exitCode' | 'failingStep'> = {}): BuildEnd {
  return new BuildEnd({ status: 'failed', error, ...more })
}

/** What every part of a build's run needs. `over` fires with a BuildEnd when it must stop. */
export type BuildRun = {
  work: VmWork; build: Build; spec: BuildSpec; machine: Machine; log: BuildLogWriter
  over: AbortSignal; deadlineMs: number
}

/** A started command of a build, and its name in the guest. */
export type Step = { channel: Channel; id: string }

/** Starts a command as `user`; it ends with the build's time at the latest. */
export async function startStep(run: BuildRun, workingDir: string, argv: readonly string[]): Promise<Step> {
  run.over.throwIfAborted()
  const id = newUuid()
  const limitMs = Math.max(0, run.deadlineMs - performance.now()) + guestLimitSlackMs
  const channel = await run.machine.request(['run', id, 'user', workingDir, String(Math.ceil(limitMs)), ...argv])
  channel.stdin.on('error', () => undefined) // a command that does not read its input to the end is no failure
  return { channel, id }
}

/**
 * Waits for a step's work. When the build must stop meanwhile, the step is asked to end, and a little later given up.
 * @throws the BuildEnd of the stop.
 */
export async function untilOver<Result>(run: BuildRun, { channel, id }: Step, work: Promise<Result>): Promise<Result> {
  const stopped = Promise.withResolvers<never>()
  const stop = async (): Promise<void> => {
    const reason = run.over.reason as BuildEnd // whoever aborts gives one
    if (reason.ending.error !== 'builder_lost') { // then nobody has the time to wait
      await terminate(run.machine, id)
      await Promise.race([channel.exit.catch(() => undefined), pause(graceMs)]) // how it ended does not matter any more
    }
    channel.close()
    stopped.reject(reason)
  }
  const listener = (): void => void stop()
  run.over.addEventListener('abort', listener, { once: true })
  if (run.over.aborted) listener()
  try {
    const result = await Promise.race([work, stopped.promise])
    if (run.over.aborted) await stopped.promise // it ended because it was asked to
    return result
  } catch (error) {
    if (run.over.aborted) await stopped.promise
    throw error
  } finally {
    run.over.removeEventListener('abort', listener)
    stopped.promise.catch(() => undefined) // thrown above, when it was
  }
}

/** Runs a command, its output into the log. @returns how it ended. @throws BuildEnd when the build must stop. */
export async function runStep(run: BuildRun, workingDir: string, argv: readonly string[]): Promise<Exit> {
  const step = await startStep(run, workingDir, argv)
  step.channel.stdin.end()
  const poured = Promise.all([run.log.pour(step.channel.stdout as AsyncIterable<Buffer>), run.log.pour(step.channel.stderr as AsyncIterable<Buffer>)])
  return untilOver(run, step, poured.then(() => step.channel.exit))
}

/** Asks the machine something that takes no time and is not for the log. */
export async function ask(run: BuildRun, script: string, args: readonly string[], options: { as?: 'user' | 'root' } = {}): Promise<GuestResult> {
  run.over.throwIfAborted()
  return execInGuest(run.machine, { argv: ['/bin/dash', '-c', script, 'berth', ...args], timeoutMs: questionMs, ...options })
}

const insideScript = `root=$(realpath -e -- "$1") || exit 20
target=$(realpath -e -- "$1/$2" 2> /dev/null) || exit 20
case $target/ in "$root"/*) printf %s "$target" ;; *) exit 21 ;; esac`

/** What a path in the checkout really is. @throws BuildEnd when it is not there, or leads out of the checkout, also by a link. */
export async function insideCheckout(run: BuildRun, path: string, what: string): Promise<string> {
  const { exitCode, stdout } = await ask(run, insideScript, [checkoutFolder, path])
  if (exitCode === 0) return stdout
  throw failed(exitCode === 21 ? `The ${what} ${path} leads out of the checkout.` : `The ${what} ${path} is not in the checkout.`)
}

async function terminate(machine: Machine, id: string): Promise<void> {
  const asking = async (): Promise<void> => {
    const channel = await machine.request(['kill', id, '15'])
    channel.stdout.resume()
    channel.stderr.resume()
    await channel.exit
  }
  await Promise.race([asking().catch(() => undefined), pause(killRequestMs)]) // a guest that does not hear it is ended with its machine
}
