/** The unnamed prepared statement of a client: it is made again where the client gets another backend and goes on with it. */
import type { Backend } from '../backend.ts'
import { followMessages, type Follower } from '../protocol/message-heads.ts'
import { errorMessage, fromClient, headBytes } from '../protocol/messages.ts'
import { PostgresRefusal } from '../refusals.ts'
import { prepareAgain, type SessionState } from './session-state.ts'
import type { ProtocolState } from './protocol-state.ts'

/** Takes note of what a session was found to hold. @returns whether the client can do without it */
export function noteFound(protocol: ProtocolState, found: Pick<SessionState, 'free' | 'described'> | null): boolean {
  if (found?.described) protocol.described = found.described
  if (found?.described?.length === 0) protocol.unnamed = null
  return found !== null && found.free && found.described !== null
}

/** Whether what a client says first may be about its unnamed statement: all but a query, and a Parse that makes another. */
function needsUnnamed(chunk: Buffer | undefined): boolean {
  const type = chunk?.[0]
  return !(type === fromClient.query || (type === fromClient.parse && chunk?.[headBytes] === 0))
}

/**
 * Prepares it again, where there is one.
 * @param says what the client says next: it may not need it any more.
 * @returns the error that the client gets, where it is not what it was: the same that one server would give.
 */
export async function restoreUnnamed(
  backend: Backend,
  { unnamed, described }: ProtocolState,
  says: Buffer | undefined,
): Promise<Buffer | null> {
  if (!unnamed || !needsUnnamed(says)) return null
  backend.used = true
  const failed = await prepareAgain(backend, unnamed, described)
  if (failed !== 'changed') return failed
  return errorMessage(new PostgresRefusal('feature_not_supported', 'cached plan must not change result type'), 'ERROR')
}

/** Follows what a client sends up to its next Sync: behind an error a server skips it. */
export function followToSync(): Follower {
  return followMessages(new Uint8Array(256), { begins: () => false, gathered: () => undefined }, fromClient.sync)
}
