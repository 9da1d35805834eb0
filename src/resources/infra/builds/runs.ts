/**
 * The progress of a running build, for a worker that continues it. One worker of its node has it at a time: each claim
 * has a larger fencing token (the worker's number), and writes under a smaller one are refused.
 */
import type { RawBuilder } from 'kysely'
import { change, findAll, findOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Build, Ending } from './rows.ts'

/** A worker's claim on a build. */
export type BuildClaim = { buildId: string; workerNumber: number }

/**
 * The progress of a build. It is stored together with the log's lines, so that no stage is skipped or repeated, and no
 * byte of output is lost or written twice.
 */
export type BuildProgress = {
  /** How many stages are done, and the worker that started the next one; null: none yet. */
  stage: number
  begunBy: number | null
  /** How often the stage was restarted because a worker's end had cut its connections. */
  attempt: number
  /**
   * The folder in which commands run, once known; whether the machine has a cache; the template that its disk is being
   * stored as.
   */
  folder: string | null
  hasCache: boolean
  templateId: string | null
  /**
   * Of the running command's output: the bytes already stored; the state of the masker there; the first bytes of an
   * incomplete character, in hexadecimal.
   */
  takenBytes: number
  maskingState: number
  cut: string
  /** Of the log: whether its last line is complete, and how many bytes it has. */
  endsLine: boolean
  keptBytes: number
  /** The build's result, once it is decided. */
  ending: Ending | null
}

/** A claimed build, and how long it may still take. */
export type ClaimedBuild = {
  build: Build
  claim: BuildClaim
  progress: BuildProgress
  sealedSecrets: Buffer | null
  leftMs: number
}

/** Another worker has the build, or it has ended: nothing may be written, and nothing done in its machine. */
export class BuildClaimLost extends Error {}

const batchMax = 1000
const firstProgress: BuildProgress = {
  stage: 0,
  begunBy: null,
  attempt: 0,
  folder: null,
  hasCache: false,
  templateId: null,
  takenBytes: 0,
  maskingState: 0,
  cut: '',
  endsLine: true,
  keptBytes: 0,
  ending: null,
}

/**
 * Claims a build on this worker's node, new or started by an earlier worker; undefined when it has ended, or a later
 * worker has the node.
 */
export async function claimBuild(
  db: Db,
  buildId: string,
  worker: { nodeId: string; workerNumber: number },
): Promise<ClaimedBuild | undefined> {
  const { nodeId, workerNumber } = worker
  return transaction(db, async (tx) => {
    const row = await findOne<Build & { leftMs: number }>(
      tx,
      sql`
      update build_jobs set claimed_at = coalesce(claimed_at, now()) where id = ${buildId} and node_id = ${nodeId} and status = 'running'
      returning *, (extract(epoch from claimed_at + timeout_seconds * interval '1 second' - now()) * 1000)::float8 as left_ms`,
    )
    if (!row) return undefined
    const run = await findOne<Pick<Row<'build_runs', { progress: BuildProgress }>, 'progress' | 'sealedSecrets'>>(
      tx,
      sql`
      insert into build_runs (job_id, worker_number, progress)
      select ${buildId}, worker_number, ${JSON.stringify(firstProgress)}::jsonb from nodes where id = ${nodeId} and worker_number = ${workerNumber}
      on conflict (job_id) do update set worker_number = excluded.worker_number where build_runs.worker_number <= excluded.worker_number
      returning progress, sealed_secrets`,
    )
    if (!run) return undefined
    const { leftMs, ...build } = row
    return { build, claim: { buildId, workerNumber }, leftMs, ...run }
  })
}

/**
 * The statement that locks a build's run for the worker that has the claim, and stores its progress. Writes under the
 * claim include it. It returns the build's id, and no row when another worker has the build, or it has ended.
 */
export function heldBuildRun({ buildId, workerNumber }: BuildClaim, progress?: BuildProgress): RawBuilder<unknown> {
  return sql`
    update build_runs set progress = ${progress === undefined ? sql`progress` : sql`${JSON.stringify(progress)}::jsonb`}
    where job_id = ${buildId} and worker_number = ${workerNumber} returning job_id`
}

/** Stores the current values of a build's secrets. @throws BuildClaimLost */
export async function keepBuildSecrets(
  { db, sealer }: Pick<Background, 'db' | 'sealer'>,
  { buildId, workerNumber }: BuildClaim,
  values: Readonly<Record<string, string>>,
): Promise<void> {
  const kept = await change(
    db,
    sql`
    update build_runs
    set sealed_secrets = ${sealer.seal(JSON.stringify(values), placeOf(buildId))}
    where job_id = ${buildId} and worker_number = ${workerNumber}`,
  )
  if (kept === 0) throw new BuildClaimLost()
}

/** The stored values of a build's secrets. */
export function openKeptSecrets(
  { sealer }: Pick<Background, 'sealer'>,
  buildId: string,
  sealed: Buffer,
): Record<string, string> {
  return JSON.parse(sealer.open(sealed, placeOf(buildId))) as Record<string, string> // sealed by keepBuildSecrets
}

/** The builds that are running on a node. */
export async function buildsOfNode(db: Db, nodeId: string): Promise<string[]> {
  return (
    await findAll<Pick<Row<'build_jobs'>, 'id'>>(
      db,
      sql`select id from build_jobs where node_id = ${nodeId} and status = 'running' order by id limit ${batchMax}`,
    )
  ).map(({ id }) => id)
}

/**
 * Running builds of a node that no worker handles: claimed by an earlier worker, or dispatched some seconds ago and
 * never claimed.
 */
export async function idleBuilds(
  db: Db,
  nodeId: string,
  active: ReadonlySet<string>,
  unclaimedSeconds: number,
): Promise<string[]> {
  const idle = await findAll<Pick<Row<'build_jobs'>, 'id'>>(
    db,
    sql`
    select id from build_jobs b where node_id = ${nodeId} and status = 'running' and id <> all(${[...active]}::uuid[])
      and (started_at <= now() - ${unclaimedSeconds} * interval '1 second' or exists (select from build_runs where job_id = b.id))
      order by id limit ${batchMax}`,
  )
  return idle.map(({ id }) => id)
}

/**
 * Deletes a build's run when the build ends.
 * @param claim restricts this to the worker that has the claim.
 * @returns false when another one has it.
 */
export async function endBuildRun(tx: Tx, buildId: string, claim: BuildClaim | undefined): Promise<boolean> {
  const ended = await change(
    tx,
    sql`
      delete from build_runs
      where job_id = ${buildId}
        and (${claim?.workerNumber ?? null}::bigint is null or worker_number = ${claim?.workerNumber ?? null})`,
  )
  return ended > 0 || claim === undefined
}

function placeOf(buildId: string): string {
  return `build_runs.secrets:${buildId}`
}
