/**
 * Gives each connection of a client who is not the owner a role of its own on the server. The server lets one connection in with
 * it at a time, so that two processes never have the same.
 */
import { randomInt } from 'node:crypto'
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import { limits } from '#src/platform/limits.ts'
import {
  clientSettings,
  hasOwnSettings,
  ownLoginOf,
  prepareOwnLogin,
  type OwnLoginKind,
} from '#src/resources/infra/databases/own-logins.ts'
import type { Database } from '#src/resources/infra/databases/rows.ts'
import type { OwnLogin } from '../postgres/directory.ts'
import { fromServer, runWith } from '../postgres/protocol/messages.ts'
import { PostgresRefusal } from '../postgres/refusals.ts'
import { LoginLost, LoginTaken } from '../postgres/server-refusals.ts'
import { WriteFailed, type Writers } from './writers.ts'

/** Takes a login for a connection. @throws LoginTaken when another one is to be tried; LoginLost; PostgresRefusal; Error */
export type TakeLogin = (database: Database, kind: OwnLoginKind) => Promise<OwnLogin>

const databasesMax = 10_000
const askLimitMs = 5_000
const yes = 't'.charCodeAt(0)
/** The class of SQLSTATEs of what is not there or not permitted: the server was not set up by this version. */
const absentClass = '42'

/** Begins with all free. Each process begins at another number, so that processes rarely meet. */
export function createOwnLogins(writers: Pick<Writers, 'write'>): TakeLogin {
  const freeOf = createBoundedMap<string, number[]>({ entriesMax: databasesMax })
  return async (database, kind) => {
    const name = `${database.id} ${kind}`
    const free = freeOf.get(name) ?? shuffled(limits.postgresBackendsMax)
    freeOf.set(name, free)
    const number = free.shift() // the one that was used longest ago
    if (number === undefined)
      throw new PostgresRefusal('too_many_connections', 'too many clients work in this database')
    let isFree = false
    const release = (): void => {
      if (!isFree) free.push(number)
      isFree = true
    }
    try {
      await writers.write(database, prepareOwnLogin, [kind, String(number)])
    } catch (error) {
      release()
      if (!(error instanceof WriteFailed)) throw error
      throw error.sqlState.startsWith(absentClass) ? new LoginLost(error.message) : new LoginTaken(error.message)
    }
    return {
      user: ownLoginOf(kind, number),
      release,
      async check(session) {
        const { messages } = await session.ask(runWith(hasOwnSettings, [clientSettings[kind].join()]), 1, askLimitMs)
        return messages.find(({ type }) => type === fromServer.dataRow)?.whole.at(-1) === yes
      },
    }
  }
}

function shuffled(count: number): number[] {
  const first = randomInt(count)
  return Array.from({ length: count }, (_, at) => (first + at) % count)
}
