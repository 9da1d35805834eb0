/** Programs that ask to be let in: the command line, those that have registered, and those with a metadata document. */
import type { Services } from '#src/platform/services.ts'
import { findRegisteredClient } from '#src/resources/identity/authorizations/clients.ts'
import { createDocuments, isDocumentAddress } from './documents.ts'
import { OAuthError } from './errors.ts'

/** A program. `host`: whose document it is; null for one that says itself what it is called. */
export type Client = { id: string; name: string; host: string | null; redirectUris: readonly string[] }
/**
 * Finds a program by its id. `address`: of who asks, as `networkOf` has it.
 * @throws OAuthError invalid_client for an unknown one; BerthError rate_limited.
 */
export type FindClient = (id: string, address: string) => Promise<Client>

/** The command line, which is known everywhere. Its addresses take any port. */
export const commandLine: Client = {
  id: 'berth-cli',
  name: 'Berth’s command line',
  host: null,
  redirectUris: ['http://127.0.0.1/callback', 'http://[::1]/callback', 'http://localhost/callback'],
}

/** Makes what finds them. */
export function createClients(services: Services): FindClient {
  const findDocument = createDocuments(services)
  const { privateHosts } = services.config
  return async (id, address) => {
    if (id === commandLine.id) return commandLine
    if (isDocumentAddress(privateHosts, id)) return { id, ...(await findDocument(id, address)) }
    const registered = await findRegisteredClient(services.db, id)
    if (!registered)
      throw new OAuthError('invalid_client', 'This client_id is not known here. Register the program again.')
    return { id, name: registered.name, host: null, redirectUris: registered.redirectUris }
  }
}
