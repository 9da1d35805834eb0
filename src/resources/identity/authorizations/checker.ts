/** Authentication by a program's access token: checked on every request, cached for a moment, refused once it has ended. */
import type { Caller } from '#src/platform/access.ts'
import { roleWithin } from '#src/platform/access/permissions.ts'
import { createNoticedCache } from '#src/platform/caches/noticed-cache.ts'
import { createUseNotes } from '#src/platform/caches/use-notes.ts'
import { nowMs } from '#src/platform/clock.ts'
import { BerthError } from '#src/platform/errors.ts'
import { findOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Pubsub } from '#src/platform/pubsub.ts'
import { sha256 } from '#src/platform/secrets.ts'
import { accessTokenTopic, noteAuthorizationUse, type Authorization } from '../authorizations.ts'
import type { RolesReader } from '../memberships/roles.ts'

const rememberedMax = 10_000
const rememberedMs = 5_000

/** An access token, with what it is of; `expiresAt`: the token's own end. */
type Held = Pick<Authorization, 'id' | 'userId' | 'organizationId' | 'scope' | 'expiresAt'>

/** Checks access tokens of programs. */
export type AuthorizationChecker = {
  /** The caller that the token stands for: `nobody` when it has ended. @throws Error when Postgres is away. */
  check(secret: string): Promise<Caller>
}

/** Makes the process's checker. A token is cached for 5 s, or until a notice of a change. @param rolesOf of its person. */
export function createAuthorizationChecker(
  db: Db,
  pubsub: Pick<Pubsub, 'connected' | 'listen'>,
  rolesOf: RolesReader,
): AuthorizationChecker {
  const tokens = createNoticedCache<Held>(pubsub, {
    topic: accessTokenTopic,
    entriesMax: rememberedMax,
    rememberedMs,
    unheardMs: 0,
  })
  const noteUse = createUseNotes((id) => noteAuthorizationUse(db, id), 'authorization')

  async function find(secret: string): Promise<Held | undefined> {
    const digest = sha256(secret)
    const key = digest.toString('hex')
    return tokens.find(key)?.value ?? tokens.read(key, () => readHeld(db, digest))
  }

  return {
    async check(secret) {
      const held = await find(secret)
      if (!held || Date.parse(held.expiresAt) <= nowMs())
        return nobody(
          'This access token has ended, or was revoked. Get another with your refresh token, or sign in again.',
        )
      const role = (await rolesOf(held.userId)).get(held.organizationId)
      if (!role) return nobody('Whoever let this program in is no longer a member of the organization. Sign in again.')
      noteUse(held.id)
      return callerOf(held, roleWithin(role, held.scope))
    },
  }
}

function readHeld(db: Db, digest: Buffer): Promise<Held | undefined> {
  return findOne<Held>(
    db,
    sql`
    select a.id, a.user_id, a.organization_id, a.scope, t.expires_at
    from authorization_tokens t join authorizations a on a.id = t.authorization_id
    where t.secret_sha256 = ${digest} and t.kind = 'access' and t.expires_at > now() and a.expires_at > now()`,
  )
}

function callerOf(held: Held, role: ReturnType<typeof roleWithin>): Caller {
  const { id, userId, organizationId, scope, expiresAt } = held
  return {
    kind: 'person',
    userId,
    organizationId,
    role,
    memberships: new Map([[organizationId, role]]),
    vmId: null,
    tokenId: id,
    program: { authorizationId: id, scope },
    expiresAtSeconds: Math.floor(Date.parse(expiresAt) / 1000),
  }
}

function nobody(sentence: string): Caller {
  return { kind: 'nobody', refusal: new BerthError('unauthorized', sentence) }
}
