/** How much organizations store as files (uploads, outputs of builds, backups, files and skills of agents), and the limits on it. */
import { join } from 'node:path'
import { diskRoom, type DiskRoom } from '#src/drivers/disk-room.ts'
import type { Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { lockNumbers } from '#src/platform/locks/lock-numbers.ts'
import { findOne, getOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'

/**
 * Without a setting, an organization may use this share of the disk for files, and always at least the limit for
 * uploads in progress.
 */
const usualShare = 0.25
const retryAfterSeconds = 60
const bytesPerMib = 1024 * 1024
const bytesPerGib = 1024 * bytesPerMib

/** What an organization has stored and is uploading, and what all organizations are uploading. Bytes. */
export type FilesHeld = { storedBytes: number; stagedBytes: number; allStagedBytes: number }

/** Counts the files of an organization. */
export async function filesHeld(db: Db, organizationId: string): Promise<FilesHeld> {
  return getOne<FilesHeld>(
    db,
    sql`
    select (select coalesce(sum(size_bytes), 0) from uploads where organization_id = ${organizationId})::bigint
        + (select coalesce(sum(size_bytes), 0) from database_backups where organization_id = ${organizationId})::bigint
        + (select coalesce(sum(size_bytes), 0) from files where organization_id = ${organizationId})::bigint
        + (select coalesce(sum(size_bytes), 0) from skill_archives where organization_id = ${organizationId})::bigint
        + (select coalesce(sum((output ->> 'sizeBytes')::bigint), 0)
        from build_jobs
        where organization_id = ${organizationId} and output ->> 'key' is not null)::bigint as stored_bytes,
      coalesce(sum(reserved_bytes) filter (where organization_id = ${organizationId}), 0)::bigint as staged_bytes,
      coalesce(sum(reserved_bytes), 0)::bigint as all_staged_bytes
    from (
      select organization_id, reserved_bytes from uploads where writer is not null and writing_until > now()
      union all select organization_id, reserved_bytes from files where stored_at is null and writing_until > now()
      union all select organization_id, reserved_bytes from skill_archives where writing_until > now()) arriving`,
  )
}

/**
 * Refuses a file beyond the organization's share, or on a disk that is nearly full. An organization that stores little
 * may go closer to the floor than one that stores much, so that one organization cannot take the last room.
 * @throws BerthError rate_limited, capacity_unavailable.
 */
export async function checkFileRoom(config: Config, held: FilesHeld, wantedBytes: number): Promise<void> {
  const room = await diskRoom(config, filesFolder(config))
  const bytesMax = shareOf(config, room)
  const heldBytes = held.storedBytes + held.stagedBytes
  if (heldBytes + wantedBytes > bytesMax) {
    throw new BerthError(
      'rate_limited',
      `Your organization’s files take ${mib(heldBytes)} MiB, this one may take ${mib(wantedBytes)} MiB more, and ${mib(bytesMax)} MiB is the limit. Delete backups and files that nobody needs; uploads and artifacts go when they expire; the operator can raise BERTH_ORG_FILES_GB.`,
      { retryAfterSeconds },
    )
  }
  const keptBytes = room.floorBytes * (heldBytes + wantedBytes > limits.uploadBytes ? 2 : 1)
  if (room.freeBytes - held.allStagedBytes - wantedBytes < keptBytes) throw diskFull()
}

/**
 * Checks that there is room for an upload of at most so many bytes, in the transaction that reserves it. Uploads begin one
 * after the other, so that the counts are exact.
 * @throws BerthError rate_limited, capacity_unavailable.
 */
export async function reserveFileRoom(config: Config, tx: Tx, organizationId: string, bytesMax: number): Promise<void> {
  await findOne(tx, sql`select pg_advisory_xact_lock(${lockNumbers.uploadRoom})`)
  const held = await filesHeld(tx, organizationId)
  if (held.stagedBytes + bytesMax > limits.stagedBytesPerOrganization)
    throw new BerthError(
      'rate_limited',
      `Your organization has uploads in progress that may store ${mib(held.stagedBytes)} MiB, and this one may store ${mib(bytesMax)} MiB more; the limit is ${mib(limits.stagedBytesPerOrganization)} MiB. Wait for one of them to end. A request with a Content-Length counts with that size only.`,
      { retryAfterSeconds: 10 },
    )
  if (held.allStagedBytes + bytesMax > limits.stagedBytes)
    throw new BerthError(
      'capacity_unavailable',
      'Too many files are being uploaded at the moment. Try again in a few seconds.',
      { retryAfterSeconds: 10 },
    )
  await checkFileRoom(config, held, bytesMax)
}

/** How many bytes of files an organization may still store; infinite without a limit. */
export async function fileBytesLeft(
  { config, db }: { config: Config; db: Db },
  organizationId: string,
): Promise<number> {
  const { storedBytes, stagedBytes } = await filesHeld(db, organizationId)
  return Math.max(0, shareOf(config, await diskRoom(config, filesFolder(config))) - storedBytes - stagedBytes)
}

/** How many bytes of files one organization may have. */
function shareOf({ orgFilesGb, s3 }: Config, room: DiskRoom): number {
  if (orgFilesGb !== null) return orgFilesGb === 0 ? Infinity : orgFilesGb * bytesPerGib
  return s3 ? Infinity : Math.max(room.totalBytes * usualShare, limits.stagedBytesPerOrganization)
}

/** The error for a disk that is nearly full. */
export function diskFull(): BerthError {
  return new BerthError(
    'capacity_unavailable',
    'The disk of this node is nearly full, so nothing large is stored and no VM starts until there is room. Delete what is not needed, or ask your operator to make room.',
    { retryAfterSeconds },
  )
}

/** Whether the free space on this folder's disk is below the floor. */
export async function isBelowFloor(config: Config, folder: string): Promise<boolean> {
  const { freeBytes, floorBytes } = await diskRoom(config, folder)
  return freeBytes < floorBytes
}

/** The folder of files, and of uploads that are not complete yet. */
export function filesFolder({ dataDir }: Pick<Config, 'dataDir'>): string {
  return join(dataDir, 'objects')
}

function mib(bytes: number): number {
  return Math.ceil(bytes / bytesPerMib)
}
