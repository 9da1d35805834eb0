/** Files that callers put into the object store by a signed address, such as the source of a build (decisions.md §4.10). */
import { allow, allowIn, type Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId, encodeId, newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { change, findAll, findOne, getOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Background, Call } from '#src/platform/services.ts'
import { keyOfUrl } from '#src/drivers/object-store.ts'
import { objectStore } from '#src/drivers/objects.ts'

/** Where to put a file, and what to call it afterwards. */
export type Upload = { uploadUrl: string; binaryUrl: string; expiresAt: string }

const batchMax = 100

/** Makes room for a file. @throws BerthError invalid_request when the caller is not in the organization: the documents list no 403 here. */
export async function createUpload(call: Call, organizationId: string): Promise<Upload> {
  const scope = inOrganization(call, organizationId)
  const id = newUuid()
  const key = keyOf(scope.organizationId, id)
  const uploadUrl = await objectStore(call).signedUrl('PUT', key, { expiresInSeconds: limits.uploadUrlSeconds })
  const { expiresAt } = await getOne<{ expiresAt: string }>(call.db, sql`
    insert into uploads (id, organization_id, created_by, expires_at)
    values (${id}, ${scope.organizationId}, ${scope.userId}, now() + ${limits.uploadUrlSeconds} * interval '1 second') returning expires_at`)
  return { uploadUrl, binaryUrl: objectStore(call).canonicalUrl(key), expiresAt }
}

/** The object key of the organization's upload that an address names, or undefined when it names none. */
export async function findUploadKey(services: Pick<Background, 'config' | 'db' | 'sealer'>, organizationId: string, binaryUrl: string): Promise<string | undefined> {
  const key = keyOfUrl(objectStore(services), binaryUrl)
  const id = key && decodeId('upload', key.split('/').at(-1) ?? '')
  if (!id || key !== keyOf(organizationId, id)) return undefined
  const upload = await findOne(services.db, sql`select 1 from uploads where id = ${id} and organization_id = ${organizationId}`)
  return upload === undefined ? undefined : key
}

/** The uploads whose address was never used within a day; for housekeeping, which removes what is not in the store. */
async function oldUploads(db: Db): Promise<{ id: string; key: string }[]> {
  const rows = await findAll<{ id: string; organizationId: string }>(db, sql`
    select id, organization_id from uploads where checked_at is null and created_at < now() - ${limits.uploadUnfinishedHours} * interval '1 hour' order by created_at limit ${batchMax}`)
  return rows.map(({ id, organizationId }) => ({ id, key: keyOf(organizationId, id) }))
}

/** Removes unfinished uploads after a day (decisions.md §4.10); a finished one stays. */
export async function forgetUnfinishedUploads(services: Pick<Background, 'config' | 'db' | 'sealer'>): Promise<void> {
  for (const { id, key } of await oldUploads(services.db)) {
    const finished = await objectStore(services).find(key)
    await change(services.db, finished ? sql`update uploads set checked_at = now() where id = ${id}` : sql`delete from uploads where id = ${id}`)
  }
}

function inOrganization({ caller }: Call, organizationId: string): Scope {
  if (caller.kind === 'key') allow(caller, 'uploads:write')
  try {
    return allowIn(caller, 'uploads:write', decodeId('organization', organizationId))
  } catch (error) {
    if (error instanceof BerthError && error.code === 'forbidden') throw new BerthError('invalid_request', 'organization_id names no organization of yours.')
    throw error
  }
}

function keyOf(organizationId: string, id: string): string {
  return `compute/${encodeId('organization', organizationId)}/${encodeId('upload', id)}`
}
