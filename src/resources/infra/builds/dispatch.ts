/**
 * Scheduling: which build runs next. Organizations take turns: the one with the fewest running builds first, then the
 * one served longest ago, then the one waiting longest. An organization runs at most four at once.
 */
import { BerthError } from '#src/platform/errors.ts'
import { onNode } from '#src/platform/jobs.ts'
import type { NodeUpkeep, Upkeep } from '#src/platform/jobs/upkeep.ts'
import { limits } from '#src/platform/limits.ts'
import { lockNumbers } from '#src/platform/locks/lock-numbers.ts'
import { findAll, findOne, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import { runBuildJob } from './jobs.ts'
import type { Build } from './rows.ts'
import { finishBuild, moveBuild } from './states.ts'
import { nodeLostSeconds } from '#src/resources/infra/nodes.ts'
import { reserveRoom, roomOfBuild } from '#src/resources/infra/organization-room.ts'

const perRunMax = 100
const organizationsMax = 200
const batchMax = 100

type Candidate = Pick<Build, 'id' | 'organizationId' | 'memoryMb' | 'repoKey' | 'outputType'> & {
  templateNodeId: string | null
}

/** Assigns queued builds to nodes and enqueues their run jobs, as many as there is room for. @returns how many. */
export async function dispatchBuilds({
  config,
  db,
  jobs,
}: Pick<Background, 'config' | 'db' | 'jobs'>): Promise<number> {
  for (let given = 0; given < perRunMax; given++) {
    const moved = await transaction(db, async (tx) => {
      await findOne(tx, sql`select pg_advisory_xact_lock(${lockNumbers.buildDispatch})`)
      for (const candidate of await candidates(tx)) {
        const nodeId = await nodeFor({ config }, tx, candidate)
        if (!nodeId) continue // a smaller build of another organization may fit; this one is tried again next time
        const build = await moveBuild(tx, candidate.id, 'running', sql`node_id = ${nodeId}, started_at = now()`)
        if (!build) continue // cancelled meanwhile
        await jobs.enqueue(tx, onNode(runBuildJob, nodeId), { buildId: build.id })
        return true
      }
      return false
    })
    if (!moved) return given
  }
  return perRunMax
}

/** The oldest queued build of each organization that may run another one, in scheduling order. */
async function candidates(tx: Tx): Promise<Candidate[]> {
  return findAll(
    tx,
    sql`
    select b.id, b.organization_id, b.memory_mb, b.repo_key, b.output_type, t.node_id as template_node_id
    from (select distinct on (organization_id) * from build_jobs where status = 'queued' order by organization_id, queued_at, id) b
    join templates t on t.id = b.template_id
    cross join lateral (select count(*) as running from build_jobs r where r.organization_id = b.organization_id and r.status = 'running') now
    cross join lateral (select max(started_at) as served_at from build_jobs s where s.organization_id = b.organization_id and s.started_at is not null) turn
    where now.running < ${limits.buildsRunningMax}
    order by now.running, turn.served_at nulls first, b.queued_at, b.id limit ${organizationsMax}`,
  )
}

/** The node where it can run now; null while there is no room for it, or its organization has used up its share. */
async function nodeFor(settings: Pick<Background, 'config'>, tx: Tx, build: Candidate): Promise<string | null> {
  try {
    return (await reserveRoom(settings, tx, build.organizationId, roomOfBuild(build), build.templateNodeId)).id
  } catch (error) {
    if (error instanceof BerthError && (error.code === 'capacity_unavailable' || error.code === 'rate_limited'))
      return null
    throw error
  }
}

/**
 * Fails builds that no worker handles any more: those of lost nodes (60 s), and those that waited for an hour. For
 * housekeeping.
 * @param except the caller's own node, which is alive even if it had no time for a heartbeat.
 */
export async function endStrandedBuilds(
  services: Pick<Background, 'db' | 'jobs'>,
  except: string | null = null,
): Promise<void> {
  const lost = await findAll<Pick<Build, 'id'>>(
    services.db,
    sql`
    select b.id from build_jobs b join nodes n on n.id = b.node_id
    where b.status = 'running'
      and n.id is distinct from ${except}::uuid
      and n.heartbeat_at < now() - ${nodeLostSeconds} * interval '1 second'
    order by b.id limit ${batchMax}`,
  )
  for (const { id } of lost) await finishBuild(services, id, { status: 'failed', error: 'builder_lost' }, ['running'])
  const waited = await findAll<Pick<Build, 'id'>>(
    services.db,
    sql`
    select id
    from build_jobs
    where status = 'queued' and queued_at < now() - ${limits.buildQueuedSecondsMax} * interval '1 second'
    order by id limit ${batchMax}`,
  )
  for (const { id } of waited) await finishBuild(services, id, { status: 'failed', error: 'no_capacity' }, ['queued'])
}

/** What workers do for all builds. */
export const buildUpkeep: readonly Upkeep[] = [{ every: 20, doing: 'ending stranded builds', work: endStrandedBuilds }]

/** What each worker with VMs does for builds. */
export const buildNodeUpkeep: readonly NodeUpkeep[] = [
  { every: 2, doing: 'giving builds their turn', work: dispatchBuilds },
]
