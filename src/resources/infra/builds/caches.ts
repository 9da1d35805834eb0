/**
 * The disk that builds of one repository and organization share on a node. Only one build uses it at a time; concurrent
 * builds run without it.
 */
import { limits } from '#src/platform/limits.ts'
import { change, findAll, findOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Build } from './rows.ts'

const idleDays = 14
const batchMax = 50

/**
 * The cache's disk for this build, if it is free or already this build's; null when there is none yet, or another build
 * has it.
 */
export async function takeBuildCache(
  db: Db,
  build: Pick<Build, 'id' | 'organizationId' | 'repoKey' | 'nodeId'>,
): Promise<string | null> {
  const whose = sql`organization_id = ${build.organizationId} and repo_key = ${build.repoKey} and node_id = ${build.nodeId}`
  const taken = await findOne<Pick<Row<'build_caches'>, 'folderId'>>(
    db,
    sql`update build_caches set job_id = ${build.id}, used_at = now() where ${whose} and coalesce(job_id, ${build.id}) = ${build.id} returning folder_id`,
  )
  return taken?.folderId ?? null
}

/**
 * Records a new disk as the cache, used by this build.
 * @returns false when another build was first, or the organization has the maximum number: then the disk is not needed.
 */
export async function addBuildCache(
  db: Db,
  build: Pick<Build, 'id' | 'organizationId' | 'repoKey' | 'nodeId'>,
  folderId: string,
): Promise<boolean> {
  return (
    (await change(
      db,
      sql`
    insert into build_caches (organization_id, repo_key, node_id, folder_id, job_id)
    select ${build.organizationId}, ${build.repoKey}, ${build.nodeId}, ${folderId}, ${build.id}
    where (select count(*) from build_caches where organization_id = ${build.organizationId}) < ${limits.buildCachesMax} on conflict do nothing`,
    )) > 0
  )
}

/** Releases the cache once the machine that used it is gone. Idempotent. */
export async function releaseBuildCache(db: Db, buildId: string): Promise<void> {
  await change(db, sql`update build_caches set job_id = null, used_at = now() where job_id = ${buildId}`)
}

/** Whether a disk is some repository's cache. */
export async function isBuildCache(db: Db, folderId: string): Promise<boolean> {
  return (await findOne(db, sql`select 1 from build_caches where folder_id = ${folderId}`)) !== undefined
}

/**
 * Releases the caches of this node whose builds were ended elsewhere, because its worker was silent and others gave
 * them up.
 */
export async function releaseStaleCaches(db: Db, nodeId: string, active: readonly string[]): Promise<void> {
  await change(
    db,
    sql`
    update build_caches c set job_id = null where node_id = ${nodeId} and job_id <> all(${active}::uuid[])
      and not exists (select 1 from build_jobs b where b.id = c.job_id and b.status = 'running')`,
  )
}

/** Deletes the record of a cache whose disk can no longer be trusted. @returns its disk, to be removed. */
export async function dropBuildCache(db: Db, buildId: string): Promise<string | undefined> {
  return (
    await findOne<Pick<Row<'build_caches'>, 'folderId'>>(
      db,
      sql`delete from build_caches where job_id = ${buildId} returning folder_id`,
    )
  )?.folderId
}

/** Deletes the records of this node's caches that were unused for two weeks. @returns their disks, to be removed. */
export async function forgetIdleCaches(db: Db, nodeId: string): Promise<string[]> {
  const idle = await findAll<Pick<Row<'build_caches'>, 'folderId'>>(
    db,
    sql`
    delete from build_caches where (organization_id, repo_key, node_id) in (
      select organization_id, repo_key, node_id
      from build_caches
      where node_id = ${nodeId} and job_id is null and used_at < now() - ${idleDays} * interval '1 day'
      order by used_at limit ${batchMax} for update skip locked) returning folder_id`,
  )
  return idle.map(({ folderId }) => folderId)
}
