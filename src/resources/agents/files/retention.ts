/** Removing files that are no longer there for anybody: deleted ones, expired ones, and uploads that were given up. */
import type { Retention } from '#src/platform/jobs/upkeep.ts'
import { sweep } from '#src/platform/jobs/sweeps.ts'
import { findAll, sql } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import { agentFileLimits } from './limits.ts'
import { discardFile } from './receiving.ts'
import type { StoredFile } from './rows.ts'

/** Removes them, with their bytes. For housekeeping. */
export async function forgetFiles(services: Pick<Background, 'config' | 'db' | 'sealer'>): Promise<void> {
  await sweep(
    'a file',
    (batchMax, stuckIds) =>
      findAll<Pick<StoredFile, 'id' | 'organizationId'>>(
        services.db,
        sql`
      select id, organization_id from files
      where (expires_at < now() or deleted_at is not null
          or (stored_at is null and writing_until < now() - ${agentFileLimits.abandonedSeconds} * interval '1 second'))
        and id <> all(${stuckIds}::uuid[]) order by id limit ${batchMax}`,
      ),
    (file) => discardFile(services, file),
  )
}

/** How long files stay. */
export const fileRetention: readonly Retention[] = [
  {
    what: 'Files of agents',
    until: 'when they expire, with their bytes after they were deleted or given up',
    forget: forgetFiles,
  },
]
