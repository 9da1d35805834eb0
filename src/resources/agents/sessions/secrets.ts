/**
 * The secrets to mask in a session: those of its vaults and its resources, and the `secret` variables of its VM. They are masked in
 * everything before it is stored, so every reader, including the model, sees the masked log. A secret that was once
 * available is remembered, sealed, until the session has ended: a credential may have been printed before it was
 * rotated or archived.
 */
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import { BerthError } from '#src/platform/errors.ts'
import { blankMasker, noMasker, prepareMasker, type Masker } from '#src/platform/masking.ts'
import { change, findAll, sql, type Db } from '#src/platform/postgres.ts'
import { sha256 } from '#src/platform/secrets.ts'
import type { Background } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { openSecretVariables } from '#src/resources/infra/vms/variables.ts'
import { findBuiltInTool } from '#src/resources/agents/built-in-tools.ts'
import { readSecretValues } from '#src/resources/agents/vaults/credentials/use.ts'
import { findEnvironmentRow } from '#src/resources/agents/environments/rows.ts'
import { readTokens } from '#src/resources/agents/sessions/resources/rows.ts'
import { maskedValue } from '#src/platform/masking/values.ts'
import type { NewEvent } from './log.ts'
import type { Session } from './rows.ts'

/** The part of a session that decides its secrets. */
export type SecretSession = Pick<
  Session,
  'id' | 'organizationId' | 'ownerUserId' | 'vaultIds' | 'environmentId' | 'keepsSecrets'
>

type Opened = { db: Db } & Pick<Background, 'sealer'>
type Recorded = Pick<Row<'session_secrets'>, 'digest' | 'sealedValue'>

/**
 * The masker of a session, for the secrets that it can use now and those that it could use before.
 * @throws BerthError invalid_request when these are too many.
 */
export async function sessionMasker({ db, sealer }: Opened, session: SecretSession): Promise<Masker> {
  const { id, organizationId, ownerUserId: userId, vaultIds, environmentId, keepsSecrets } = session
  if (vaultIds.length === 0 && environmentId === null && !keepsSecrets) return noMasker
  const vmId = environmentId === null ? null : ((await findEnvironmentRow(db, environmentId))?.vmId ?? null)
  const inReach = [
    ...(await readSecretValues({ db, sealer }, { organizationId, userId }, vaultIds)),
    ...(await readTokens({ db, sealer }, id)),
    ...(vmId === null ? [] : await openSecretVariables({ db, sealer }, vmId)),
  ]
  const recorded =
    keepsSecrets || inReach.length > 0
      ? await findAll<Recorded>(
          db,
          sql`select digest, sealed_value from session_secrets where session_id = ${id} order by digest`,
        )
      : []
  const known = new Map(recorded.map(({ digest, sealedValue }) => [digest, sealedValue]))
  const fresh = new Map(
    inReach
      .filter((secret) => secret !== '' && !isPlaceholder(secret))
      .map((secret) => [sealer.derive(`session secret ${secret}`), secret]),
  )
  for (const digest of known.keys()) fresh.delete(digest)
  if (fresh.size > 0) await record({ db, sealer }, id, fresh)
  const secrets = [...fresh.values(), ...[...known].map(([digest, sealed]) => sealer.open(sealed, placeOf(id, digest)))]
  return keptMasker(secrets)
}

/**
 * Remembers the secrets that a session can use now: they stay masked in it once it cannot use them any more.
 * @throws BerthError invalid_request when these, and those before them, are too many.
 */
export async function rememberSecrets(opened: Opened, session: SecretSession): Promise<void> {
  await sessionMasker(opened, session)
}

/**
 * The same as `sessionMasker` for a step of the loop, which must not fail: if there are too many secrets, everything is
 * masked.
 */
export async function stepMasker(opened: Opened, session: SecretSession): Promise<Masker> {
  try {
    return await sessionMasker(opened, session)
  } catch (error) {
    if (!(error instanceof BerthError)) throw error
    return blankMasker
  }
}

/** That of a session that is about to start with these vaults, and with these tokens of its resources. */
export async function startMasker(
  opened: Opened,
  owner: { organizationId: string; userId: string },
  vaultIds: readonly string[],
  tokens: readonly string[],
): Promise<Masker> {
  return keptMasker([...(vaultIds.length === 0 ? [] : await readSecretValues(opened, owner, vaultIds)), ...tokens])
}

/** Removes the remembered secrets of a session that has ended. */
export async function forgetSessionSecrets(db: Db, sessionId: string): Promise<void> {
  await change(db, sql`delete from session_secrets where session_id = ${sessionId}`)
}

async function record({ db, sealer }: Opened, sessionId: string, secrets: ReadonlyMap<string, string>): Promise<void> {
  const sealed = [...secrets].map(([digest, secret]) => sealer.seal(secret, placeOf(sessionId, digest)))
  await change(
    db,
    sql`
    with session as (update sessions set keeps_secrets = true where id = ${sessionId} and archived_at is null returning id)
    insert into session_secrets (session_id, digest, sealed_value) select session.id, digest, sealed_value
    from session, unnest(${[...secrets.keys()]}::text[], ${sealed}::bytea[]) as given (digest, sealed_value) on conflict do nothing`,
  )
}

/** A cache of maskers: every step uses the same secrets, and building a masker takes a while. */
const keptBytesMax = 4 * 1024 * 1024
const keptMax = 200
const kept = createBoundedMap<string, Promise<Masker>>({ entriesMax: keptMax, weightMax: keptBytesMax })

async function keptMasker(secrets: readonly string[]): Promise<Masker> {
  if (secrets.length === 0) return noMasker
  const key = sha256(JSON.stringify([...new Set(secrets)].sort())).toString('base64')
  const known = kept.get(key)
  if (known) return known
  const making = prepareMasker(secrets)
  kept.set(key, making)
  try {
    const masker = await making
    kept.set(key, making, masker.sizeBytes)
    return masker
  } catch (error) {
    kept.delete(key)
    throw error
  }
}

/** The fields of an event with text from users, models or tools; the others have ids and fixed words. */
const textFields = ['content', 'error', 'explanation', 'description', 'rubric', 'deny_message', 'title'] as const

/** Events without secrets. Tool inputs are masked completely, including the names of their fields. */
export async function maskedEvents(masker: Masker, events: readonly NewEvent[]): Promise<NewEvent[]> {
  if (masker === noMasker) return [...events]
  const masked: NewEvent[] = []
  for (const event of events) {
    const data: Record<string, unknown> = { ...event.data }
    for (const field of textFields)
      if (data[field] !== undefined) data[field] = await maskedValue(masker, data[field], false)
    if (data['input'] !== undefined) data['input'] = await maskedValue(masker, data['input'], true)
    if (event.type === 'agent.tool_use' && !findBuiltInTool(String(data['name'])))
      data['name'] = await masker.longText(String(data['name'])) // a model may call a tool that does not exist
    masked.push({ ...event, ...(event.data ? { data } : {}) })
  }
  return masked
}

/** A placeholder for a secret is not a secret itself. */
function isPlaceholder(value: string): boolean {
  return /^berth-secret-vcrd_[0-9a-z]{26}$/.test(value)
}

function placeOf(sessionId: string, digest: string): string {
  return `session_secrets.sealed_value:${sessionId}:${digest}`
}
