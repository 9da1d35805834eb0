/** Waiting for what a stream says. */
import { exits, Failure } from './errors.ts'

const waitSecondsMax = 900

/** The first value that is enough. @throws Failure when the stream ends before, or after a quarter of an hour. */
export async function waitFor<Value>(
  open: (signal: AbortSignal) => AsyncIterable<Value>,
  isEnough: (value: Value) => boolean,
): Promise<Value> {
  const limit = AbortSignal.timeout(waitSecondsMax * 1000)
  for await (const value of open(limit)) if (isEnough(value)) return value
  if (limit.aborted) throw new Failure('It takes longer than a quarter of an hour. Look at it later.', exits.timeLimit)
  throw new Failure('It ended before that: it was deleted, or failed.')
}
