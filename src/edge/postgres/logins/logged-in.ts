/** A client that has logged in, before it is served. */
import type { Duplex } from 'node:stream'
import type { Admission } from '../directory.ts'
import type { Startup } from './startup.ts'

/** What a client comes with. */
export type LoggedIn = {
  stream: Duplex
  /** What has arrived of it beyond its login. */
  early: Buffer
  startup: Startup
  admission: Admission
}

/** Those for whom a backend is the same: who they are on the server, by which password, and with which settings they began. */
export function keyOf({ startup: { settings }, admission: { server } }: LoggedIn): string {
  const sorted = [...settings].toSorted(([one], [other]) => (one < other ? -1 : 1))
  return JSON.stringify([server.user, server.verifier ?? null, server.database, ...sorted])
}

/** Whether a client is the owner, or one of the owner's roles. */
export function isOwners({ kind }: Pick<Admission, 'kind'>): boolean {
  return kind === 'owner' || kind === 'role'
}
