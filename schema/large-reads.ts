/**
 * What is large, or long to find, is read by one field of an operation after another: many at once would take every
 * connection to Postgres, which all callers share. Together they read so much and no more.
 */
import type { GraphQLResolveInfo } from 'graphql'
import type { Context } from './builder.ts'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import type { Loaded } from '#src/platform/pages.ts'

/** What an operation has left. `root` is the event that a subscription answers with it: each event begins anew. */
type Reading = { root: unknown; leftBytes: number; turn: Promise<unknown> }

const readings = new WeakMap<Context, Reading>()

/**
 * Reads something large as the next of its operation.
 * @param read is given how many bytes it may load, and answers how many it did.
 * @throws BerthError invalid_request when the fields before have used up what the operation may load.
 */
export async function readInTurn<Value>(
  call: Context,
  { rootValue }: Partial<Pick<GraphQLResolveInfo, 'rootValue'>>,
  read: (bytesMax: number) => Promise<Loaded<Value>>,
): Promise<Value> {
  const known = readings.get(call)
  const reading =
    known && known.root === rootValue
      ? known
      : { root: rootValue as unknown, leftBytes: limits.graphqlReadBytes, turn: Promise.resolve() }
  readings.set(call, reading)
  const readNext = async (): Promise<Value> => {
    if (reading.leftBytes <= 0)
      throw new BerthError(
        'invalid_request',
        `One operation reads ${limits.graphqlReadBytes / 1024 / 1024} MiB of logs, events, messages and variables at most. Ask for fewer at once.`,
      )
    const { loaded, bytes } = await read(reading.leftBytes)
    reading.leftBytes -= bytes
    return loaded
  }
  const turn = reading.turn.then(readNext, readNext) // whether or not the one before was refused
  reading.turn = turn
  return turn
}

/** Reads something that is small and long to find as the next of its operation. @throws BerthError as readInTurn. */
export function findInTurn<Value>(
  call: Context,
  info: Partial<Pick<GraphQLResolveInfo, 'rootValue'>>,
  find: () => Promise<Value>,
): Promise<Value> {
  return readInTurn(call, info, async () => ({ loaded: await find(), bytes: 0 }))
}
