/** Storing a new version: what is sent is checked as a whole, packed anew, and stored, and then callers see it. */
import { newUuid } from '#src/platform/ids.ts'
import { BerthError } from '#src/platform/errors.ts'
import { log } from '#src/platform/log.ts'
import { getOne, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { discardArchive, keepArchive, reserveArchive, storeArchive, type Archive } from './archives.ts'
import { readSkillFolder, type SentFile, type SkillFolder } from './folders.ts'
import { skillLimits } from './limits.ts'
import { versionColumns, type SkillVersion } from './rows.ts'
import { writeZip } from './zip.ts'
import { checkStorage } from '#src/platform/metrics/rooms.ts'

/** What was sent: the files, and what else was said. */
export type SentSkill = { files: SentFile[]; displayName: string | null }

/** How many uploads this process has in memory, by organization. */
const receiving = new Map<string, number>()

/** A version that is stored, and not yet seen by anybody. */
export type NewVersion = { archive: Archive; folder: SkillFolder; displayName: string | null; sizeBytes: number }

/**
 * Receives a version.
 * @param bytesMax how much may arrive.
 * @param receive reads what is sent.
 * @param finish makes the rows that callers see, with `insertVersion`.
 * @throws BerthError invalid_request, rate_limited, capacity_unavailable, timeout; whatever `receive` and `finish` throw.
 * Nothing is kept then.
 */
export async function receiveVersion<Made>(
  call: Call,
  organizationId: string,
  bytesMax: number,
  receive: () => Promise<SentSkill>,
  finish: (tx: Tx, version: NewVersion) => Promise<Made>,
): Promise<Made> {
  await checkStorage(call, organizationId, 'definitions')
  const archive: Archive = { id: newUuid(), organizationId }
  const leave = enter(organizationId)
  try {
    await reserveArchive(call, archive, Math.min(bytesMax, skillLimits.bytes + skillLimits.formBytes))
    try {
      const { files, displayName } = await receive()
      const folder = await readSkillFolder(files)
      const bytes = await writeZip(folder.files.map((file) => ({ ...file, path: `${folder.name}/${file.path}` })))
      await storeArchive(call, archive, bytes)
      const version = { archive, folder, displayName: readDisplayName(displayName), sizeBytes: bytes.length }
      return await transaction(call.db, (tx) => finish(tx, version))
    } catch (error) {
      await discardArchive(call, archive).catch((failure: Error) =>
        log.warn({ reason: failure.message }, 'the archive of a skill that was refused is removed later'),
      )
      throw error
    }
  } finally {
    leave()
  }
}

/** Adds the row of a version. @throws BerthError timeout. */
export async function insertVersion(
  tx: Tx,
  skillId: string,
  { archive, folder, sizeBytes }: NewVersion,
): Promise<SkillVersion> {
  await keepArchive(tx, archive, sizeBytes)
  const files = folder.files.map(({ path, bytes }) => ({ path, size_bytes: bytes.length }))
  const unpackedBytes = files.reduce((sum, file) => sum + file.size_bytes, 0)
  return getOne<SkillVersion>(
    tx,
    sql`insert into skill_versions (id, skill_id, name, description, instructions, files, unpacked_bytes, archive_bytes)
    values (${archive.id}, ${skillId}, ${folder.name}, ${folder.description}, ${folder.instructions},
      ${JSON.stringify(files)}::jsonb, ${unpackedBytes}, ${sizeBytes})
    returning ${versionColumns}`,
  )
}

function enter(organizationId: string): () => void {
  const mine = receiving.get(organizationId) ?? 0
  const all = [...receiving.values()].reduce((sum, count) => sum + count, 0)
  if (mine >= skillLimits.receivedAtOncePerOrganization)
    throw new BerthError(
      'rate_limited',
      'Your organization is uploading as many skills as it may at once. Try again when one of the uploads has ended.',
      { retryAfterSeconds: 5 },
    )
  if (all >= skillLimits.receivedAtOnce)
    throw new BerthError(
      'capacity_unavailable',
      'Too many skills are being uploaded at the moment. Try again in a few seconds.',
      { retryAfterSeconds: 5 },
    )
  receiving.set(organizationId, mine + 1)
  return () => {
    const left = (receiving.get(organizationId) ?? 1) - 1
    if (left > 0) receiving.set(organizationId, left)
    else receiving.delete(organizationId)
  }
}

function readDisplayName(given: string | null): string | null {
  if (given === null) return null
  if (
    given.trim() !== '' &&
    given.length <= skillLimits.displayNameLength &&
    !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(given)
  )
    return given
  throw new BerthError(
    'invalid_request',
    `display_name must be one line of 1 to ${skillLimits.displayNameLength} characters. Leave it out to show the name in SKILL.md.`,
    { field: 'display_name' },
  )
}
