/** Downloads of backups: signed URLs of the object store, which serves them by ranges to whoever has one. */
import { objectStore } from '#src/drivers/objects.ts'
import { allow, allowIn, owned } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { backupKey, backupRows, ofDatabase, type Backup } from './rows.ts'

/** How long a URL is valid. A download that has begun by then goes on to its end. */
const urlSeconds = 3600

/**
 * A URL that serves the file of a backup for an hour; null until the backup is completed, and for whoever may not restore it,
 * since the file holds the whole database.
 */
export async function downloadUrlOf(call: Call, backup: Backup): Promise<string | null> {
  return backup.status === 'completed' && mayRestore(call, backup) ? sign(call, backup) : null
}

function mayRestore({ caller }: Call, { organizationId }: Backup): boolean {
  try {
    allowIn(caller, 'restore:write', organizationId)
    return true
  } catch (error) {
    if (error instanceof BerthError) return false
    throw error
  }
}

/**
 * The same for a backup by its public id and that of its database.
 * @throws BerthError not_found, not_permitted_for_role; backup_not_usable until it is completed.
 */
export async function getDownloadUrl(call: Call, databaseId: string, backupId: string): Promise<string> {
  const scope = allow(call.caller, 'restore:write')
  const backup = await backupRows.read(call.db, backupId, sql`${owned(scope)} and ${ofDatabase(databaseId)}`)
  if (backup.status !== 'completed')
    throw new BerthError(
      'backup_not_usable',
      `This backup is ${backup.status}, so there is no file of it. Take one that is completed.`,
    )
  return sign(call, backup)
}

function sign(call: Call, backup: Backup): Promise<string> {
  const fileName = `${encodeId('backup', backup.id)}.dump`
  return objectStore(call).signedUrl('GET', backupKey(backup), { expiresInSeconds: urlSeconds, fileName })
}
