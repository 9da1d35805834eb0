/** A build job's row, and its queries. */
import type { Role } from '#src/platform/access/permissions.ts'
import { rowsOf } from '#src/platform/nouns.ts'
import { findOne, getOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'

/** Terminal: succeeded, failed, cancelled. */
export type BuildStatus = 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled'

/** What a build produces: `artifact` and `function` are files in the object store, `template` is for VMs. */
export type OutputType = 'artifact' | 'template' | 'function'

/** What a build has deployed: the function, and which version of it. Ids are stored uuids. */
export type DeployedVersion = { functionId: string; versionId: string; number: number }

/**
 * The output of a build. `key` names the file in the object store; `templateId` is a stored uuid; `deployed` is absent when
 * it deployed nothing.
 */
export type BuildOutput = {
  type: OutputType
  name: string
  key: string | null
  templateId: string | null
  sizeBytes: number
  sha256: string | null
  deployed?: DeployedVersion
}

/** How a build ended. `error` is `timed_out`, `builder_lost`, `no_capacity`, or a sentence; `failingStep` counts commands from 1. */
export type Ending = {
  status: 'succeeded' | 'failed' | 'cancelled'
  error?: string | null
  exitCode?: number | null
  failingStep?: number | null
  output?: BuildOutput | null
}

/** A build as it is stored; times are RFC 3339 text, ids are uuids. */
export type Build = Row<
  'build_jobs',
  { submittedRole: Role | null; status: BuildStatus; outputType: OutputType; output: BuildOutput | null }
>

/** A build as lists read it: without the large columns that only its worker and its log need. */
export type ShownBuild = Omit<Build, 'sealedSource' | 'sealedSpec' | 'tail'>

/** The columns of a ShownBuild. */
const shownColumns = sql`
  id, organization_id, created_by, key_id, submitted_role, status, repo_url, repo_key, git_ref, commit_sha, template_id,
  vcpu_count, memory_mb, timeout_seconds, output_type, output_name,
  error, exit_code, failing_step, output, cancel_requested, node_id, queued_at, started_at, claimed_at, finished_at, log_end_ms, log_end_seq, event_position`

/** Builds as lists show them. */
export const buildRows = rowsOf<ShownBuild>('build', 'build_jobs', 'build', shownColumns)

/** What happened to a build: positions grow by one and resume a subscription. */
export type BuildEvent = Row<'build_events', { status: BuildStatus }>

/** The build, whoever owns it: for workers. */
export async function findBuildRow(db: Db, id: string): Promise<Build | undefined> {
  return findOne<Build>(db, sql`select * from build_jobs where id = ${id}`)
}

/** The last lines of a build's log, kept permanently; none until it has ended. */
export async function readTail(db: Db, id: string): Promise<string[]> {
  return (await getOne<Pick<Row<'build_jobs'>, 'tail'>>(db, sql`select tail from build_jobs where id = ${id}`)).tail
}
