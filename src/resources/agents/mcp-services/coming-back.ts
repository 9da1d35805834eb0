/** Browsers that come back from signing in to a service: they pass by Berth, and go on to the application that began. */
import { registrationOf } from '#src/drivers/mcp/sign-in/clients.ts'
import type { Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { connectorLimits } from '#src/platform/limits/connectors.ts'
import type { Db } from '#src/platform/postgres.ts'
import { noteCameBack } from './authorizations.ts'
import { documentPath, selfOf } from './clients.ts'
import { getEntry } from './services.ts'

/** What a browser brings, as query parameters; anything may be in them. */
export type Brought = { code?: unknown; state?: unknown; iss?: unknown; error?: unknown }

/**
 * Where the browser goes on to: the address that began this sign-in named, with the code and the state, or with `error`.
 * An answer of another authorization server than the one that was asked, or one that comes to another service's address,
 * ends the sign-in, and its code goes nowhere.
 * @throws BerthError invalid_code for a state that is not good, invalid_request.
 */
export async function comeBack(
  { db }: { db: Db },
  serviceId: string,
  { code, state, iss, error }: Brought,
): Promise<string> {
  if (typeof state !== 'string') throw new BerthError('invalid_code', 'state is missing.', { field: 'state' })
  const { returnUrl, isExpected } = await noteCameBack(db, { state, serviceId, issuer: readIssuer(iss) })
  const onward = new URL(returnUrl)
  const carry = (values: Record<string, string>): string => {
    for (const name of ['code', 'state', 'iss', 'error']) onward.searchParams.delete(name)
    for (const [name, value] of Object.entries(values)) onward.searchParams.set(name, value)
    return onward.href
  }
  if (!isExpected) return carry({ error: 'wrong_issuer', state })
  if (typeof code === 'string' && code !== '' && code.length <= connectorLimits.codeLength)
    return carry({ code, state, ...(typeof iss === 'string' ? { iss } : {}) })
  return carry({ error: typeof error === 'string' && /^[a-z_]{1,64}$/.test(error) ? error : 'no_code', state })
}

/** Berth as a client for a service: the document that authorization servers read at its client id. @throws BerthError not_found. */
export function clientDocument(config: Config, serviceId: string): Record<string, unknown> {
  const self = selfOf(config, getEntry(config, serviceId))
  return { client_id: config.publicUrl + documentPath(serviceId), ...registrationOf(self) }
}

function readIssuer(iss: unknown): string | null {
  if (iss === undefined) return null
  if (typeof iss === 'string' && iss !== '' && iss.length <= connectorLimits.issuerLength && !iss.includes('\0'))
    return iss
  throw new BerthError('invalid_request', 'iss is no address.', { field: 'iss' })
}
