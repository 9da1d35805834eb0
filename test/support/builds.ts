/** Builds for tests: specs as bytes, builds that exist only as rows, logs read as streams. */
import { sql, type Db } from '#src/platform/postgres.ts'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { dispatchBuilds } from '#src/resources/infra/builds/dispatch.ts'
import { findBuildRow } from '#src/resources/infra/builds/rows.ts'
import { claimBuild, type BuildClaim, type ClaimedBuild } from '#src/resources/infra/builds/runs.ts'
import { startBerth, type Berth } from './berth.ts'
import { idsOf, makeSilentNode } from './makers.ts'
import { until } from './until.ts'

/** A build job as REST answers it. */
export type Job = {
  id: string
  organization_id: string
  status: string
  repo_url: string | null
  git_ref: string | null
  commit_sha: string | null
  error: string | null
  queued_at: string
  started_at: string | null
  finished_at: string | null
  cancel_requested: boolean
  exit_code: number | null
}
/** A log entry as REST answers it. */
export type Entry = { id: string; output: string; done: boolean }

/** A value's JSON as a list of bytes. */
export const bytes = (value: unknown): number[] => [...Buffer.from(JSON.stringify(value))]

/** The public id of the organization that a token names. */
export function organizationOf(token: string): string {
  return encodeId('organization', idsOf(token).organizationId)
}

/** A Berth with a node that runs nothing: builds are only rows. */
export async function startWithoutBuilder(
  rateLimitFactor = '100',
): Promise<{ berth: Berth; token: string; node: string }> {
  const berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: rateLimitFactor } })
  return { berth, token: await berth.token(), node: await makeSilentNode(berth.services.db) }
}

/** Submits a build and returns its job. */
export async function submit(
  berth: Berth,
  token: string,
  spec: unknown = {},
  rest: Record<string, unknown> = {},
): Promise<Job> {
  const { status, body } = await berth.call<Job>('POST', '/api/v1/build/jobs', {
    token,
    body: { org_id: organizationOf(token), spec: bytes(spec), ...rest },
  })
  if (status !== 201) throw new Error(`a build was not taken: ${status} ${JSON.stringify(body)}`)
  return body
}

/** The stored uuid of a job. */
export function uuidOf({ id }: Pick<Job, 'id'>): string {
  return decodeId('build', id) ?? ''
}

/** Submits a build and gives it a node, as a worker's dispatcher would; no worker runs it. */
export async function submitRunning(berth: Berth, token: string): Promise<Job> {
  const job = await submit(berth, token)
  await dispatchBuilds(berth.services)
  return job
}

/** Claims a running build, as the first worker of its node. */
export async function claimOf(db: Db, buildId: string): Promise<BuildClaim> {
  return (await takeUp(db, buildId)).claim
}

/** The same, with everything that its worker is told. */
export async function takeUp(db: Db, buildId: string): Promise<ClaimedBuild> {
  const build = await findBuildRow(db, buildId)
  const claimed = await claimBuild(db, buildId, { nodeId: build?.nodeId ?? '', workerNumber: 0 })
  if (!claimed) throw new Error('a running build could not be taken up')
  return claimed
}

/** Waits until a build has ended. @returns its final job and its whole output. */
export async function finished(
  berth: Berth,
  token: string,
  { id }: Pick<Job, 'id'>,
  limitMs: number,
): Promise<{ job: Job; log: string }> {
  const read = async (): Promise<Job> => (await berth.call<Job>('GET', `/api/v1/build/jobs/${id}`, { token })).body
  await until(
    `build ${id} is over`,
    async () => ['succeeded', 'failed', 'cancelled'].includes((await read()).status),
    limitMs,
    250,
  ) // 600 requests a minute are allowed
  const answer = await berth.call<{ logs: Entry[] }>('GET', `/api/v1/build/jobs/${id}/logs?limit=5000`, { token })
  if (answer.status !== 200) throw new Error(`the log of ${id}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return { job: await read(), log: answer.body.logs.map(({ output }) => output).join('') }
}

/** Reads that many events of a stream, or all until it ends: their ids and data, without heartbeats. */
export async function readEvents(answer: Response, most = Infinity): Promise<Entry[]> {
  const entries: Entry[] = []
  let rest = ''
  for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + chunk).split('\n\n')
    rest = parts.pop() ?? ''
    for (const part of parts) {
      const [, id, data] = /^id: (.*)\ndata: (.*)$/.exec(part) ?? []
      if (data === undefined) continue
      const entry = JSON.parse(data) as Entry
      if (entry.id !== id) throw new Error(`an event has two ids: ${part}`)
      entries.push(entry)
      if (entries.length >= most) return entries
    }
  }
  return entries
}

/** Removes all builds and their rows, so that the next test starts clean. */
export async function clearBuilds(berth: Berth): Promise<void> {
  await sql`delete from build_caches`.execute(berth.services.db)
  await sql`delete from usage_sessions where build_job_id is not null`.execute(berth.services.db)
  await sql`update function_versions set build_id = null`.execute(berth.services.db)
  await sql`delete from build_jobs`.execute(berth.services.db)
}
