/** Who may ask a model, how often, and who pays: what every chat route does first. */
import { allow, callerName } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import type { Allowance } from '#src/platform/rate-limits.ts'
import type { Call } from '#src/platform/services.ts'
import type { Payer } from './inference.ts'

/** Who pays, and what is left of the caller's minute. */
export type Admission = { payer: Payer; allowance: Allowance }

/**
 * Lets a chat in: a key with `chat:stateless`, whose organization pays, or a person who is a member or higher.
 * @throws BerthError 401, 403, key_rate_limited after 600 in a minute.
 */
export async function admitChat(call: Call): Promise<Admission> {
  const { organizationId, keyId, userId } = allow(call.caller, 'chat:write')
  try {
    const allowance = await call.limiter.spend(`chat:${callerName(call.caller)}`, limits.chatsPerMinute)
    return { payer: { organizationId, keyId, userId }, allowance }
  } catch (error) {
    if (!(error instanceof BerthError) || error.code !== 'rate_limited') throw error
    throw new BerthError('key_rate_limited', error.message, error.details)
  }
}
