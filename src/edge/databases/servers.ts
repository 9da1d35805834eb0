/** As whom, and with what, the proxy logs in to the server of a database. */
import type { Duplex } from 'node:stream'
import { BerthError } from '#src/platform/errors.ts'
import type { ScramKeys } from '#src/platform/secrets/scram-verifiers.ts'
import type { Sealer } from '#src/platform/secrets.ts'
import type { Database } from '#src/resources/infra/databases/rows.ts'
import { loginUsers, openLogins } from '#src/resources/infra/databases/setup.ts'
import type { Server } from '../postgres/backend.ts'
import type { Asked, ClientKind } from '../postgres/directory.ts'
import { PostgresRefusal } from '../postgres/refusals.ts'
import type { TakeLogin } from './own-logins.ts'
import type { Roles } from './roles.ts'

/** Opens a connection to the server of a database, which is woken where it sleeps. @throws BerthError */
export type Reach = (databaseId: string) => Promise<Duplex>

/** Who a client has proved to be. Claims are the JSON that policies see. */
export type Identity =
  | { kind: 'owner' }
  | { kind: 'role'; role: string; verifier: string; keys: ScramKeys }
  | { kind: 'authenticated' | 'anonymous'; claims: string }

/** How the proxy logs in as one of the users that every server has. */
export type ServerOf = (database: Database, as: Exclude<ClientKind, 'role'> | 'claims') => Server

/** Makes that. @param setUpAgain has a server set up again that does not let the proxy in */
export function createServers(
  sealer: Sealer,
  reach: Reach,
  setUpAgain: (databaseId: string) => Promise<boolean>,
): ServerOf {
  return (database, as) => {
    const user = as === 'owner' ? database.pgUser : loginUsers[as]
    return {
      databaseId: database.id,
      server: { user, database: database.pgDatabase, password: openLogins(sealer, database)[as] },
      connect: () => reached(reach, database.id),
      onLoginLost: () => setUpAgain(database.id),
    }
  }
}

/** The same as somebody has asked for it: the owner, and roles that it has made, may mean another database that it has made. */
export function serverFor(
  { database, asked }: { database: Database; asked: Asked },
  identity: Identity,
  { serverOf, takeLogin, roles }: { serverOf: ServerOf; takeLogin: TakeLogin; roles: Pick<Roles, 'letIn'> },
): Server {
  if ('claims' in identity) {
    const { kind } = identity
    return { ...serverOf(database, kind), takeLogin: () => takeLogin(database, kind) }
  }
  const own = serverOf(database, 'owner')
  const isFleeting = asked.database !== database.pgDatabase
  const forwardsErrors = isFleeting || identity.kind === 'role'
  const server = { ...own.server, database: asked.database, isFleeting, forwardsErrors }
  if (identity.kind === 'owner') return { ...own, server }
  const { role, verifier, keys } = identity
  return {
    ...own,
    server: { ...server, user: role, password: keys, verifier },
    async connect() {
      await roles.letIn(database, role)
      return own.connect()
    },
  }
}

async function reached(reach: Reach, databaseId: string): Promise<Duplex> {
  try {
    return await reach(databaseId)
  } catch (error) {
    if (error instanceof BerthError) throw new PostgresRefusal('cannot_connect_now', error.message)
    throw error
  }
}
