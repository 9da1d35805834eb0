/**
 * What the proxy must be told about databases: who may log in to which, and where the database is. The noun implements
 * it; the proxy knows neither its tables nor its VMs.
 */
import type { Duplex } from 'node:stream'
import type { Network } from '#src/drivers/project-door.ts'
import type { ScramKeys } from '#src/platform/secrets/scram-verifiers.ts'
import type { PostgresRefusal } from './refusals.ts'

/** Finds databases, and says when one changes. */
export type Directory = {
  /**
   * The database that a client asks for, and how the client proves who it is. Where nobody is there, the proxy answers as
   * if the password were wrong, after the same exchange. So nobody learns which users and databases there are.
   * It must take as long for what is not there as for what is.
   */
  find(asked: Asked): Promise<Found>
  /** Calls back at each change of a database; answers how to stop that. */
  watch(changed: (change: DatabaseChange) => void): () => void
}

/** What a client has said of itself; nothing of it is proved. */
export type Asked = {
  user: string
  database: string
  /** The host name that the client expects behind TLS, such as `<id>.db.<domain>`; null without one. */
  serverName: string | null
  /** The network through which it comes, which has no other databases; absent for those from anywhere. */
  network?: Network | undefined
}

/** How a client proves who it is, and what it gets then. */
export type Found =
  | { by: 'password'; verifier: string; admission: Admission }
  /** The password of a role that the server has: with the keys that it proves, the proxy logs in there. */
  | { by: 'role'; verifier: string; admit: (keys: ScramKeys) => Admission }
  /** A token such as a JWT, sent as a password inside TLS. Null when it is not valid. */
  | { by: 'token'; check: (token: string) => Promise<Admission | null> }
  | { by: 'nothing'; admission: Admission }
  | Absent

/**
 * Nobody is there. Who is there has one salt, however it is asked for; so has who is not: `alike` is the same for all ways of asking
 * that would lead to the same user, and for no others.
 */
export type Absent = { by: 'nobody'; alike: string }

/** Which kind of client it is, a role being one that the owner has made; a change may end the clients of some kinds only. */
export type ClientKind = 'owner' | 'role' | 'authenticated' | 'anonymous'

/**
 * What a client that has proved itself gets.
 *
 * Its backend must be logged in as the very role whose rights it has. A role that the proxy takes on by `SET ROLE` after
 * it logged in as a more powerful one can be undone by the client with `RESET ROLE`. So `authenticated` and `anonymous`
 * clients need a LOGIN role each, a member of `authenticated` or of `anon` and of nothing else.
 *
 * For the same reason a setting such as `request.jwt.claims` proves nothing: every client may set it. `prepare` gets the
 * backend before the client does, so that the claims can be written where no client may write, in a row of its process id;
 * policies read them by a function with the definer's rights.
 */
export type Admission = {
  databaseId: string
  organizationId: string
  kind: ClientKind
  /** The network through which it came. */
  network?: Network | undefined
  /** Why the database takes nobody now, such as one that is being restored; said to those who proved themselves. */
  refusal: PostgresRefusal | null
  /**
   * As whom the proxy logs in to the server. Password null: the server asks for none on this way. `verifier`: of a role, whose
   * backends another one of its name must not get. `forwardsErrors`: what the owner has made has no setup, so what the server refuses
   * is for the client. `isFleeting`: a database that cannot be dropped while anybody is in it, so no backend waits there.
   */
  server: {
    user: string
    database: string
    password: string | ScramKeys | null
    verifier?: string
    forwardsErrors?: boolean
    isFleeting?: boolean
  }
  /** For clients who are many people: a user for each connection, in place of that one. @throws LoginTaken, as often as it may be tried again; LoginLost; PostgresRefusal */
  takeLogin?: () => Promise<OwnLogin>
  /** How long a statement or a transaction of it may take, its answer included; null: for as long as it likes. */
  workMs: number | null
  /** Backends of this database that may be open, all users together; below the server's own `max_connections`. */
  backendsMax: number
  /** How many of them its clients share before more are opened; `limits.postgresBackendsShared` fits a small server. */
  backendsShared: number
  /** Is waited for whenever a backend is given to a client. */
  prepare: ((session: FreshSession) => Promise<void>) | null
  /** Whether no change has ended the clients of this kind since the directory made this. */
  isCurrent(): boolean
  /** A new connection to the server; wakes one that sleeps. @throws PostgresRefusal that the client is told; any other error is logged */
  connect(): Promise<Duplex>
  /** The server does not let the proxy in any more as it has set it up. Answers whether it has been set up again, so that another try may help. */
  onLoginLost(): Promise<boolean>
  /** A client of the database has asked something; called every few seconds at most. */
  onActivity(): void
}

/** A user of the server that one connection has for itself, until it is released. `check`: whether it began as it should. */
export type OwnLogin = { user: string; release(): void; check(session: FreshSession): Promise<boolean> }

/** A backend that no client has yet: its process on the server, and how to have messages of the proxy's own answered. */
export type FreshSession = {
  readonly processId: number
  ask(messages: Buffer, cycles: number, limitMs: number): Promise<{ messages: { type: number; whole: Buffer }[] }>
}

/** Clients of a database: those of these kinds, and those who came through this network; all without both. */
export type SomeClients = { kinds?: readonly ClientKind[]; network?: Network }

/** Whether a client is one of them. */
export function isAmong(
  { kind, network: from }: Pick<Admission, 'kind' | 'network'>,
  { kinds, network }: SomeClients,
): boolean {
  return (kinds === undefined || kinds.includes(kind)) && (network === undefined || network === from)
}

/** Something about a database changed. */
export type DatabaseChange =
  /** These clients are told the refusal and leave, within 5 s: client access was switched off, the password was changed, the database is deleted. */
  | ({ databaseId: string; change: 'closed'; refusal: PostgresRefusal } & SomeClients)
  /** Backends that no client needs are closed: settings of its roles have changed, or it is about to sleep. Clients stay. */
  | { databaseId: string; change: 'renewed' }
