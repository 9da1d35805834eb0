/**
 * Databases as the edge knows them: who may log in to which, how its server is reached, and what a change of one means for
 * its clients.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Config } from '#src/platform/config.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import type { Services } from '#src/platform/services.ts'
import { recordActivity, type Database } from '#src/resources/infra/databases/rows.ts'
import { followChanges, type Followed } from './databases/changes.ts'
import { writeClaims } from './databases/claims.ts'
import {
  absentOf,
  askedAs,
  createFinder,
  isGivenUser,
  isInNetwork,
  namesNone,
  verifierOf,
  type AskedAs,
} from './databases/finder.ts'
import { createOwnLogins } from './databases/own-logins.ts'
import { createRoles, type Roles } from './databases/roles.ts'
import { createServers, serverFor, type Identity, type Reach } from './databases/servers.ts'
import { createSetups } from './databases/setups.ts'
import { createWriters } from './databases/writers.ts'
import type { Admission, Asked, ClientKind, Directory, Found } from './postgres/directory.ts'
import { PostgresRefusal } from './postgres/refusals.ts'

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

/** A database that somebody asks for, and as whom. `admit`: what a client gets that has proved who it is; every change since counts. */
export type Sought = { database: Database; as: AskedAs; admit(identity: Identity): Admission }

/** A database as it was when somebody asked for it, through a network or from anywhere. */
type Known = { followed: Followed; epochs: Followed['epochs']; database: Database; asked: Asked }

/** What policies see of a client without a token. */
export const anonymousClaims = JSON.stringify({ role: 'anon' })

const useRecordedMs = 5_000
const roleLookMs = 50

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
  const changes = followChanges(services, edgeId)
  const setUpAgain = createSetups(services, setUpSeconds)
  const serverOf = createServers(services.sealer, reach, setUpAgain)
  const writers = createWriters((database) => serverOf(database, 'claims'))
  const takeLogin = createOwnLogins(writers)
  const find = createFinder(services)
  const roles = createRoles(services, writers, setUpAgain)
  const unwatch = changes.watch((change) => {
    if (change.change === 'renewed' || !change.kinds) writers.forget(change.databaseId)
  })

  async function lookUp(asked: Asked): Promise<Sought | null> {
    const found = await find(asked)
    if (!found) return null
    const followed = changes.follow(found)
    const database = followed.row // it may be newer
    const known = { followed, epochs: { ...followed.epochs }, database, asked }
    const as = askedAs(database, asked)
    return as && { database, as, admit: (identity) => admit(known, identity) }
  }

  function admit(known: Known, identity: Identity): Admission {
    const { followed, database, asked } = known
    const { kind } = identity
    return {
      ...serverFor(known, identity, { serverOf, takeLogin, roles }),
      organizationId: database.organizationId,
      kind,
      network: asked.network,
      refusal: refusalIn(database, kind),
      workMs: 'claims' in identity ? workMs : null,
      isCurrent: () => isUnchanged(known, kind),
      backendsMax: limits.postgresBackendsMax,
      backendsShared: limits.postgresBackendsShared,
      prepare: 'claims' in identity ? (backend) => writeClaims(writers, database, backend, identity.claims) : null,
      onActivity: () => recordUse(services, followed),
    }
  }

  return {
    lookUp,
    howToName: (asked) => howToName(asked, services.config),
    async find(asked) {
      const looking = lookUp(asked).then(
        async (sought) =>
          (await loginOf(sought, asked, { checkToken, roles })) ?? absentOf(asked, sought, services.config.domain),
      )
      // Whether there is a role may take a question to the server, which nobody is to see who asks for what is not there.
      const [found] = await Promise.all([looking, isGivenUser(asked.user) ? null : pause(roleLookMs)])
      return found
    },
    watch: changes.watch,
    close() {
      unwatch()
      changes.close()
      writers.close()
    },
  }
}

/** Whether nothing has happened since to what let somebody of this kind in. */
function isUnchanged({ followed, epochs, database, asked: { network } }: Known, kind: ClientKind): boolean {
  if (followed.epochs[kind] !== epochs[kind] || !isInNetwork(followed.row, network)) return false
  return kind !== 'owner' || verifierOf(followed.row, network) === verifierOf(database, network)
}

function howToName(asked: Asked, { domain }: Config): string | null {
  if (!namesNone(asked, domain)) return null
  const host = `<id>.db.${domain}`
  return `Say which database: by the header Neon-Connection-String, such as postgresql://<user>:<token>@${host}/app, or by the header Host, such as ${host}; <id> is its id without db_.`
}

/** How somebody logs in who asks for this user of a database. @throws PostgresRefusal when clients do not get in at all */
async function loginOf(
  sought: Sought | null,
  { network }: Asked,
  { checkToken, roles }: { checkToken: CheckToken; roles: Pick<Roles, 'verifierOf'> },
): Promise<Found | null> {
  if (!sought) return null
  const { database, as, admit } = sought
  const { kind } = as
  if (kind === 'owner') {
    const verifier = verifierOf(database, network)
    return verifier === null ? null : { by: 'password', verifier, admission: admit({ kind }) }
  }
  if (kind === 'role') {
    const { role } = as
    const verifier = await roles.verifierOf(database, role)
    return verifier === null ? null : { by: 'role', verifier, admit: (keys) => admit({ kind, role, verifier, keys }) }
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
  if (status === 'active' || (status === 'updating' && (kind === 'owner' || kind === 'role'))) return null
  const why: Partial<Record<Database['status'], string>> = {
    creating: 'is being created: try again in a moment',
    updating: 'is being changed: try again in a moment',
    restoring: 'is being restored: try again when that has ended',
    error: 'has failed: its statusReason says why',
  }
  return new PostgresRefusal('cannot_connect_now', `the database ${why[status] ?? `is ${status}`}`)
}

function recordUse(services: Services, followed: Followed): void {
  if (performance.now() - followed.usedAtMs < useRecordedMs) return
  followed.usedAtMs = performance.now()
  const { id } = followed.row
  recordActivity(services, id).catch((error: unknown) =>
    log.warn({ err: error, database: id }, 'the use of a database could not be recorded'),
  )
}
