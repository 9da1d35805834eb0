/** Files that callers upload to the object store with a signed URL, such as the source of a build. */
import { allow, type Scope } from '#src/platform/access.ts'
import { allowInGiven } from '#src/platform/access/organizations.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId, encodeId, newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { change, getOne, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import type { Background, Call } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { keyOfUrl } from '#src/drivers/objects/store.ts'
import { objectStore } from '#src/drivers/objects.ts'
import { checkFileRoom, filesHeld } from './file-room.ts'

/** Where to upload a file, and its name in later requests. */
export type Upload = { uploadUrl: string; binaryUrl: string; expiresAt: string }

/**
 * Creates an upload.
 * @throws BerthError invalid_request when the caller is not in the organization, because the interface lists no 403
 * here; rate_limited, capacity_unavailable when it may not store more.
 */
export async function createUpload(call: Call, organizationId: string | null | undefined): Promise<Upload> {
  const scope = inOrganization(call, organizationId)
  const id = newUuid()
  const key = uploadKey(scope.organizationId, id)
  const uploadUrl = await objectStore(call).signedUrl('PUT', key, { expiresInSeconds: limits.uploadUrlSeconds })
  const expiresAt = await transaction(call.db, async (tx) => {
    await checkUploads(call, tx, scope)
    const made = await getOne<Pick<Row<'uploads'>, 'expiresAt'>>(
      tx,
      sql`
      insert into uploads (id, organization_id, created_by, expires_at)
      values (${id}, ${scope.organizationId}, ${scope.userId}, now() + ${limits.uploadUrlSeconds} * interval '1 second') returning expires_at`,
    )
    return made.expiresAt
  })
  return { uploadUrl, binaryUrl: objectStore(call).canonicalUrl(key), expiresAt }
}

/**
 * The object key of the organization's upload with this URL, or undefined when there is none. It is marked as used, so
 * that it is not deleted while a build may need it.
 */
export async function useUpload(
  services: Pick<Background, 'config' | 'db' | 'sealer'>,
  organizationId: string,
  binaryUrl: string,
): Promise<string | undefined> {
  const key = keyOfUrl(objectStore(services), binaryUrl)
  const id = key && decodeId('upload', key.split('/').at(-1) ?? '')
  if (!id || key !== uploadKey(organizationId, id)) return undefined
  const found = await change(
    services.db,
    sql`update uploads set used_at = now() where id = ${id} and organization_id = ${organizationId}`,
  )
  return found > 0 ? key : undefined
}

/**
 * The same for an upload that must be there as a whole, with its size.
 * @param contents what is uploaded, as the error names it.
 * @throws BerthError invalid_request.
 */
export async function useFinishedUpload(
  services: Pick<Background, 'config' | 'db' | 'sealer'>,
  organizationId: string,
  binaryUrl: string,
  contents: string,
): Promise<{ key: string; sizeBytes: number }> {
  const key = await useUpload(services, organizationId, binaryUrl)
  const found = key && (await objectStore(services).find(key))
  if (key && found) return { key, sizeBytes: found.sizeBytes }
  throw new BerthError(
    'invalid_request',
    `binary_url names no finished upload of your organization. Create an upload, PUT ${contents} to its upload_url, then pass its binary_url.`,
    { field: 'binary_url' },
  )
}

/**
 * Checks the number of an organization's uploads, and that it may store more at all. Requests of one organization are
 * serialized here, so that the counts are exact.
 */
async function checkUploads({ config }: Call, tx: Tx, { organizationId }: Scope): Promise<void> {
  await change(tx, sql`select 1 from organizations where id = ${organizationId} for no key update`)
  const { count, unfinished } = await getOne<{ count: number; unfinished: number }>(
    tx,
    sql`select count(*), count(*) filter (where checked_at is null) as unfinished from uploads where organization_id = ${organizationId}`,
  )
  const most =
    unfinished >= limits.uploadsUnfinishedMax
      ? `${limits.uploadsUnfinishedMax} upload URLs that are not used yet`
      : count >= limits.uploadsMax
        ? `${limits.uploadsMax} uploads`
        : null
  if (most)
    throw new BerthError(
      'rate_limited',
      `Your organization has ${most}, which is the limit. Use one of them, or wait: unused ones are deleted after ${limits.uploadUnfinishedHours} hours.`,
      { retryAfterSeconds: 60 },
    )
  await checkFileRoom(config, await filesHeld(tx, organizationId), 1)
}

function inOrganization({ caller }: Call, organizationId: string | null | undefined): Scope {
  if (caller.kind === 'key') allow(caller, 'uploads:write')
  try {
    return allowInGiven(caller, 'uploads:write', organizationId)
  } catch (error) {
    if (error instanceof BerthError && error.code === 'forbidden')
      throw new BerthError('invalid_request', 'organization_id names no organization of yours.')
    throw error
  }
}

/** An upload's key in the object store. */
export function uploadKey(organizationId: string, id: string): string {
  return `compute/${encodeId('organization', organizationId)}/${encodeId('upload', id)}`
}
