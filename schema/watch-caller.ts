/**
 * Closes long-lived connections when the caller's permission ends: the token expires, the key is revoked, the
 * membership is deactivated, or the role is lowered.
 */
import type { Caller } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { log } from '#src/platform/log.ts'
import type { Authenticator, Credential } from './context.ts'

const everyMs = 1_000

/**
 * Checks the credential again every second, which costs no query while nothing has changed.
 * @param look gets the caller's current state and throws when they are no longer allowed: `allowAgain` with what was
 * granted.
 * @param onRefused called once, with the reason.
 * @returns a function that stops the checks.
 */
export function watchCaller(
  authenticator: Authenticator,
  credential: Credential,
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
  // It cannot be decided while the database is unreachable; the next check will tell.
  const timer = setInterval(
    () =>
      void check().catch((error: Error) =>
        log.debug({ reason: error.message }, 'the caller of an open connection could not be checked'),
      ),
    everyMs,
  )
  timer.unref()
  return () => clearInterval(timer)
}
