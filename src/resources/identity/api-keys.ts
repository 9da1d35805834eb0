/**
 * Organization API keys: shown once at creation, stored as a hash, revoked everywhere within a second. Only people
 * manage them. A key's id is the 16 characters in the middle of it (the key id), not a TypeID.
 */
import { randomInt } from 'node:crypto'
import { allow, allowAnywhere, owned } from '#src/platform/access.ts'
import { keyScopes, type KeyScope } from '#src/platform/access/permissions.ts'
import { nowMs, timestamp } from '#src/platform/clock.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { randomToken } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { countRows, pageSql, readPageBy, type Page, type PageReading, type PageWindow } from '#src/platform/pages.ts'
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
import { publish } from '#src/platform/pubsub.ts'
import { sha256 } from '#src/platform/secrets.ts'
import type { Call } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { isName } from '#src/platform/texts.ts'

const keyIdLetters = '0123456789abcdefghijklmnopqrstuvwxyz'
const keyIdForm = /^[0-9a-z]{16}$/
const momentForm = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/
const dayMs = 86_400_000

/** A key as it is shown: of its secret only the last four characters. */
export type ApiKey = { id: string } & Pick<
  Row<'api_keys', { scopes: KeyScope[] }>,
  | 'organizationId'
  | 'name'
  | 'secretLast4'
  | 'scopes'
  | 'createdBy'
  | 'createdAt'
  | 'expiresAt'
  | 'revokedAt'
  | 'lastUsedAt'
>

const columns = sql.raw(
  'key_id as id, organization_id, name, secret_last4, scopes, created_by, created_at, expires_at, revoked_at, last_used_at',
)

/**
 * Creates a key with the fixed scopes for the caller's organization.
 * @returns the key as it is shown, and the whole key, which is returned only this once.
 * @throws BerthError 401 for keys, 403 below admin, invalid_request for the name, the expiry, and too many keys.
 */
export async function createApiKey(
  call: Call,
  input: { name: string; expiresAt?: string | null },
): Promise<{ key: string; apiKey: ApiKey }> {
  const scope = allow(call.caller, 'keys:write')
  const order = {
    organizationId: scope.organizationId,
    createdBy: scope.userId ?? '',
    prefix: call.config.apiKeyPrefix,
    name: input.name,
    expiresAt: input.expiresAt,
  }
  return transaction(call.db, (tx) => createKeyFor(tx, order))
}

/** The same without a caller, for the operator's command. */
export async function createKeyFor(
  tx: Tx,
  order: {
    organizationId: string
    createdBy: string
    prefix: string
    name: string
    expiresAt?: string | null | undefined
  },
): Promise<{ key: string; apiKey: ApiKey }> {
  const name = order.name.trim()
  if (!isName(name)) throw new BerthError('invalid_request', `name must have 1 to ${limits.nameLength} characters.`)
  const { key, keyId } = await makeApiKey(tx, { ...order, name, expiresAt: readExpiry(order.expiresAt) })
  const { count } = await getOne<{ count: number }>(
    tx,
    sql`
    select count(*) from api_keys where organization_id = ${order.organizationId} and revoked_at is null and coalesce(expires_at > now(), true)`,
  )
  if (count > limits.apiKeysMax)
    throw new BerthError('invalid_request', `An organization has at most ${limits.apiKeysMax} keys. Revoke one first.`)
  return { key, apiKey: await getOne<ApiKey>(tx, sql`select ${columns} from api_keys where key_id = ${keyId}`) }
}

/** The organization's keys, newest first, including revoked and expired ones. @throws BerthError invalid_request. */
export async function pageApiKeys(call: Call, window: PageWindow): Promise<Page<ApiKey>> {
  const scope = allow(call.caller, 'keys:read')
  const placeOf = (id: string) =>
    sql`(select created_at, key_id from api_keys where ${owned(scope)} and key_id = ${id})`
  const sqlOf = (reading: PageReading) => pageSql([sql`created_at`, sql`key_id`], reading, 'desc', placeOf)
  return readPageBy(
    {
      keyOf: (cursor) => (keyIdForm.test(cursor) ? cursor : undefined),
      cursorOf: ({ id }: ApiKey) => id,
    },
    window,
    (reading) => {
      const { within, cut } = sqlOf(reading)
      return findAll<ApiKey>(call.db, sql`select ${columns} from api_keys where ${owned(scope)} and ${within} ${cut}`)
    },
    (reading) => countRows(call.db, sql`api_keys where ${owned(scope)} and ${sqlOf(reading).within}`),
  )
}

