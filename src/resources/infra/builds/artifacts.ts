/** Deleting old files of builds. Those that a version of a function runs from stay, and templates are kept. */
import type { Retention } from '#src/platform/jobs/upkeep.ts'
import { objectStore } from '#src/drivers/objects.ts'
import { change, findAll, sql, transaction } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import { sweep } from '#src/platform/jobs/sweeps.ts'

const unnamed = sql`not exists (select from function_versions v where v.object_key = b.output ->> 'key')`

/**
 * Deletes the files of builds that ended BERTH_ARTIFACT_DAYS ago (0 keeps them), except those that a version of a function
 * runs from. The build's row still describes them. For housekeeping.
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
    select id, output ->> 'key' as key from build_jobs b
    where output ->> 'key' is not null and finished_at < now() - ${artifactDays} * interval '1 day' and ${unnamed} and id <> all(${stuckIds}::uuid[])
    order by finished_at limit ${batchMax}`,
      ),
    async ({ id, key }) => {
      await transaction(db, async (tx) => {
        // Whoever deploys it meanwhile waits for this transaction, and then finds no file. Who was first is seen by the
        // next statement.
        await change(tx, sql`select 1 from build_jobs where id = ${id} for update`)
        const forgotten = await change(
          tx,
          sql`update build_jobs b set output = output || '{"key": null}' where id = ${id} and ${unnamed}`,
        )
        if (forgotten > 0) await objectStore(services).remove(key)
      })
    },
  )
}

/** How long files of builds stay. */
export const artifactRetention: readonly Retention[] = [
  {
    what: 'Files of builds',
    until: '`BERTH_ARTIFACT_DAYS` days after the end of the build, unless a version of a function runs from it',
    forget: forgetOldArtifacts,
  },
]
