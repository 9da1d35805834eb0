/** The roles of a backup: those that the owner of its database had made on the server. */
import { change, findOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import type { OwnersRole } from '#src/resources/infra/databases/roles.ts'

/** Stores them beside a backup, with which they go; in place of those of an earlier attempt. */
export async function storeBackupRoles(
  { db, sealer }: Pick<Background, 'db' | 'sealer'>,
  backupId: string,
  roles: readonly OwnersRole[],
): Promise<void> {
  if (roles.length === 0) return
  const sealed = sealer.seal(JSON.stringify(roles), placeOf(backupId))
  await change(
    db,
    sql`insert into database_backup_roles (backup_id, sealed) values (${backupId}, ${sealed})
      on conflict (backup_id) do update set sealed = excluded.sealed`,
  )
}

/** The roles of a backup; none for one of an earlier version. */
export async function findBackupRoles(
  { db, sealer }: { db: Db; sealer: Background['sealer'] },
  backupId: string,
): Promise<OwnersRole[]> {
  const found = await findOne<{ sealed: Buffer }>(
    db,
    sql`select sealed from database_backup_roles where backup_id = ${backupId}`,
  )
  return found ? (JSON.parse(sealer.open(found.sealed, placeOf(backupId))) as OwnersRole[]) : [] // sealed by storeBackupRoles
}

function placeOf(backupId: string): string {
  return `database_backup_roles.sealed:${backupId}`
}
