/** Authentication by the cookie of a session in a browser: checked on every request, cached for a moment, refused once ended. */
import type { Caller } from '#src/platform/access.ts'
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import { createNoticedCache } from '#src/platform/caches/noticed-cache.ts'
import { createUseNotes } from '#src/platform/caches/use-notes.ts'
import { nowMs } from '#src/platform/clock.ts'
import { BerthError } from '#src/platform/errors.ts'
import { findOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Pubsub } from '#src/platform/pubsub.ts'
import { sha256 } from '#src/platform/secrets.ts'
import { browserSessionTopic, callerOf, isOpen, noteBrowserSessionUse } from '../browser-sessions.ts'
import type { RolesReader } from '../memberships/roles.ts'
import type { BrowserSession } from '../browser-sessions.ts'

const rememberedMax = 10_000
const rememberedMs = 5_000

type Session = Pick<BrowserSession, 'id' | 'userId' | 'expiresAt'>

/** Checks the secrets of cookies. */
export type BrowserSessionChecker = {
  /** The caller that the secret stands for: `nobody` when its session has ended. @throws Error when Postgres is away. */
  check(secret: string): Promise<Caller>
}

/** Makes the process's checker. A session is cached for 5 s, or until a notice of a change. @param rolesOf of its person. */
export function createBrowserSessionChecker(
  db: Db,
  pubsub: Pick<Pubsub, 'connected' | 'listen'>,
  rolesOf: RolesReader,
): BrowserSessionChecker {
  const options = { entriesMax: rememberedMax, rememberedMs, unheardMs: 0 }
  const sessions = createNoticedCache<Session>(pubsub, { topic: browserSessionTopic, ...options })
  const ids = createBoundedMap<string, string>({ entriesMax: rememberedMax }) // of sessions, by the digest of the secret
  const noteUse = createUseNotes((id) => noteBrowserSessionUse(db, id), 'session')

  async function find(secret: string): Promise<Session | undefined> {
    const digest = sha256(secret)
    const key = digest.toString('hex')
    const known = sessions.find(ids.get(key) ?? '')
    if (known) return known.value
    const read = async (): Promise<Session | undefined> =>
      findOne<Session>(
        db,
        sql`select id, user_id, expires_at from browser_sessions where secret_sha256 = ${digest} and ${isOpen}`,
      )
    const id = ids.get(key)
    if (id !== undefined) return sessions.read(id, read)
    const found = await read()
    if (found) ids.set(key, found.id)
    return found
  }

  return {
    async check(secret) {
      const session = await find(secret)
      if (!session || Date.parse(session.expiresAt) <= nowMs())
        return {
          kind: 'nobody',
          refusal: new BerthError('unauthorized', 'Your session in this browser has ended. Sign in again.'),
        }
      const { userId } = session
      const roles = await rolesOf(userId)
      noteUse(session.id)
      return callerOf(session, roles)
    },
  }
}
