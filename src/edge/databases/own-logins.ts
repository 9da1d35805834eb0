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
import { roomOf } from '../postgres/shares.ts'
import { WriteFailed, type Writers } from './writers.ts'

/** Takes a login for a connection. @throws LoginTaken when another one is to be tried; LoginLost; PostgresRefusal; Error */
export type TakeLogin = (database: Database, kind: OwnLoginKind) => Promise<OwnLogin>

const databasesMax = 10_000
const askLimitMs = 5_000
const yes = 't'.charCodeAt(0)
/** The class of SQLSTATEs of what is not there or not permitted: the server was not set up by this version. */
const absentClass = '42'

/** The logins of a database. `taken`: those of connections that are not closed on the server's side, of both kinds together. */
type Logins = { taken: number; free: Record<OwnLoginKind, number[]>; waiting: (() => void)[] }

/** Such connections leave room for the owner's, those too whose client has gone and whose statement has not ended. */
const takenMax = roomOf('anonymous', limits.postgresBackendsMax)

/** Begins with all free. Each process takes them in an order of its own, so that processes rarely meet. */
export function createOwnLogins(writers: Pick<Writers, 'write'>): TakeLogin {
  const loginsOf = createBoundedMap<string, Logins>({ entriesMax: databasesMax })
  return async (database, kind) => {
    const logins = loginsOf.get(database.id) ?? {
      taken: 0,
      free: { anonymous: shuffled(takenMax), authenticated: shuffled(takenMax) },
      waiting: [],
    }
    loginsOf.set(database.id, logins)
    const free = logins.free[kind]
    await takePlace(logins)
    const number = free.shift() ?? 0 // the one that was used longest ago; there are as many of each kind as may be taken
    let isFree = false
    const release = (): void => {
      if (isFree) return
      isFree = true
      free.push(number)
      const next = logins.waiting.shift()
      if (next) next()
      else logins.taken--
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

/** Takes a place, or waits for that of a connection that closes, where too many have not. @throws PostgresRefusal when none does for a while */
async function takePlace(logins: Logins): Promise<void> {
  const { waiting } = logins
  if (logins.taken < takenMax) return void logins.taken++
  await new Promise<void>((resolve, reject) => {
    const late = setTimeout(() => {
      waiting.splice(waiting.indexOf(enter), 1)
      reject(
        new PostgresRefusal(
          'too_many_connections',
          'statements of clients who have left still run in this database: try again in a moment',
        ),
      )
    }, roomWaitMs).unref()
    const enter = (): void => {
      clearTimeout(late)
      resolve()
    }
    waiting.push(enter)
  })
}
const roomWaitMs = 10_000

/** All of them, in an order by chance: another process that holds many of them in a row is not met at each try. */
function shuffled(count: number): number[] {
  const numbers = Array.from({ length: count }, (_, at) => at)
  for (let left = count; left > 1; ) {
    const at = randomInt(left--)
    numbers.push(...numbers.splice(at, 1))
  }
  return numbers
}
