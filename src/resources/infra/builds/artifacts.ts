/** Deleting old artifacts of builds. Functions and templates are kept, because something may run from them. */
import { objectStore } from '#src/drivers/objects.ts'
import { change, findAll, sql } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import { sweep } from '#src/platform/jobs/sweeps.ts'

/**
 * Deletes the artifacts of builds that ended BERTH_ARTIFACT_DAYS ago (0 keeps them). The build's row still describes
 * them. For housekeeping.
 */
export async function forgetOldArtifacts(services: Pick<Background, 'config' | 'db' | 'sealer'>): Promise<void> {
  const {
    db,
    config: { artifactDays },
  } = services
  if (artifactDays === 0) return
  await sweep(
    'an old artifact',
    (batchMax, stuckIds) =>
      findAll<{ id: string; key: string }>(
        db,
        sql`
    select id, output ->> 'key' as key from build_jobs
    where output ->> 'type' = 'artifact' and output ->> 'key' is not null and finished_at < now() - ${artifactDays} * interval '1 day' and id <> all(${stuckIds}::uuid[])
    order by finished_at limit ${batchMax}`,
      ),
    async ({ id, key }) => {
      await objectStore(services).remove(key)
      await change(db, sql`update build_jobs set output = output || '{"key": null}' where id = ${id}`)
    },
  )
}
