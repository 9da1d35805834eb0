/**
 * Databases as the edge knows them: who may log in to which, how its server is reached, and what a change of one means for
 * its clients.
 */
import type { Duplex } from 'node:stream'
import type { Network } from '#src/drivers/project-door.ts'
import type { Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import type { Services } from '#src/platform/services.ts'
import { recordActivity, type Database } from '#src/resources/infra/databases/rows.ts'
import { loginUsers, openLogins } from '#src/resources/infra/databases/setup.ts'
import { followChanges, type Followed } from './databases/changes.ts'
import { tellClaims } from './databases/claims.ts'
import { clientUsers, createFinder, isAskedFor, isInNetwork, namesNone, verifierOf } from './databases/finder.ts'
import { createOwnLogins } from './databases/own-logins.ts'
import { createSetups } from './databases/setups.ts'
import { createWriters } from './databases/writers.ts'
import type { Server } from './postgres/backend.ts'
import type { Admission, Asked, ClientKind, Directory, Found } from './postgres/directory.ts'
import { PostgresRefusal } from './postgres/refusals.ts'

/** Opens a connection to the server of a database, which is woken where it sleeps. @throws BerthError */
export type Reach = (databaseId: string) => Promise<Duplex>

/** Who a client has proved to be. Claims are the JSON that policies see. */
export type Identity = { kind: 'owner' } | { kind: 'authenticated' | 'anonymous'; claims: string }

/** Checks a token of a client. Null when it lets nobody in. @throws PostgresRefusal when that cannot be said now */
export type CheckToken = (database: Database, token: string) => Promise<Identity | null>

/** The databases of the edge. */
export type EdgeDatabases = Directory & {
  /** The database that is asked for, if it is there, with a user that it has. */
  lookUp(asked: Asked): Promise<Sought | null>
  /** How to say which database is meant, for somebody who has not; null for everybody else. */
  howToName(asked: Asked): string | null
  close(): void
}

/** A database that somebody asks for. `admit`: what a client gets that has proved who it is; every change since counts. */
export type Sought = { database: Database; admit(identity: Identity): Admission }

/** A database as it was when somebody asked for it, through a network or from anywhere. */
type Known = { followed: Followed; epochs: Followed['epochs']; database: Database; network: Network | undefined }

/** What policies see of a client without a token. */
export const anonymousClaims = JSON.stringify({ role: 'anon' })

const useRecordedMs = 5_000

/**
 * What the edge's databases need.
 * @property reach how servers are reached.
 * @property edgeId this process, as others know it.
 * @property workMs how long clients but the owner may work at a stretch; less for tests.
 * @property setUpSeconds how long a login waits that finds its server otherwise than it was set up; less for tests.
 */
type Opening = {
  reach: Reach
  checkToken: CheckToken
  edgeId: string
  workMs?: number | undefined
  setUpSeconds?: number | undefined
}

/** Opens them. */
export function openDatabases(services: Services, opening: Opening): EdgeDatabases {
  const { reach, checkToken, edgeId, workMs = limits.postgresWorkSeconds * 1000, setUpSeconds = 5 } = opening
  const { sealer } = services
  const changes = followChanges(services, edgeId)
  const writers = createWriters((database) => serverOf(database, 'claims'))
  const takeLogin = createOwnLogins(writers)
  const find = createFinder(services)
  const setUpAgain = createSetups(services, setUpSeconds)
  const unwatch = changes.watch((change) => {
    if (change.change === 'renewed' || !change.kinds) writers.forget(change.databaseId)
  })

  async function lookUp(asked: Asked): Promise<Sought | null> {
    const found = await find(asked)
    if (!found) return null
    const followed = changes.follow(found)
    const database = followed.row // it may be newer
    const known = { followed, epochs: { ...followed.epochs }, database, network: asked.network }
    return isAskedFor(database, asked) ? { database, admit: (identity) => admit(known, identity) } : null
  }

  /** How the proxy logs in to the server as one of its users. */
  function serverOf(database: Database, as: ClientKind | 'claims'): Server {
    const user = as === 'owner' ? database.pgUser : loginUsers[as]
    return {
      databaseId: database.id,
      server: { user, database: database.pgDatabase, password: openLogins(sealer, database)[as] },
      connect: () => reached(reach, database.id),
      onLoginLost: () => setUpAgain(database.id),
    }
  }

  function admit(known: Known, identity: Identity): Admission {
    const { followed, database, network } = known
    const { kind } = identity
    return {
      ...serverOf(database, kind),
      ...(kind === 'owner' ? {} : { takeLogin: () => takeLogin(database, kind) }),
      organizationId: database.organizationId,
      kind,
      network,
      refusal: refusalIn(database, kind),
      workMs: kind === 'owner' ? null : workMs,
      isCurrent: () => isUnchanged(known, kind),
      backendsMax: limits.postgresBackendsMax,
      backendsShared: limits.postgresBackendsShared,
      prepare: identity.kind === 'owner' ? null : (backend) => tellClaims(writers, database, backend, identity.claims),
      onActivity: () => recordUse(services, followed),
    }
  }

  return {
    lookUp,
    howToName: (asked) => howToName(asked, services.config),
    find: async (asked) => loginOf(await lookUp(asked), asked, checkToken),
    watch: changes.watch,
    close() {
      unwatch()
      changes.close()
      writers.close()
    },
  }
}

/** Whether nothing has happened since to what let somebody of this kind in. */
function isUnchanged({ followed, epochs, database, network }: Known, kind: ClientKind): boolean {
  if (followed.epochs[kind] !== epochs[kind] || !isInNetwork(followed.row, network)) return false
  return kind !== 'owner' || verifierOf(followed.row, network) === verifierOf(database, network)
}

function howToName(asked: Asked, { domain }: Config): string | null {
  if (!namesNone(asked, domain)) return null
  const host = `<id>.db.${domain}`
  return `Say which database: by the header Neon-Connection-String, such as postgresql://<user>:<token>@${host}/app, or by the header Host, such as ${host}; <id> is its id without db_.`
}

/** How somebody logs in who asks for this user of a database. @throws PostgresRefusal when clients do not get in at all */
function loginOf(sought: Sought | null, { user, network }: Asked, checkToken: CheckToken): Found | null {
  if (!sought) return null
  const { database, admit } = sought
  const kind = clientUsers.get(user)
  if (kind === undefined) {
    const verifier = verifierOf(database, network)
    return verifier === null ? null : { by: 'password', verifier, admission: admit({ kind: 'owner' }) }
  }
  if (!database.clientModeEnabled) throw clientAccessOff()
  if (kind === 'anonymous') return { by: 'nothing', admission: admit({ kind, claims: anonymousClaims }) }
  return {
    by: 'token',
    async check(token) {
      const identity = await checkToken(database, token)
      return identity && admit(identity)
    },
  }
}

/** Client access is off: only the owner may log in. */
function clientAccessOff(): PostgresRefusal {
  return new PostgresRefusal(
    'invalid_authorization_specification',
    'client access to this database is off',
    'Log in as its owner, or have client access enabled.',
  )
}

/** Why a database takes nobody of this kind now; null when it does. */
function refusalIn({ status }: Database, kind: ClientKind): PostgresRefusal | null {
  if (status === 'active' || (status === 'updating' && kind === 'owner')) return null
  const why: Partial<Record<Database['status'], string>> = {
    creating: 'is being created: try again in a moment',
    updating: 'is being changed: try again in a moment',
    restoring: 'is being restored: try again when that has ended',
    error: 'has failed: its statusReason says why',
  }
  return new PostgresRefusal('cannot_connect_now', `the database ${why[status] ?? `is ${status}`}`)
}

async function reached(reach: Reach, databaseId: string): Promise<Duplex> {
  try {
    return await reach(databaseId)
  } catch (error) {
    if (error instanceof BerthError) throw new PostgresRefusal('cannot_connect_now', error.message)
    throw error
  }
}

function recordUse(services: Services, followed: Followed): void {
  if (performance.now() - followed.usedAtMs < useRecordedMs) return
  followed.usedAtMs = performance.now()
  const { id } = followed.row
  recordActivity(services, id).catch((error: unknown) =>
    log.warn({ err: error, database: id }, 'the use of a database could not be recorded'),
  )
}