/** The keys with these ids, in the caller's organizations. An API key may see itself. */
export async function findApiKeys(call: Call, ids: readonly string[]): Promise<ApiKey[]> {
  const isKey = call.caller.kind === 'key'
  const reach = allowAnywhere(call.caller, isKey ? 'account:read' : 'keys:read')
  return findAll<ApiKey>(
    call.db,
    sql`
    select ${columns} from api_keys where key_id = any(${ids.filter((id) => keyIdForm.test(id))}::text[]) and ${owned(reach)}
      and (${reach.keyId}::text is null or key_id = ${reach.keyId})`,
  )
}

/** One key. @throws BerthError not_found. */
export async function getApiKey(call: Call, keyId: string): Promise<ApiKey> {
  const scope = allow(call.caller, 'keys:read')
  const row = keyIdForm.test(keyId)
    ? await findOne<ApiKey>(call.db, sql`select ${columns} from api_keys where ${owned(scope)} and key_id = ${keyId}`)
    : undefined
  if (!row) throw notFound('key')
  return row
}

/** Revokes a key permanently; a revoked one stays as it is. @throws BerthError not_found. */
export async function revokeApiKey(call: Call, keyId: string): Promise<ApiKey> {
  const scope = allow(call.caller, 'keys:write')
  const row = keyIdForm.test(keyId) ? await endApiKey(call.db, scope.organizationId, keyId) : undefined
  if (!row) throw notFound('key')
  return row
}

/** Inserts a key with the fixed scopes, or fewer; returns the whole key. */
export async function makeApiKey(
  db: Db,
  input: {
    organizationId: string
    createdBy: string
    name: string
    prefix: string
    scopes?: readonly string[]
    expiresAt?: string | null
  },
): Promise<{ key: string; keyId: string }> {
  const keyId = Array.from({ length: 16 }, () => keyIdLetters[randomInt(keyIdLetters.length)]).join('')
  const secret = randomToken(32)
  await sql`
    insert into api_keys (key_id, organization_id, name, secret_sha256, secret_last4, scopes, created_by, expires_at)
    values (${keyId}, ${input.organizationId}, ${input.name}, ${sha256(secret)}, ${secret.slice(-4)},
      ${[...(input.scopes ?? keyScopes)]}, ${input.createdBy}, ${input.expiresAt ?? null})`.execute(db)
  return { key: `${input.prefix}${keyId}.${secret}`, keyId }
}

/** Revokes a key of an organization, and notifies every process; undefined when there is none. */
export async function endApiKey(db: Db, organizationId: string, keyId: string): Promise<ApiKey | undefined> {
  const ended = await transaction(db, async (tx) => {
    const row = await findOne<ApiKey>(
      tx,
      sql`
      update api_keys set revoked_at = coalesce(revoked_at, now()) where key_id = ${keyId} and organization_id = ${organizationId} returning ${columns}`,
    )
    if (row) publish(tx, 'api_key', keyId)
    return row
  })
  await noticesSent(db)
  return ended
}

/** The time at which a key expires, or null for one that does not. */
function readExpiry(text: string | null | undefined): string | null {
  if (text === null || text === undefined) return null
  const atMs = momentForm.test(text) ? Date.parse(text) : NaN
  if (Number.isNaN(atMs))
    throw new BerthError(
      'invalid_request',
      'expiresAt must be an RFC 3339 date and time, such as 2030-01-31T00:00:00.000Z.',
    )
  if (atMs <= nowMs())
    throw new BerthError(
      'invalid_request',
      'expiresAt must be in the future; leave it out for a key that does not expire.',
    )
  if (atMs > nowMs() + limits.apiKeyDaysMax * dayMs)
    throw new BerthError(
      'invalid_request',
      'expiresAt must be within ten years; leave it out for a key that does not expire.',
    )
  return timestamp(atMs)
}

/** Records that a key was used, once a minute at most. */
export async function noteKeyUse(db: Db, keyId: string): Promise<void> {
  await change(
    db,
    sql`update api_keys set last_used_at = now() where key_id = ${keyId} and coalesce(last_used_at < now() - interval '1 minute', true)`,
  )
}
