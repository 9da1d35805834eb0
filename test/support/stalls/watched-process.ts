/** A process whose thread is watched, as its parent sees it. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { Measured } from './watched-thread.ts'

/** The longest that any input may hold a process. Unit: ms. */
export const stallMsMax = 50
/** A collection of garbage, which may fall into several, is not the work's. */
const repeats = 5

/** How long some work holds a process each time: the shortest of a few, unless one is short enough. @param longestMs since it was asked last */
export async function shortestHold(longestMs: () => Promise<number>, work: () => Promise<unknown>): Promise<number> {
  let shortestMs = Infinity
  for (let time = 0; time < repeats && shortestMs > stallMsMax; time++) {
    await longestMs() // what was before
    await work()
    shortestMs = Math.min(shortestMs, await longestMs())
  }
  return shortestMs
}

/** The process. `ready`: what it told about itself. */
export type WatchedProcess<Ready> = {
  ready: Ready
  measure: () => Promise<Measured>
  /** `shortestHold` of this work. Unit: ms. */
  heldMs: (work: () => Promise<unknown>) => Promise<number>
  stop: () => Promise<void>
}

/** Starts one. @param file calls `watchThread` when it is ready. @param options of Node, such as those of the Procfile */
export async function startWatched<Ready>(
  file: URL,
  words: readonly string[] = [],
  options: readonly string[] = [],
): Promise<WatchedProcess<Ready>> {
  const child = fork(file, words, { execArgv: [...options] })
  const ended = once(child, 'exit')
  const first = await Promise.race([once(child, 'message'), ended.then(() => null)])
  if (first === null) throw new Error(`${file.pathname} ended before it was ready.`)
  const measure = async (): Promise<Measured> => {
    child.send('measure')
    const [measured] = (await once(child, 'message')) as [Measured] // it sends nothing else
    return measured
  }
  return {
    ready: first[0] as Ready, // what its file sends
    measure,
    heldMs: (work) => shortestHold(async () => (await measure()).longestMs, work),
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** What of these works held a process each time, with how long. */
export async function findHolds(
  { heldMs }: Pick<WatchedProcess<unknown>, 'heldMs'>,
  works: Readonly<Record<string, () => Promise<unknown>>>,
): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const [name, work] of Object.entries(works)) {
    const ms = await heldMs(work)
    if (ms > stallMsMax) found[name] = `${Math.round(ms)} ms`
  }
  return found
}
