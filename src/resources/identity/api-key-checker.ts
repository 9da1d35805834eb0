/** Authentication by API keys: checked on every request, cached for a moment, refused everywhere once revoked. */
import type { Caller } from '#src/platform/access.ts'
import { createNoticedCache } from '#src/platform/caches/noticed-cache.ts'
import { createUseNotes } from '#src/platform/caches/use-notes.ts'
import { nowMs } from '#src/platform/clock.ts'
import { BerthError } from '#src/platform/errors.ts'
import { log } from '#src/platform/log.ts'
import { findOne, isDatabaseAway, sql, type Db } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Pubsub } from '#src/platform/pubsub.ts'
import { parseApiKey, secretMatches } from '#src/platform/tokens.ts'
import { noteKeyUse } from './api-keys.ts'

const rememberedMs = 30_000
const rememberedMax = 10_000

type KeyRow = Pick<Row<'api_keys'>, 'keyId' | 'organizationId' | 'secretSha256' | 'scopes' | 'expiresAt' | 'revokedAt'>

/** Checks keys. */
export type ApiKeyChecker = {
  /**
   * The caller that the key stands for: `nobody` when it is not valid. A promise only when the database must be asked.
   * @throws BerthError 503 when the database is unreachable and the key is not cached.
   */
  check(text: string): Caller | Promise<Caller>
}

/** Makes the process's checker. A valid key is cached for 30 s; a notice of its revocation ends that immediately. */
export function createApiKeyChecker(
  db: Db,
  pubsub: Pick<Pubsub, 'connected' | 'listen'>,
  prefix: string,
): ApiKeyChecker {
  const known = createNoticedCache<KeyRow>(pubsub, {
    topic: 'api_key',
    entriesMax: rememberedMax,
    rememberedMs,
    unheardMs: 0,
  })
  const noteUse = createUseNotes((keyId) => noteKeyUse(db, keyId), 'key')

  async function read(keyId: string): Promise<KeyRow | undefined> {
    const before = known.findUnheard(keyId)
    try {
      return await known.read(keyId, () =>
        findOne<KeyRow>(
          db,
          sql`
          select k.key_id, k.organization_id, k.secret_sha256, k.scopes, k.expires_at, coalesce(k.revoked_at, o.deactivated_at) as revoked_at
          from api_keys k join organizations o on o.id = k.organization_id where k.key_id = ${keyId}`,
        ),
      )
    } catch (error) {
      if (!isDatabaseAway(error)) throw error
      if (before) return before.value
      log.warn({ keyId }, 'a key could not be checked: the database is unreachable')
      throw new BerthError('service_unavailable', 'Keys cannot be checked right now. Try again in a few seconds.', {
        retryAfterSeconds: 2,
      })
    }
  }

  function judge(secret: string, row: KeyRow | undefined): Caller {
    if (!row || !secretMatches(secret, row.secretSha256)) return refused('key_invalid', 'This key is not valid.')
    if (row.revokedAt) return refused('key_revoked', 'This key was revoked. Create a new one.')
    if (row.expiresAt && Date.parse(row.expiresAt) <= nowMs())
      return refused('key_expired', 'This key has expired. Create a new one.')
    noteUse(row.keyId)
    return { kind: 'key', keyId: row.keyId, organizationId: row.organizationId, scopes: row.scopes }
  }

  return {
    check(text) {
      const parts = parseApiKey(text, prefix)
      if (!parts) return refused('key_invalid', 'This key is not valid.')
      const kept = known.find(parts.keyId)
      return kept ? judge(parts.secret, kept.value) : read(parts.keyId).then((found) => judge(parts.secret, found))
    },
  }
}

function refused(keyCode: string, sentence: string): Caller {
  return { kind: 'nobody', refusal: new BerthError('unauthorized', sentence, { keyCode }) }
}
