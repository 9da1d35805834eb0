/** Build jobs: submit, read, list, cancel. The work itself is done by a node: see workers/infra/builds.ts. */
import {
  allow,
  allowAnywhere,
  allowIn,
  closedToVmTokens,
  owned,
  type Caller,
  type Scope,
} from '#src/platform/access.ts'
import type { Permission } from '#src/platform/access/permissions.ts'
import { allowInGiven } from '#src/platform/access/organizations.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import type { ListWindow } from '#src/platform/nouns.ts'
import type { Direction, Page } from '#src/platform/pages.ts'
import { change, findOne, getOne, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import { checkStorage } from '#src/platform/metrics/rooms.ts'
import type { Call } from '#src/platform/services.ts'
import { hasTextOf, type Searched, type TextFilter } from '#src/platform/shapes/text-filters.ts'
import { objectStore } from '#src/drivers/objects.ts'
import { dispatchJob } from './builds/jobs.ts'
import {
  buildRows,
  findBuildRow,
  type Build,
  type BuildOutput,
  type BuildStatus,
  type ShownBuild,
} from './builds/rows.ts'
import { checkBuildSecrets } from './builds/secrets.ts'
import { readSource } from './builds/sources.ts'
import { readSpec, readSpecBytes, sealSpec, type BuildSpec } from './builds/specs.ts'
import { addBuildEvent, finishBuild, isFinished } from './builds/states.ts'
import { findOwnLink } from './code-host/rows.ts'
import { readTemplate } from './templates.ts'
import { useUpload } from './uploads.ts'
import { refuseWiderReach } from './vms/reach.ts'

/** The input to submit a build: the spec as an object or as bytes; absent and null mean the default. */
export type BuildOrder = {
  organizationId?: string | null
  spec?: unknown
  specBytes?: unknown
  repoUrl?: string | null
  gitRef?: string | null
  commitSha?: string | null
}

const retryAfterSeconds = 10
const outputUrlSeconds = 3600

/**
 * Queues a build.
 * @throws BerthError 400 for an invalid order, 403 when the caller may not build there, 429 build_quota_exceeded.
 */
export async function createBuild(call: Call, order: BuildOrder): Promise<Build> {
  const scope = allowInGiven(call.caller, 'builds:write', order.organizationId)
  await spendSubmission(call, scope)
  return submitBuild(call, scope, order)
}

/** Queues a build that is counted already, inside the transaction of `call.db` if it is one. @throws BerthError as createBuild. */
export async function submitBuild(call: Call, scope: Scope, order: Omit<BuildOrder, 'organizationId'>): Promise<Build> {
  await refuseWiderReach(call.db, scope)
  const id = newUuid()
  const spec = readEither(order)
  if (spec.output.type === 'function') allowDeployment(call.caller, scope.organizationId)
  const source = readSource(call.sealer, id, order)
  const role = scope.role ?? 'member' // submitted by an API key
  await checkBuildSecrets(call.db, scope.organizationId, role, spec.secrets)
  const { orgMemoryMb } = call.config
  if (orgMemoryMb && spec.resources.memory_mb > orgMemoryMb)
    throw new BerthError(
      'invalid_spec',
      `spec.resources requests ${spec.resources.memory_mb} MB of memory, and an organization may use ${orgMemoryMb} MB here (BERTH_ORG_MEMORY_MB). Request less.`,
    )
  await checkStorage(call, scope.organizationId, 'logs')
  return transaction(call.db, async (tx) => {
    await checkContext({ ...call, db: tx }, scope, spec, source.repoUrl !== null)
    await checkQueue(tx, scope)
    await checkTemplates(tx, scope, spec)
    const template = await readTemplate(tx, scope, spec.template)
    const link = source.repoUrl === null ? undefined : await findOwnLink(tx, call.config, scope, sql`for key share`)
    const build = await getOne<Build>(
      tx,
      sql`
      insert into build_jobs (id, organization_id, created_by, key_id, submitted_role, status, repo_url, sealed_source, repo_key,
        git_ref, commit_sha, sealed_spec,
        template_id, vcpu_count, memory_mb, timeout_seconds, output_type, output_name, event_position, code_host_link_id)
      values (${id}, ${scope.organizationId}, ${scope.userId}, ${scope.keyId}, ${role}, 'queued', ${source.repoUrl},
        ${source.sealedSource}, ${source.repoKey}, ${source.gitRef}, ${source.commitSha}, ${sealSpec(call.sealer, id, spec)},
        ${template.id}, ${spec.resources.vcpu}, ${spec.resources.memory_mb}, ${spec.timeout_seconds}, ${spec.output.type},
        ${spec.output.name}, 1, ${link?.id ?? null})
      returning *`,
    )
    await addBuildEvent(tx, build)
    await call.jobs.enqueue(tx, dispatchJob, {})
    return build
  })
}

/** The build of this id. @throws BerthError not_found; forbidden when its organization is not the caller's. */
export async function getBuild(call: Call, publicId: string): Promise<Build> {
  return readableBuild(call, publicId, 'builds:read')
}

/** How builds are found. */
export const buildSearch: Searched = {
  type: 'Build',
  may: 'builds:read',
  table: 'build_jobs',
  title: sql`output_name`,
  texts: [sql`repo_url`, sql`git_ref`],
  whose: owned,
}

/** Conditions of a list of builds. */
export type BuildFilter = TextFilter & { statuses?: readonly BuildStatus[] | null }

/** The organization's builds, newest first: 200 at most at once. @throws BerthError invalid_request. */
export async function pageBuilds(
  call: Call,
  window: ListWindow,
  filter?: BuildFilter | null,
  direction?: Direction,
): Promise<Page<ShownBuild>> {
  const scope = allow(call.caller, 'builds:read')
  const statuses = filter?.statuses ?? null
  const mine = statuses ? sql`${owned(scope)} and status = any(${statuses}::text[])` : owned(scope)
  const chosen = sql`${mine} and ${hasTextOf(buildSearch, filter)}`
  return buildRows.page(call.db, { ...window, most: limits.buildListMax }, chosen, direction)
}

/** The builds of these stored ids, of the caller's organizations. */
export async function findBuilds(call: Call, ids: readonly string[]): Promise<ShownBuild[]> {
  return buildRows.find(call.db, ids, owned(allowAnywhere(call.caller, 'builds:read')))
}

/**
 * Cancels a build: a queued one immediately; a running one is asked to stop, and is cancelled when its machine is gone;
 * one that has ended stays as it is.
 * @throws BerthError not_found, forbidden.
 */
export async function cancelBuild(call: Call, publicId: string): Promise<Build> {
  const { id, organizationId, outputType } = await readableBuild(call, publicId, 'builds:write')
  if (outputType === 'function') allowDeployment(call.caller, organizationId)
  return transaction(call.db, async (tx) => {
    const build = await getOne<Build>(tx, sql`select * from build_jobs where id = ${id} for no key update`)
    if (build.status === 'queued')
      return (await finishBuild({ db: tx, jobs: call.jobs }, id, { status: 'cancelled' })) ?? build
    if (isFinished(build) || build.cancelRequested) return build
    const asked = await getOne<Build>(
      tx,
      sql`update build_jobs set cancel_requested = true, event_position = event_position + 1 where id = ${id} returning *`,
    )
    await addBuildEvent(tx, asked)
    return asked
  })
}

/** A URL that serves the build's output for an hour; null when it has no file. */
export async function outputUrl(call: Call, { key, name, type }: BuildOutput): Promise<string | null> {
  return (
    key &&
    objectStore(call).signedUrl('GET', key, {
      expiresInSeconds: outputUrlSeconds,
      fileName: type === 'template' ? name : `${name}.tar.gz`,
    })
  )
}

/**
 * The build, if the caller has this permission for it.
 * @throws BerthError not_found; forbidden for another organization's.
 */
export async function readableBuild(call: Call, publicId: string, permission: Permission): Promise<Build> {
  if (call.caller.kind === 'nobody') throw call.caller.refusal
  const id = decodeId('build', publicId)
  const build = id && (await findBuildRow(call.db, id))
  if (!build) throw notFound('build')
  allowIn(call.caller, permission, build.organizationId)
  return build
}

function readEither({ spec, specBytes }: Pick<BuildOrder, 'spec' | 'specBytes'>): BuildSpec {
  if (spec !== undefined && spec !== null && specBytes !== undefined && specBytes !== null)
    throw new BerthError('invalid_spec', 'Give the spec as an object or as bytes, not both.')
  return spec !== undefined && spec !== null ? readSpec(spec) : readSpecBytes(specBytes)
}

/** A build that deploys needs the right to deploy, now and when it ends. */
function allowDeployment(caller: Caller, organizationId: string): void {
  if (caller.kind === 'person' && caller.vmId !== null) throw closedToVmTokens('functions')
  allowIn(caller, 'functions:write', organizationId)
}

/** With a repository, the context is a folder in it; without one, it is an upload of the organization, or nothing, for commands that need no files. */
async function checkContext(
  call: Call,
  scope: Scope,
  { context, builder }: BuildSpec,
  hasRepo: boolean,
): Promise<void> {
  const isUrl = /^https?:\/\//.test(context)
  if (hasRepo && isUrl)
    throw new BerthError(
      'invalid_spec',
      'spec.context must be a folder of the repository; leave repo_url out to build an upload.',
    )
  if (!hasRepo && !isUrl && (builder === 'static' || context !== '.'))
    throw new BerthError(
      'invalid_request',
      'The build has no source: name a repository in repo_url, or the binary_url of an upload in spec.context.',
    )
  if (isUrl && !(await useUpload(call, scope.organizationId, context)))
    throw new BerthError('invalid_spec', 'spec.context must be the binary_url of an upload of this organization.')
}

/** Counts a build that is submitted. @throws BerthError build_quota_exceeded. */
export async function spendSubmission(
  { limiter }: Pick<Call, 'limiter'>,
  scope: Pick<Scope, 'organizationId'>,
): Promise<void> {
  try {
    await limiter.spend(`builds:${scope.organizationId}`, limits.buildsPerMinute)
  } catch (error) {
    if (!(error instanceof BerthError) || error.code !== 'rate_limited') throw error
    throw new BerthError(
      'build_quota_exceeded',
      `An organization may submit at most ${limits.buildsPerMinute} builds a minute. Try again soon.`,
      error.details,
    )
  }
}

/** Submissions of one organization are serialized here, so that the count is exact. */
async function checkQueue(tx: Tx, scope: Scope): Promise<void> {
  await change(tx, sql`select 1 from organizations where id = ${scope.organizationId} for no key update`)
  const { queued } = (await findOne<{ queued: number }>(
    tx,
    sql`select count(*) as queued from build_jobs where ${owned(scope)} and status = 'queued'`,
  )) ?? { queued: 0 }
  if (queued >= limits.buildsQueuedMax)
    throw new BerthError(
      'build_quota_exceeded',
      `${limits.buildsQueuedMax} builds of this organization are queued, which is the limit. Wait until some have run, or cancel one.`,
      { retryAfterSeconds },
    )
}

/**
 * A template exists until another one of its name replaces it, so this limits the names of an organization's templates.
 */
async function checkTemplates(tx: Tx, { organizationId }: Scope, { output }: BuildSpec): Promise<void> {
  if (output.type !== 'template') return
  const { others } = await getOne<{ others: number }>(
    tx,
    sql`select count(*) as others from templates where organization_id = ${organizationId} and deleted_at is null and name <> ${output.name}`,
  )
  if (others >= limits.templatesMax)
    throw new BerthError(
      'build_quota_exceeded',
      `Your organization has ${limits.templatesMax} templates, which is the limit. Build again under the name of one of them.`,
      { retryAfterSeconds },
    )
}
