/** Finds the database that a client asks for: by the host name behind TLS, or by a user that only one database has. */
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import type { Network } from '#src/drivers/project-door.ts'
import { decodeId } from '#src/platform/ids.ts'
import type { Services } from '#src/platform/services.ts'
import { findDatabaseForLogin, findDatabaseRow, type Database } from '#src/resources/infra/databases/rows.ts'
import { isOwnersName, mayBeOwners } from '#src/resources/infra/databases/roles.ts'
import type { Absent, Asked, ClientKind } from '../postgres/directory.ts'
import { createDatabaseCache } from './cache.ts'

/** The users that every database has beside its owner. */
export const clientUsers: ReadonlyMap<string, 'authenticated' | 'anonymous'> = new Map([
  ['authenticated', 'authenticated'],
  ['anon', 'anonymous'],
])

const namesMax = 20_000
/** Postgres has no longer ones. */
const nameLengthMax = 63

/** Makes a function that finds a database, which may be another than the one that is asked for: see `askedAs`. */
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

/** As whom somebody asks to come in: the owner, a client, or a role that the owner may have made, which only the server knows. */
export type AskedAs = { kind: Exclude<ClientKind, 'role'> } | { kind: 'role'; role: string }

/** As whom somebody asks for this database; null where it is not there for them, or has no such user. */
export function askedAs(row: Database, { user, database, network }: Asked): AskedAs | null {
  const { status, sealedLogins, pgUser, pgDatabase } = row
  if (!isInNetwork(row, network) || status === 'deleting' || status === 'deleted' || sealedLogins === null) return null
  const client = clientUsers.get(user)
  if (client !== undefined) return pgDatabase === database ? { kind: client } : null
  if (!isDatabaseName(database)) return null
  if (user === pgUser) return { kind: 'owner' }
  const [role, owner] = partsOf(user)
  return mayBeOwners(role) && (owner === null || owner === pgUser) ? { kind: 'role', role } : null
}

function isDatabaseName(name: string): boolean {
  return name !== '' && name.length <= nameLengthMax
}

/**
 * What is said of somebody who is not there. Of a role that a database does not have it depends on that database, as that of one which
 * it has: at its host name, behind the name of its owner, and in its networks. Of everybody else on how they were asked for,
 * but not on which database's name was said, which nobody's password depends on.
 * @param sought the database that would have them, where it is there.
 */
export function absentOf(
  { user, database, serverName, network }: Asked,
  sought: { database: Pick<Database, 'id'>; as: AskedAs } | null,
  domain: string,
): Absent {
  if (sought?.as.kind === 'role') return { by: 'nobody', alike: JSON.stringify([sought.database.id, sought.as.role]) }
  const host = hostLabelIn(serverName, domain)
  return { by: 'nobody', alike: JSON.stringify([host, user, isDatabaseName(database), network ?? null]) }
}

/** Whether a user is one that Berth gives a database, so that it is known without its server whether there is one. */
export function isGivenUser(user: string): boolean {
  return clientUsers.has(user) || isOwnersName(user)
}

/** A role and the owner that is named behind it, as in `reader.app_1a2b3c`, for those who cannot say the host name. */
function partsOf(user: string): [role: string, owner: string | null] {
  const dot = user.lastIndexOf('.')
  const owner = user.slice(dot + 1)
  return dot > 0 && isOwnersName(owner) ? [user.slice(0, dot), owner] : [user, null]
}

/** The stored id in a host name such as `<id>.db.<domain>`; null for other names, undefined when there is no such id. */
function hostIdIn(serverName: string | null, domain: string): string | null | undefined {
  const label = hostLabelIn(serverName, domain)
  return label === null ? null : decodeId('database', `db_${label}`)
}

/** What stands before `.db.<domain>` in a host name, in small letters; null for other names. */
function hostLabelIn(serverName: string | null, domain: string): string | null {
  const name = serverName?.toLowerCase() ?? ''
  const ending = `.db.${domain.toLowerCase()}`
  return name.endsWith(ending) ? name.slice(0, -ending.length) : null
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
    async idOf({ user }) {
      const name = partsOf(user)[1] ?? user
      if (name.length > nameLengthMax) return null // and nothing of it is remembered
      const known = ids.get(name)
      if (known !== undefined) return known
      if (pubsub.connected && strangers.get(name)) return null
      const before = notices
      const found = await findDatabaseForLogin(db, name)
      if (found) ids.set(name, found.id)
      else if (notices === before) strangers.set(name, true)
      return found?.id ?? null
    },
  }
}
