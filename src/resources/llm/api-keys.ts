/** Organization API keys: made once, shown once, kept as a hash, revoked everywhere within a second. */
import { randomInt } from 'node:crypto'
import { keyScopes, type Caller } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { randomToken } from '#src/platform/ids.ts'
import { log } from '#src/platform/log.ts'
import { findOne, isDatabaseAway, sql, transaction, type Db } from '#src/platform/postgres.ts'
import { publish, type Pubsub } from '#src/platform/pubsub.ts'
import { sha256 } from '#src/platform/secrets.ts'
import { parseApiKey, secretMatches } from '#src/platform/tokens.ts'
import { nowMs } from '#src/platform/clock.ts'

const keyIdLetters = '0123456789abcdefghijklmnopqrstuvwxyz'
const rememberedMs = 30_000
const rememberedMax = 10_000

type KeyRow = { keyId: string; organizationId: string; secretSha256: Buffer; scopes: string[]; expiresAt: string | null; revokedAt: string | null }

/**
 * Makes a key with the fixed scopes, or fewer.
 * @returns the whole key: the only time it is seen.
 */
export async function makeApiKey(db: Db, input: { organizationId: string; createdBy: string; name: string; prefix: string; scopes?: readonly string[]; expiresAt?: string | null }): Promise<{ key: string; keyId: string }> {
  const keyId = Array.from({ length: 16 }, () => keyIdLetters[randomInt(keyIdLetters.length)]).join('')
  const secret = randomToken(32)
  await sql`
    insert into api_keys (key_id, organization_id, name, secret_sha256, secret_last4, scopes, created_by, expires_at)
    values (${keyId}, ${input.organizationId}, ${input.name}, ${sha256(secret)}, ${secret.slice(-4)}, ${[...(input.scopes ?? keyScopes)]}, ${input.createdBy}, ${input.expiresAt ?? null})`.execute(db)
  return { key: `${input.prefix}${keyId}.${secret}`, keyId }
}

/** Revokes a key of an organization for ever; true when there was one. */
export async function revokeApiKey(db: Db, organizationId: string, keyId: string): Promise<boolean> {
  return transaction(db, async (tx) => {
    const row = await findOne(tx, sql`
      update api_keys set revoked_at = coalesce(revoked_at, now()) where key_id = ${keyId} and organization_id = ${organizationId} returning key_id`)
    if (row) await publish(tx, 'api_key', keyId)
    return row !== undefined
  })
}

/** Checks keys. */
export type ApiKeyChecker = {
  /** @throws BerthError 401 for a key that is not valid, 503 when the database is away and the key is not remembered. */
  check(text: string): Promise<Caller>
}

/** Makes the process's checker. A valid key is remembered 30 s; a notice of its revocation ends that at once. */
export function createApiKeyChecker(db: Db, pubsub: Pubsub, prefix: string): ApiKeyChecker {
  const known = new Map<string, { row: KeyRow; readAtMs: number }>()
  pubsub.listen('api_key', (keyId) => (keyId === null ? known.clear() : known.delete(keyId)))

  async function find(keyId: string): Promise<KeyRow | undefined> {
    const entry = known.get(keyId)
    if (entry && pubsub.connected && nowMs() - entry.readAtMs < rememberedMs) return entry.row
    try {
      const readAtMs = nowMs()
      const row = await findOne<KeyRow>(db, sql`
        select k.key_id, k.organization_id, k.secret_sha256, k.scopes, k.expires_at, coalesce(k.revoked_at, o.deactivated_at) as revoked_at
        from api_keys k join organizations o on o.id = k.organization_id where k.key_id = ${keyId}`)
      if (known.size >= rememberedMax) known.clear()
      if (row) known.set(keyId, { row, readAtMs })
      return row
    } catch (error) {
      if (!isDatabaseAway(error)) throw error
      if (entry && nowMs() - entry.readAtMs < rememberedMs) return entry.row
      log.warn({ keyId }, 'a key could not be checked: the database is away')
      throw new BerthError('service_unavailable', 'Keys cannot be checked right now. Try again in a few seconds.', { retryAfterSeconds: 2 })
    }
  }

  return {
    async check(text) {
      const parts = parseApiKey(text, prefix)
      const row = parts ? await find(parts.keyId) : undefined
      if (!parts || !row || !secretMatches(parts.secret, row.secretSha256)) throw new BerthError('unauthorized', 'This key is not valid.')
      if (row.revokedAt) throw new BerthError('unauthorized', 'This key was revoked. Create a new one.')
      if (row.expiresAt && Date.parse(row.expiresAt) <= nowMs()) throw new BerthError('unauthorized', 'This key has expired. Create a new one.')
      return { kind: 'key', keyId: row.keyId, organizationId: row.organizationId, scopes: row.scopes }
    },
  }
}
