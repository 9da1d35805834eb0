/** Ending at a signal, but not between a token that was exchanged and the file that keeps the next one. */

import { exits } from './errors.ts'

let held = 0
let wanted: number | undefined
const goingOn = new Set<string>()

/** Ends the process, once what must not be cut off is done; at once when it is asked a second time. */
export function endWith(exit: number): void {
  if (exit === exits.interrupted && wanted === undefined)
    for (const sentence of goingOn) process.stderr.write(`berth: ${sentence}\n`)
  if (held === 0 || wanted !== undefined) process.exit(exit)
  wanted = exit
}

/** Does what must not be cut off. */
export async function uninterrupted<Result>(work: () => Promise<Result>): Promise<Result> {
  held++
  try {
    return await work()
  } finally {
    held--
    if (held === 0 && wanted !== undefined) process.exit(wanted)
  }
}

/** Waits for what Berth does in any case; at Ctrl-C the sentence says so, and how to end it. */
export async function whileItGoesOn<Result>(sentence: string, work: Promise<Result>): Promise<Result> {
  goingOn.add(sentence)
  try {
    return await work
  } finally {
    goingOn.delete(sentence)
  }
}
