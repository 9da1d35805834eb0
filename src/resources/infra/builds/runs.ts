/**
 * How far a running build is, for the worker that goes on with it. One worker of its node has it at a time: each has a
 * larger number than the one before, and what is written under a smaller one is refused.
 */
import type { RawBuilder } from 'kysely'
import { change, findAll, findOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Build, Ending } from './rows.ts'

/** A worker's right to go on with a build. */
export type BuildClaim = { buildId: string; workerNumber: number }

/**
 * How far a build is. It is stored together with the log's lines, so that a stage is neither left out nor done again, and
 * no byte of its output is lost or written twice.
 */
export type BuildProgress = {
  /** How many stages are done, and which worker began the next one; null: nobody yet. */
  stage: number
  begunBy: number | null
  /** How often the stage was begun anew, because a worker's end had cut its connections. */
  attempt: number
  /** Where commands run, once that is known; whether the machine has a cache; the template that its disk is being kept as. */
  folder: string | null
  hasCache: boolean
  templateId: string | null
  /** Of the running command's output: what is stored, bytes; what the masking knows there; a character's first bytes, as hexadecimal digits. */
  takenBytes: number
  maskingState: number
  cut: string
  /** Of the log: whether its last line has ended, and how many bytes it has. */
  endsLine: boolean
  keptBytes: number
  /** How it ends, once that is decided. */
  ending: Ending | null
}

/** A build that was taken up, and how long it may still take. */
export type ClaimedBuild = {
  build: Build
  claim: BuildClaim
  progress: BuildProgress
  sealedSecrets: Buffer | null
  leftMs: number
}

/** Another worker has the build, or it is over: nothing may be written, and nothing done in its machine. */
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
 * Takes up a build that runs on this worker's node, new or begun by a worker before it; undefined when it is over, or a
 * later worker has the node.
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
 * The statement that holds a build's run for the worker that has it, and notes how far it is: a part of what is written
 * under it. It answers the job's id, and no row when another worker has the build, or it is over.
 */
export function heldBuildRun({ buildId, workerNumber }: BuildClaim, progress?: BuildProgress): RawBuilder<unknown> {
  return sql`
    update build_runs set progress = ${progress === undefined ? sql`progress` : sql`${JSON.stringify(progress)}::jsonb`}
    where job_id = ${buildId} and worker_number = ${workerNumber} returning job_id`
}

/** Keeps the values of a build's secrets as they are now. @throws BuildClaimLost */
export async function keepBuildSecrets(
  { db, sealer }: Pick<Background, 'db' | 'sealer'>,
  { buildId, workerNumber }: BuildClaim,
  values: Readonly<Record<string, string>>,
): Promise<void> {
  const kept = await change(
    db,
    sql`
    update build_runs set sealed_secrets = ${sealer.seal(JSON.stringify(values), placeOf(buildId))} where job_id = ${buildId} and worker_number = ${workerNumber}`,
  )
  if (kept === 0) throw new BuildClaimLost()
}

/** The values that were kept. */
export function openKeptSecrets(
  { sealer }: Pick<Background, 'sealer'>,
  buildId: string,
  sealed: Buffer,
): Record<string, string> {
  return JSON.parse(sealer.open(sealed, placeOf(buildId))) as Record<string, string> // sealed by keepBuildSecrets
}

/** The builds that run on a node. */
export async function buildsOfNode(db: Db, nodeId: string): Promise<string[]> {
  return (
    await findAll<Pick<Row<'build_jobs'>, 'id'>>(
      db,
      sql`select id from build_jobs where node_id = ${nodeId} and status = 'running' order by id limit ${batchMax}`,
    )
  ).map(({ id }) => id)
}

/** Those of them that are not at work: taken up by a worker before, or given to the node so many seconds ago and not taken up. */
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
      and (started_at <= now() - ${unclaimedSeconds} * interval '1 second' or exists (select from build_runs where job_id = b.id)) order by id limit ${batchMax}`,
  )
  return idle.map(({ id }) => id)
}

/** Forgets a build's run, when its build ends. @param claim ends it only for the worker that has it. @returns false when another one has it. */
export async function endBuildRun(tx: Tx, buildId: string, claim: BuildClaim | undefined): Promise<boolean> {
  const ended = await change(
    tx,
    sql`delete from build_runs where job_id = ${buildId} and (${claim?.workerNumber ?? null}::bigint is null or worker_number = ${claim?.workerNumber ?? null})`,
  )
  return ended > 0 || claim === undefined
}

function placeOf(buildId: string): string {
  return `build_runs.secrets:${buildId}`
}
