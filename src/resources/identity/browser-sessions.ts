/** Sessions of people in browsers. A cookie stands for one; its roles are those of the person's memberships at each request. */
import { userTokenRequired, type Caller } from '#src/platform/access.ts'
import { findPerson } from '#src/platform/access/callers.ts'
import { notFound } from '#src/platform/errors.ts'
import { decodeId, newUuid, randomToken } from '#src/platform/ids.ts'
import type { Retention } from '#src/platform/jobs/upkeep.ts'
import {
  change,
  findAll,
  findOne,
  getOne,
  noticesSent,
  sql,
  transaction,
  type Db,
  type Tx,
} from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { publish } from '#src/platform/pubsub.ts'
import { sha256 } from '#src/platform/secrets.ts'
import type { Call } from '#src/platform/services.ts'
import { browserSessionLimits } from './browser-sessions/limits.ts'

/** A session as it is shown. */
export type BrowserSession = Pick<
  Row<'browser_sessions'>,
  'id' | 'userId' | 'userAgent' | 'address' | 'createdAt' | 'usedAt' | 'expiresAt'
>

/** The topic of notices about sessions; the id is the session's. */
export const browserSessionTopic = 'browser_session'

const columns = sql`id, user_id, user_agent, address, created_at, used_at, expires_at`
const { lifetimeDays, idleHours, perPerson, userAgentLength } = browserSessionLimits

/** The condition for sessions that have not ended by themselves. */
export const isOpen = sql<boolean>`expires_at > now() and used_at > now() - ${sql.lit(idleHours)} * interval '1 hour'`

/** Begins a session of a person. @returns the secret that the cookie has, which is shown this once. */
export async function beginBrowserSession(
  db: Db,
  { userId, userAgent, address }: { userId: string; userAgent: string; address: string },
): Promise<{ secret: string; expiresAt: string }> {
  const secret = randomToken()
  const agent = userAgent.replaceAll('\0', '').slice(0, userAgentLength)
  return transaction(db, async (tx) => {
    await endOldest(tx, userId)
    const { expiresAt } = await getOne<Pick<BrowserSession, 'expiresAt'>>(
      tx,
      sql`
      insert into browser_sessions (id, user_id, secret_sha256, user_agent, address, expires_at)
      values (${newUuid()}, ${userId}, ${sha256(secret)}, ${agent}, ${address}, now() + ${lifetimeDays} * interval '1 day') returning expires_at`,
    )
    return { secret, expiresAt }
  })
}

async function endOldest(tx: Tx, userId: string): Promise<void> {
  const ended = await findAll<{ id: string }>(
    tx,
    sql`
    delete from browser_sessions where id in (
      select id from browser_sessions where user_id = ${userId} order by used_at desc offset ${perPerson - 1})
    returning id`,
  )
  for (const { id } of ended) publish(tx, browserSessionTopic, id)
}

/** The caller's sessions, the one that was used last first; null for a key, and for the token inside a VM. */
export async function listBrowserSessions(call: Call): Promise<BrowserSession[] | null> {
  const userId = findPerson(call.caller)
  return userId === null
    ? null
    : findAll<BrowserSession>(
        call.db,
        sql`select ${columns} from browser_sessions where user_id = ${userId} and ${isOpen} order by used_at desc, id`,
      )
}

/** The caller's sessions of these stored ids. */
export async function findBrowserSessions(call: Call, ids: readonly string[]): Promise<BrowserSession[]> {
  return findAll<BrowserSession>(
    call.db,
    sql`select ${columns} from browser_sessions where id = any(${ids}::uuid[]) and user_id = ${findPerson(call.caller)}::uuid and ${isOpen}`,
  )
}

/** Whether a session is the one that makes this call. */
export function isCurrent({ caller }: Pick<Call, 'caller'>, { id }: Pick<BrowserSession, 'id'>): boolean {
  return caller.kind === 'person' && caller.browserSessionId === id
}

/** Ends a session of the caller: its cookie is refused everywhere. @throws BerthError not_found. */
export async function revokeBrowserSession(call: Call, publicId: string): Promise<BrowserSession> {
  const userId = findPerson(call.caller)
  if (userId === null) throw userTokenRequired()
  const id = decodeId('browserSession', publicId)
  const ended = id && (await remove(call.db, sql`id = ${id} and user_id = ${userId}`))[0]
  if (!ended) throw notFound('session')
  return ended
}

/** Whose session has this secret, by their stored id; null when none has. */
export async function findUserOfSecret(db: Db, secret: string): Promise<string | null> {
  const found = await findOne<Pick<BrowserSession, 'userId'>>(
    db,
    sql`select user_id from browser_sessions where secret_sha256 = ${sha256(secret)}`,
  )
  return found?.userId ?? null
}

/** Ends the session that has this secret, if there is one. */
export async function endBrowserSessionOf(db: Db, secret: string): Promise<void> {
  await remove(db, sql`secret_sha256 = ${sha256(secret)}`)
}

async function remove(db: Db, which: ReturnType<typeof sql>): Promise<BrowserSession[]> {
  const ended = await transaction(db, async (tx) => {
    const gone = await findAll<BrowserSession>(
      tx,
      sql`delete from browser_sessions where ${which} returning ${columns}`,
    )
    for (const { id } of gone) publish(tx, browserSessionTopic, id)
    return gone
  })
  await noticesSent(db)
  return ended
}

/** The caller that a session stands for. */
export function callerOf(
  session: Pick<BrowserSession, 'id' | 'userId' | 'expiresAt'>,
  memberships: Extract<Caller, { kind: 'person' }>['memberships'],
): Caller {
  const [only] = memberships.size === 1 ? memberships : []
  return {
    kind: 'person',
    userId: session.userId,
    organizationId: only?.[0] ?? null,
    role: only?.[1] ?? null,
    memberships,
    vmId: null,
    tokenId: session.id,
    browserSessionId: session.id,
    expiresAtSeconds: Math.floor(Date.parse(session.expiresAt) / 1000),
  }
}

/** Notes that a session is in use. */
export async function noteBrowserSessionUse(db: Db, id: string): Promise<void> {
  await change(db, sql`update browser_sessions set used_at = now() where id = ${id}`)
}

/** How long sessions stay. */
export const browserSessionRetention: readonly Retention[] = [
  {
    what: 'Sessions in browsers',
    until: `after ${lifetimeDays} days, or ${idleHours} hours without use`,
    forget: ({ db }) => change(db, sql`delete from browser_sessions where not (${isOpen})`),
  },
]
