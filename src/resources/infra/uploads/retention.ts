/**
 * Deleting old uploads: after a day if they were never finished, otherwise some time after a build last used them. Those that
 * a version of a function runs from stay.
 */
import type { Retention } from '#src/platform/jobs/upkeep.ts'
import { objectStore } from '#src/drivers/objects.ts'
import { limits } from '#src/platform/limits.ts'
import { change, findAll, sql, transaction } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import { sweep } from '#src/platform/jobs/sweeps.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { uploadKey } from '#src/resources/infra/uploads.ts'

type Stores = Pick<Background, 'config' | 'db' | 'sealer'>
type UploadRow = Pick<Row<'uploads'>, 'id' | 'organizationId'>

/** Deletes unfinished uploads after a day, and records which were finished. For housekeeping. */
export async function forgetUnfinishedUploads(services: Stores): Promise<void> {
  const { db } = services
  await sweep(
    'an unfinished upload',
    (batchMax, stuckIds) =>
      findAll<UploadRow>(
        db,
        sql`
    select id, organization_id from uploads
    where checked_at is null and created_at < now() - ${limits.uploadUnfinishedHours} * interval '1 hour' and id <> all(${stuckIds}::uuid[])
    order by created_at limit ${batchMax}`,
      ),
    async ({ id, organizationId }) => {
      const finished = await objectStore(services).find(uploadKey(organizationId, id))
      await change(
        db,
        finished
          ? sql`update uploads set checked_at = now(), size_bytes = ${finished.sizeBytes} where id = ${id}`
          : sql`delete from uploads where id = ${id}`,
      )
    },
  )
}

/**
 * Deletes finished uploads that no build, and no version of a function, has used for BERTH_UPLOAD_DAYS (0 keeps them). Even one day is longer than a
 * build may wait and run. For housekeeping.
 */
export async function forgetUnusedUploads(services: Stores): Promise<void> {
  const {
    db,
    config: { uploadDays },
  } = services
  if (uploadDays === 0) return
  const unused = sql`checked_at is not null and used_at < now() - ${uploadDays} * interval '1 day'`
  await sweep(
    'an unused upload',
    (batchMax, stuckIds) =>
      findAll<UploadRow>(
        db,
        sql`
    select id, organization_id from uploads where ${unused} and id <> all(${stuckIds}::uuid[]) order by used_at limit ${batchMax}`,
      ),
    async ({ id, organizationId }) => {
      await transaction(db, async (tx) => {
        const isNamed = sql`exists (select from function_versions where object_key = ${uploadKey(organizationId, id)})`
        await change(tx, sql`select 1 from uploads where id = ${id} for update`) // the next statement sees who was first
        // It counts as used now, and is looked at again much later.
        if ((await change(tx, sql`update uploads set used_at = now() where id = ${id} and ${isNamed}`)) > 0) return
        // The row is deleted first: a build that asks for it now waits for this transaction, and then finds no such
        // upload.
        const removed = await change(tx, sql`delete from uploads where id = ${id} and ${unused}`)
        if (removed > 0) await objectStore(services).remove(uploadKey(organizationId, id))
      })
    },
  )
}

/** How long uploads stay. */
export const uploadRetention: readonly Retention[] = [
  {
    what: 'Uploads that were not finished',
    until: `after ${limits.uploadUnfinishedHours} hours`,
    forget: forgetUnfinishedUploads,
  },
  {
    what: 'Uploads that nothing uses',
    until: '`BERTH_UPLOAD_DAYS` days after a build or a version of a function used them last',
    forget: forgetUnusedUploads,
  },
]
