/** Ends what stays open when its caller's permission ends: the token expires, the key is revoked, the membership is deactivated. */
import type { BerthError } from '#src/platform/errors.ts'
import { log } from '#src/platform/log.ts'
import type { Authenticator } from './context.ts'

const everyMs = 1_000

/**
 * Looks at the credential again every second, which costs no query while nothing changed.
 * @param onRefused called once, with the reason.
 * @returns how to stop looking.
 */
export function watchCaller(authenticator: Authenticator, credential: string, onRefused: (refusal: BerthError) => void): () => void {
  const look = async (): Promise<void> => {
    const caller = await authenticator.authenticate(credential)
    if (caller.kind !== 'nobody') return
    clearInterval(timer)
    onRefused(caller.refusal)
  }
  // It cannot be decided while the database is away; the next look will tell.
  const timer = setInterval(() => look().catch((error: Error) => log.debug({ reason: error.message }, 'an open caller could not be checked')), everyMs)
  timer.unref()
  return () => clearInterval(timer)
}
