/**
 * A long piece of work on a database, such as a dump: it has a heartbeat and a time limit, and ends at once when the
 * worker stops, when it is cancelled, or when another worker has it.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { BerthError } from '#src/platform/errors.ts'
import { log } from '#src/platform/log.ts'
import { isDatabaseAway } from '#src/platform/postgres.ts'
import { isNoRoom } from '../builds/room.ts'
import type { VmWork } from '../vms.ts'

/** Finds the machine of a database, and wakes it if it sleeps. */
export type FindMachine = (work: VmWork, databaseId: string) => Promise<Machine>

const beatMs = 2_000

/** Makes a handler that leaves out a job which is delivered again while it is under way here. */
export function onceAtATime(
  work: (id: string, stopping: AbortSignal) => Promise<unknown>,
): (id: string, stopping: AbortSignal) => Promise<void> {
  const active = new Set<string>()
  return async (id, stopping) => {
    if (active.has(id)) return
    active.add(id)
    try {
      await work(id, stopping)
    } finally {
      active.delete(id)
    }
  }
}

/** The end of a piece of work, with a sentence for the caller. */
export class WorkEnded extends Error {}

/** Its time was over. */
export class WorkLate extends WorkEnded {}

/** Another worker has the work now, so this one must write nothing more about it. */
export class WorkLost extends Error {}

/** The worker stops: the work goes on in the next one, or has ended with this one. */
export class WorkReleased extends Error {}

/**
 * How a piece of work goes on. `beat` is called every two seconds; it returns why the work must end, if it must. `watch`
 * may end it sooner.
 */
export type Work<Result> = {
  stopping: AbortSignal
  limitMs: number
  beat: () => Promise<Error | undefined>
  watch?: (over: AbortSignal, end: (reason: Error) => void) => void
  run: (over: AbortSignal) => Promise<Result>
}

/**
 * Runs it to its end.
 * @throws what the work throws; WorkEnded or WorkReleased when it was ended.
 */
export async function runUntilEnded<Result>({ stopping, limitMs, beat, watch, run }: Work<Result>): Promise<Result> {
  const over = new AbortController()
  const release = (): void => over.abort(new WorkReleased('the worker stops'))
  const late = (): void =>
    over.abort(new WorkLate(`It took longer than ${Math.round(limitMs / 60_000)} minutes, which is the limit.`))
  const timer = setTimeout(late, Math.max(0, limitMs))
  stopping.addEventListener('abort', release, { once: true })
  if (stopping.aborted) release()
  watch?.(over.signal, (reason) => over.abort(reason))
  const beating = keepBeating(over, beat)
  let giveUp = (): void => undefined
  const ended = new Promise<never>((_, reject) => {
    giveUp = () => reject(over.signal.reason as Error) // the signal always has a reason
    over.signal.addEventListener('abort', giveUp, { once: true })
  })
  const running = run(over.signal)
  running.catch(() => undefined) // thrown below, unless it was given up
  try {
    return await Promise.race([running, ended])
  } finally {
    clearTimeout(timer)
    stopping.removeEventListener('abort', release)
    over.signal.removeEventListener('abort', giveUp)
    over.abort(new WorkReleased('the work has ended'))
    await beating
  }
}

async function keepBeating(over: AbortController, beat: () => Promise<Error | undefined>): Promise<void> {
  while (!over.signal.aborted) {
    try {
      const reason = await beat()
      if (reason) return over.abort(reason)
    } catch (error) {
      log.warn({ err: error }, 'the progress of work on a database was not written; it is tried again')
    }
    await pause(beatMs, undefined, { signal: over.signal }).catch(() => undefined) // aborted: the work has ended
  }
}

/**
 * The sentence about a failure for the caller. Our own faults go to the process's log.
 * @param what the work, such as `The backup`.
 * @throws the error when the work goes on elsewhere or later.
 */
export function sentenceOf(error: unknown, what: string): string {
  if (error instanceof WorkReleased || isDatabaseAway(error)) throw error
  if (error instanceof WorkEnded || error instanceof BerthError) return error.message
  if (isNoRoom(error)) {
    log.warn({ err: error }, 'work on a database found no room on this node')
    return noRoom
  }
  log.error({ err: error }, 'work on a database failed on our side')
  return `${what} failed on our side. Try again; if this persists, ask your operator to look at the worker’s log.`
}

/** The sentence for a disk of the node that is full. */
export const noRoom =
  'The node has no room left for files. Delete backups that nobody needs, or ask your operator to make room.'
