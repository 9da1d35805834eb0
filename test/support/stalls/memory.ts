/** What this process keeps in memory, told apart from what waits to be collected: how much it takes of the machine says neither. */
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void // what the flag adds
const collections = 2

/** Bytes of objects, and of what is in buffers. */
export async function keptBytes(): Promise<number> {
  for (let turn = 0; turn < collections; turn++) {
    collect()
    await nextTurn() // buffers are freed behind it
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

const betweenLooksMs = 20

/** The most of that at any time until some work is done: what is taken and given back again counts too. */
export async function mostKeptBytes(work: Promise<unknown>): Promise<number> {
  let isOver = false
  const over = (): void => void (isOver = true)
  work.then(over, over)
  let most = 0
  while (!isOver) {
    most = Math.max(most, await keptBytes())
    await pause(betweenLooksMs)
  }
  await work
  return most
}
