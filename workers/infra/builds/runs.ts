/**
 * One running build: its machine, its log, its time limit, and how its commands are run, continued by another worker,
 * and stopped.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { execInGuest, type GuestResult } from '#src/drivers/compute/guest/exec.ts'
import { GuestRefusal, startKept, takeKept, type KeptOutput } from '#src/drivers/compute/guest/kept.ts'
import type { Exit, Machine } from '#src/drivers/compute/machine.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import { log } from '#src/platform/log.ts'
import type { Build, Ending } from '#src/resources/infra/builds/rows.ts'
import type { BuildClaim, BuildProgress } from '#src/resources/infra/builds/runs.ts'
import type { BuildSpec } from '#src/resources/infra/builds/specs.ts'
import type { BuildLogWriter } from './log-writers.ts'
import { buildMachineId } from './machines.ts'
import type { VmWork } from '../vms.ts'

/** Where the files of a build are in its machine. */
export const checkoutFolder = '/home/user/build'
/** The time from SIGTERM to the end of the machine, when a build is cancelled or its time is over. */
const graceMs = 5_000
const killRequestMs = 2_000
/** The guest's own limit is later than ours, which also stores the output. */
const guestLimitSlackMs = 60_000
const questionMs = 30_000
/** A running machine that does not answer for so long is given up. */
const unreachableMs = 40_000
const againMs = 300
/** The longest that an attempt takes if the machine is unreachable; one that took longer had reached it. */
const attemptMs = 10_000

/** The end of a build, thrown from wherever it is decided. */
export class BuildEnd extends Error {
  readonly ending: Ending
  constructor(ending: Ending) {
    super(ending.error ?? ending.status)
    this.name = 'BuildEnd'
    this.ending = ending
  }
}

/** The worker stops: it releases its builds as they are, and the next worker continues them. */
export class BuildReleased extends Error {}

/** A build that failed for a reason within the build. */
export function failed(error: string, more: Pick<Ending, 'exitCode' | 'failingStep'> = {}): BuildEnd {
  return new BuildEnd({ status: 'failed', error, ...more })
}

/**
 * What every part of a build's run needs. `over` fires when it must stop: with a BuildEnd, or with a BuildReleased or
 * BuildClaimLost when another worker continues it.
 */
export type BuildRun = {
  work: VmWork
  build: Build
  claim: BuildClaim
  spec: BuildSpec
  log: BuildLogWriter
  over: AbortSignal
  deadlineMs: number
}

/** What changes when a stage of a build is done, and a line about it. */
export type StageEnd = { change?: Partial<BuildProgress>; line?: string }

/** The build's machine. @throws BuildEnd when it is gone. */
export function machineOf({ work, build }: Pick<BuildRun, 'work' | 'build'>): Machine {
  const machine = work.compute.find(buildMachineId(build.id))
  if (!machine) {
    log.warn({ build: encodeId('build', build.id) }, 'the machine of a build is gone')
    throw new BuildEnd({ status: 'failed', error: 'builder_lost' })
  }
  return machine
}

/** Starts a stage of the build, once: logs what it does, before doing anything. */
export async function begin(run: BuildRun, line: string): Promise<void> {
  if (run.log.progress.begunBy !== null) return
  run.log.say(line, { begunBy: run.claim.workerNumber })
  await run.log.flush() // refused, when another worker has the build
}

/**
 * Repeats an idempotent operation until the machine has answered.
 * @throws BuildEnd when it is gone or stays unreachable.
 */
export async function persevere<Result>(run: BuildRun, attempt: () => Promise<Result>): Promise<Result> {
  let awaySinceMs: number | undefined
  for (;;) {
    run.over.throwIfAborted()
    const begunMs = performance.now()
    try {
      return await attempt()
    } catch (error) {
      run.over.throwIfAborted()
      if (error instanceof GuestRefusal) throw failed(error.message)
      if (!(error instanceof BerthError) || error.code !== 'vm_unreachable') throw error
      machineOf(run)
      const now = performance.now()
      if (awaySinceMs === undefined || now - begunMs > attemptMs) awaySinceMs = now
      if (now - awaySinceMs > unreachableMs) {
        log.warn({ build: encodeId('build', run.build.id) }, 'the machine of a build runs and does not answer')
        throw new BuildEnd({ status: 'failed', error: 'builder_lost' })
      }
      await pause(againMs)
    }
  }
}

