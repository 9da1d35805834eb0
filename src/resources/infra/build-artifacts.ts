/** How long the artifacts of builds are kept. Functions and templates stay: something may run from them. */
import { objectStore } from '#src/drivers/objects.ts'
import { log } from '#src/platform/log.ts'
import { change, findAll, sql } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'

const batchMax = 100
const batchesMax = 100

/**
 * Removes the artifacts of builds that ended so many days ago (BERTH_ARTIFACT_DAYS; 0 keeps them). The build's row goes
 * on saying what there was. For housekeeping: 10,000 at once at most, and what cannot be removed now is tried again.
 */
export async function forgetOldArtifacts(services: Pick<Background, 'config' | 'db' | 'sealer'>): Promise<void> {
  const { db, config: { artifactDays } } = services
  if (artifactDays === 0) return
  const stuck: string[] = []
  for (let batch = 0; batch < batchesMax; batch++) {
    const old = await findAll<{ id: string; key: string }>(db, sql`
      select id, output ->> 'key' as key from build_jobs
      where output ->> 'type' = 'artifact' and output ->> 'key' is not null and finished_at < now() - ${artifactDays} * interval '1 day' and id <> all(${stuck}::uuid[])
      order by finished_at limit ${batchMax}`)
    for (const { id, key } of old) {
      try {
        await objectStore(services).remove(key)
        await change(db, sql`update build_jobs set output = output || '{"key": null}' where id = ${id}`)
      } catch (error) {
        log.warn({ err: error, key }, 'an old artifact was not removed; it is tried again')
        stuck.push(id)
      }
    }
    if (old.length < batchMax) return
  }
}
