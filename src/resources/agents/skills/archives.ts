/**
 * The archives of versions in the object store. A row is there from before an archive's first byte until after its last,
 * so that what a process leaves behind when it dies is found and removed.
 */
import { Readable } from 'node:stream'
import type { Retention } from '#src/platform/jobs/upkeep.ts'
import { objectStore } from '#src/drivers/objects.ts'
import { BerthError } from '#src/platform/errors.ts'
import { sweep } from '#src/platform/jobs/sweeps.ts'
import { change, findAll, findOne, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import { reserveFileRoom } from '#src/resources/infra/file-room.ts'
import { skillLimits } from './limits.ts'
import { archiveKey } from './rows.ts'

type Stores = Pick<Background, 'config' | 'db' | 'sealer'>

/** An archive in the object store, or one that arrives there. */
export type Archive = { id: string; organizationId: string }

/**
 * Reserves room for an upload of at most so many bytes, before it arrives.
 * @throws BerthError rate_limited, capacity_unavailable.
 */
export async function reserveArchive(
  { config, db }: Stores,
  { id, organizationId }: Archive,
  bytesMax: number,
): Promise<void> {
  await transaction(db, async (tx) => {
    await reserveFileRoom(config, tx, organizationId, bytesMax)
    await change(
      tx,
      sql`insert into skill_archives (id, organization_id, reserved_bytes, writing_until)
      values (${id}, ${organizationId}, ${bytesMax}, now() + ${skillLimits.receivingSeconds} * interval '1 second')`,
    )
  })
}

/** Stores an archive for which room was reserved. */
export async function storeArchive(services: Stores, archive: Archive, bytes: Buffer): Promise<void> {
  await objectStore(services).put(archiveKey(archive), Readable.from([bytes]), bytes.length)
}

/** Says that an archive is stored, in the transaction that makes its version. @throws BerthError timeout. */
export async function keepArchive(tx: Tx, { id }: Archive, sizeBytes: number): Promise<void> {
  const kept = await findOne(
    tx,
    sql`update skill_archives set size_bytes = ${sizeBytes}, reserved_bytes = 0, writing_until = null
    where id = ${id} and writing_until > now() returning id`,
  )
  if (!kept) throw new BerthError('timeout', 'This upload took too long, so it was ended. Send the skill again.')
}

/** Removes an archive, unless a version has it: its bytes first, so that the row is there for as long as they may be. Idempotent. */
export async function discardArchive(services: Stores, archive: Archive): Promise<void> {
  if (await findOne(services.db, sql`select from skill_versions where id = ${archive.id}`)) return // its transaction was committed, although nobody heard of it
  await objectStore(services).remove(archiveKey(archive))
  await change(services.db, sql`delete from skill_archives where id = ${archive.id}`)
}

/** Removes archives of versions that were deleted, and of uploads that were given up. For housekeeping. */
export async function forgetSkillArchives(services: Stores): Promise<void> {
  await sweep(
    'the archive of a skill',
    (batchMax, stuckIds) =>
      findAll<Archive>(
        services.db,
        sql`
      select id, organization_id from skill_archives a
      where (writing_until is null or writing_until < now() - ${skillLimits.abandonedSeconds} * interval '1 second')
        and not exists (select from skill_versions v where v.id = a.id)
        and id <> all(${stuckIds}::uuid[]) order by id limit ${batchMax}`,
      ),
    (archive) => discardArchive(services, archive),
  )
}

/** How long archives of skills stay. */
export const skillArchiveRetention: readonly Retention[] = [
  {
    what: 'Archives of skills',
    until: `after their version was deleted, or when nobody has finished them for ${skillLimits.abandonedSeconds / 60} minutes`,
    forget: forgetSkillArchives,
  },
]
