/** Ends what stays open when its caller's permission ends: the token expires, the key is revoked, the membership is deactivated, the role is lowered. */
import type { Caller } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { log } from '#src/platform/log.ts'
import type { Authenticator } from './context.ts'

const everyMs = 1_000

/**
 * Looks at the credential again every second, which costs no query while nothing changed.
 * @param look is given the caller as they are now, and throws what refuses them: `allowAgain` with what was granted.
 * @param onRefused called once, with the reason.
 * @returns how to stop looking.
 */
export function watchCaller(
  authenticator: Authenticator,
  credential: string,
  look: (caller: Caller) => void,
  onRefused: (refusal: BerthError) => void,
): () => void {
  const check = async (): Promise<void> => {
    const caller = await authenticator.authenticate(credential)
    try {
      if (caller.kind === 'nobody') throw caller.refusal
      look(caller)
    } catch (refusal) {
      if (!(refusal instanceof BerthError)) throw refusal
      clearInterval(timer)
      onRefused(refusal)
    }
  }
  // It cannot be decided while the database is away; the next look will tell.
  const timer = setInterval(
    () =>
      void check().catch((error: Error) => log.debug({ reason: error.message }, 'an open caller could not be checked')),
    everyMs,
  )
  timer.unref()
  return () => clearInterval(timer)
}
