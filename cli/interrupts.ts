/** Ending at a signal, but not between a token that was exchanged and the file that keeps the next one. */

let held = 0
let wanted: number | undefined

/** Ends the process, once what must not be cut off is done; at once when it is asked a second time. */
export function endWith(exit: number): void {
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