/**
 * Runs a command as `user` with its output in the log, or continues one that is already running. The caller must end
 * its output (endOutput), with the progress that follows.
 * @param name names the command within the build: one that was started under this name is not started again.
 * @returns how it ended.
 * @throws whatever `over` fires with.
 */
export async function runStep(run: BuildRun, name: string, workingDir: string, argv: readonly string[]): Promise<Exit> {
  const id = `${buildMachineId(run.build.id)}-${name}`
  const limitMs = Math.max(0, run.deadlineMs - performance.now()) + guestLimitSlackMs
  const exit = await persevere(run, async () => {
    const machine = machineOf(run)
    await startKept(machine, id, { argv, workingDir, timeoutMs: limitMs })
    const output = await takeKept(machine, id, run.log.resumeOutput())
    run.log.onStored((takenBytes) => output.taken(takenBytes))
    return untilOver(run, output, () => terminate(machine, id), pour(run, output))
  })
  run.log.onStored(() => undefined)
  return exit
}

async function pour(run: BuildRun, output: KeptOutput): Promise<Exit> {
  for await (const piece of output.pieces) {
    if (!('bytes' in piece)) return piece
    await run.log.pour(piece.bytes)
  }
  throw new Error('the output of a kept command ended without saying how')
}

/**
 * Waits for work in the machine. If the build must stop meanwhile, its command is asked to end, and is given up a
 * little later.
 * @throws what `over` fires with.
 */
export async function untilOver<Result>(
  { over }: Pick<BuildRun, 'over'>,
  channel: { close(): void },
  askToEnd: () => Promise<void>,
  work: Promise<Result>,
): Promise<Result> {
  const stopped = Promise.withResolvers<never>()
  stopped.promise.catch(() => undefined) // thrown below, when it was
  const stop = async (): Promise<void> => {
    if (over.reason instanceof BuildEnd) {
      // otherwise the command continues, and another worker follows it
      await askToEnd()
      await Promise.race([work.catch(() => undefined), pause(graceMs)]) // how it ended no longer matters
    }
    channel.close()
    stopped.reject(over.reason as Error) // the signal always has a reason
  }
  const listener = (): void => void stop()
  over.addEventListener('abort', listener, { once: true })
  if (over.aborted) listener()
  try {
    const result = await Promise.race([work, stopped.promise])
    if (over.aborted) await stopped.promise // it ended because it was asked to
    return result
  } catch (error) {
    if (over.aborted) await stopped.promise
    throw error
  } finally {
    over.removeEventListener('abort', listener)
    work.catch(() => undefined) // thrown above, unless it was given up
  }
}

/** Runs a short script in the machine whose output is not for the log. */
export async function ask(
  run: BuildRun,
  script: string,
  args: readonly string[],
  options: { as?: 'user' | 'root' } = {},
): Promise<GuestResult> {
  return persevere(run, () =>
    execInGuest(machineOf(run), {
      argv: ['/bin/dash', '-c', script, 'berth', ...args],
      timeoutMs: questionMs,
      ...options,
    }),
  )
}

const insideScript = `root=$(realpath -e -- "$1") || exit 20
target=$(realpath -e -- "$1/$2" 2> /dev/null) || exit 20
case $target/ in "$root"/*) printf %s "$target" ;; *) exit 21 ;; esac`

/**
 * Resolves a path in the checkout.
 * @throws BuildEnd when it does not exist, or points outside the checkout, also through a link.
 */
export async function insideCheckout(run: BuildRun, path: string, what: string): Promise<string> {
  const { exitCode, stdout } = await ask(run, insideScript, [checkoutFolder, path])
  if (exitCode === 0) return stdout
  throw failed(
    exitCode === 21
      ? `The ${what} ${path} points outside the checkout.`
      : `The ${what} ${path} is not in the checkout.`,
  )
}

/** Asks a command and everything it started to end. */
export async function terminate(machine: Machine, id: string): Promise<void> {
  const asking = async (): Promise<void> => {
    const channel = await machine.request(['kill', id, '15'])
    channel.stdout.resume()
    channel.stderr.resume()
    await channel.exit
  }
  await Promise.race([asking().catch(() => undefined), pause(killRequestMs)]) // a guest that does not receive it is ended with its machine
}
