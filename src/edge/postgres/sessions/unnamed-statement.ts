/** The unnamed prepared statement of a client: it is made again where the client gets another backend and goes on with it. */
import type { Backend } from '../backend.ts'
import { followMessages, type Follower } from '../protocol/message-heads.ts'
import { errorMessage, fromClient, headBytes } from '../protocol/messages.ts'
import { PostgresRefusal } from '../refusals.ts'
import { prepareAgain } from './session-state.ts'

/** Whether what a client says first may be about its unnamed statement: all but a query, and a Parse that makes another. */
export function needsUnnamed(chunk: Buffer | undefined): boolean {
  const type = chunk?.[0]
  return !(type === fromClient.query || (type === fromClient.parse && chunk?.[headBytes] === 0))
}

/**
 * Prepares it again.
 * @param parse the message that made it.
 * @param described what described it before.
 * @returns the error that the client gets, where it is not what it was: the same that one server would give.
 */
export async function restoreUnnamed(backend: Backend, parse: Buffer, described: Buffer): Promise<Buffer | null> {
  backend.used = true
  const failed = await prepareAgain(backend, parse, described)
  if (failed !== 'changed') return failed
  return errorMessage(new PostgresRefusal('feature_not_supported', 'cached plan must not change result type'), 'ERROR')
}

/** Follows what a client sends up to its next Sync: behind an error a server skips it. */
export function followToSync(): Follower {
  return followMessages(new Uint8Array(256), { begins: () => false, gathered: () => undefined }, fromClient.sync)
}
