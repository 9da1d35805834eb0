/** Finds the database that a client asks for: by the host name behind TLS, or by a user that only one database has. */
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import type { Network } from '#src/drivers/project-door.ts'
import { decodeId } from '#src/platform/ids.ts'
import type { Services } from '#src/platform/services.ts'
import { findDatabaseForLogin, findDatabaseRow, type Database } from '#src/resources/infra/databases/rows.ts'
import type { Asked, ClientKind } from '../postgres/directory.ts'
import { createDatabaseCache } from './cache.ts'

/** The users that every database has beside its owner. */
export const clientUsers: ReadonlyMap<string, ClientKind> = new Map([
  ['authenticated', 'authenticated'],
  ['anon', 'anonymous'],
])

const namesMax = 20_000
/** Postgres has no longer ones. */
const nameLengthMax = 63

/** Makes a function that finds a database, which may be another than the one that is asked for: see `isAskedFor`. */
export function createFinder(services: Services): (asked: Asked) => Promise<Database | undefined> {
  const { config, db } = services
  const names = createNames(services)
  const rows = createDatabaseCache<Database>(services)
  return async (asked) => {
    if (namesNone(asked, config.domain)) return undefined
    const hostId = hostIdIn(asked.serverName, config.domain)
    if (hostId === undefined) return undefined
    const id = hostId ?? (await names.idOf(asked))
    return id === null ? undefined : (rows.find(id)?.value ?? rows.read(id, () => findDatabaseRow(db, id)))
  }
}

/** Whether nothing says which database is meant: no host name of one, and a user that all of them have. */
export function namesNone({ user, serverName }: Asked, domain: string): boolean {
  return hostIdIn(serverName, domain) === null && clientUsers.has(user)
}

/** The networks through which a database is reached. */
export function networksOf({ projectId, functionId }: Pick<Database, 'projectId' | 'functionId'>): Network[] {
  const networks: (Network | null)[] = [
    projectId === null ? null : `project:${projectId}`,
    functionId === null ? null : `function:${functionId}`,
  ]
  return networks.filter((network) => network !== null)
}

/** Whether the database is in the network through which somebody comes, if they come through one. */
export function isInNetwork(row: Pick<Database, 'projectId' | 'functionId'>, comesFrom: Network | undefined): boolean {
  return comesFrom === undefined || networksOf(row).includes(comesFrom)
}

/** The verifier of the password with which its owner comes this way: a function has one of its own. */
export function verifierOf(
  row: Pick<Database, 'tokenVerifier' | 'linkVerifier'>,
  comesFrom: Network | undefined,
): string | null {
  return comesFrom?.startsWith('function:') ? row.linkVerifier : row.tokenVerifier
}

/** Whether the database is there for whoever asks, and has the user and the name that are asked for. */
export function isAskedFor(row: Database, { user, database, network }: Asked): boolean {
  const { status, sealedLogins, pgUser, pgDatabase } = row
  if (!isInNetwork(row, network)) return false
  const isThere = status !== 'deleting' && status !== 'deleted' && sealedLogins !== null
  return isThere && pgDatabase === database && (pgUser === user || clientUsers.has(user))
}

/** The stored id in a host name such as `<id>.db.<domain>`; null for other names, undefined when there is no such id. */
function hostIdIn(serverName: string | null, domain: string): string | null | undefined {
  const name = serverName?.toLowerCase() ?? ''
  const ending = `.db.${domain.toLowerCase()}`
  return name.endsWith(ending) ? decodeId('database', `db_${name.slice(0, -ending.length)}`) : null
}

/**
 * Which database a user belongs to: a user never changes its database. That there is no such user is remembered until any
 * database changes, so that a stranger learns nothing from how long the answer takes.
 */
function createNames({ db, pubsub }: Services): { idOf(asked: Asked): Promise<string | null> } {
  const ids = createBoundedMap<string, string>({ entriesMax: namesMax })
  const strangers = createBoundedMap<string, true>({ entriesMax: namesMax })
  let notices = 0
  pubsub.listen('database', () => {
    notices++
    strangers.clear()
  })
  return {
    async idOf({ user, database }) {
      if (user.length > nameLengthMax || database.length > nameLengthMax) return null // and nothing of it is remembered
      const known = ids.get(user)
      if (known !== undefined) return known
      const key = JSON.stringify([user, database])
      if (pubsub.connected && strangers.get(key)) return null
      const before = notices
      const found = await findDatabaseForLogin(db, { pgUser: user, pgDatabase: database, hostId: null })
      if (found) ids.set(user, found.id)
      else if (notices === before) strangers.set(key, true)
      return found?.id ?? null
    },
  }
}
