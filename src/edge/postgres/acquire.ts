/** How a client gets a backend of its database. */
import { openBackend, type Backend } from './backend.ts'
import { keyOf, type LoggedIn } from './logins/logged-in.ts'
import type { Pool } from './pool.ts'

/** A backend that works as this client, unless the client has left meanwhile. @throws PostgresRefusal; ServerRefused */
export async function acquireBackend(client: LoggedIn, pool: Pool, hasLeft: () => boolean): Promise<Backend> {
  const { admission, startup } = client
  const key = keyOf(client)
  const given = await pool.acquire(key, admission.kind, () => openBackend(admission, startup.settings, key))
  try {
    if (!hasLeft()) await admission.prepare?.(given)
  } catch (error) {
    given.close() // as which client it would work is not known
    throw error
  }
  return given
}
