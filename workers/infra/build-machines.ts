/** A build's machine after the build: removed, its cache given back; and after a restart of the worker: what was lost is ended. */
import { onNode } from '#src/platform/jobs.ts'
import { log } from '#src/platform/log.ts'
import { encodeId } from '#src/platform/ids.ts'
import { findAll, sql, transaction } from '#src/platform/postgres.ts'
import { addBuildCache, dropBuildCache, forgetIdleCaches, isBuildCache, releaseBuildCache, releaseStaleCaches, takeBuildCache } from '#src/resources/infra/build-caches.ts'
import { claimedBuilds } from '#src/resources/infra/build-dispatch.ts'
import { runBuildJob } from '#src/resources/infra/build-jobs.ts'
import type { Build } from '#src/resources/infra/build-rows.ts'
import { finishBuild } from '#src/resources/infra/build-states.ts'
import { markTemplateRemoved, unusedTemplates } from '#src/resources/infra/templates.ts'
import type { VmWork } from './vms.ts'

/** A build that was given to this node and not taken up after so long gets its job again. Unit: seconds. */
const unclaimedSeconds = 20
const flushTimeoutMs = 15_000
const batchMax = 100

/** The machine's name: the build's id without its prefix. */
export function buildMachineId(buildId: string): string {
  return encodeId('build', buildId).slice('bld_'.length)
}

/** The cache's disk when this build may have it; null when it gets a fresh disk. */
export async function takeCache({ services: { db } }: VmWork, build: Build): Promise<{ folderId: string } | null> {
  const folderId = await takeBuildCache(db, build)
  return folderId === null ? null : { folderId }
}

/** Removes a cache with which no machine comes up. */
export async function forgetCache({ services: { db }, compute }: VmWork, build: Build): Promise<void> {
  await compute.destroy(buildMachineId(build.id))
  const folderId = await dropBuildCache(db, build.id)
  if (folderId) await compute.removeFolder(folderId)
}

/**
 * Removes a build's machine. Its second disk stays when it is the repository's cache, or becomes it: the first build's
 * fresh disk does. Idempotent.
 */
export async function returnMachine(work: VmWork, build: Build, succeeded: boolean): Promise<void> {
  const { compute, egress, services: { db } } = work
  const id = buildMachineId(build.id)
  const machine = compute.find(id)
  const folderId = machine?.folderId ?? (await compute.residents()).find((resident) => resident.id === id)?.folderId ?? null
  if (machine && folderId && succeeded) await flushDisks(work, id)
  egress.dropMachine(id)
  await compute.destroy(id)
  if (!folderId) return releaseBuildCache(db, build.id)
  const isCache = (await isBuildCache(db, folderId)) || (succeeded && build.repoKey !== null && (await addBuildCache(db, build, folderId)))
  if (!isCache) await compute.removeFolder(folderId)
  await releaseBuildCache(db, build.id)
}

/** What the guest has written reaches its disk; without this a cache would end with whatever the guest had flushed by itself. */
async function flushDisks({ compute }: VmWork, id: string): Promise<void> {
  const channel = await compute.find(id)?.run({ argv: ['sync'], as: 'root', timeoutMs: flushTimeoutMs })
  channel?.stdout.resume()
  channel?.stderr.resume()
  await channel?.exit.catch((error: Error) => log.debug({ reason: error.message }, 'a build’s disks were not flushed'))
}

/** After a restart: the builds that ran here are lost. Their machines go, and their rows say so. */
export async function endLostBuilds(work: VmWork, active: ReadonlySet<string> = new Set()): Promise<void> {
  for (const build of await claimedBuilds(work.services.db, work.nodeId)) {
    if (active.has(build.id)) continue
    log.warn({ build: encodeId('build', build.id) }, 'a build was lost')
    await returnMachine(work, build, false)
    const ending = build.cancelRequested ? { status: 'cancelled' } as const : { status: 'failed', error: 'builder_lost' } as const
    await finishBuild(work.services, build.id, ending, ['running'])
  }
  await releaseStaleCaches(work.services.db, work.nodeId, [...active])
}

/** Ends builds that this worker forgot, and wakes those whose job was lost. For housekeeping. */
export async function stirBuilds(work: VmWork, active: ReadonlySet<string>): Promise<void> {
  await endLostBuilds(work, active)
  const { db, jobs } = work.services
  await transaction(db, async (tx) => {
    const waiting = await findAll<Pick<Build, 'id'>>(tx, sql`
      select id from build_jobs where node_id = ${work.nodeId} and status = 'running' and claimed_at is null
        and started_at < now() - ${unclaimedSeconds} * interval '1 second' order by id limit ${batchMax}`)
    for (const { id } of waiting) await jobs.enqueue(tx, onNode(runBuildJob, work.nodeId), { buildId: id })
  })
}

/** Removes disks that nothing needs any more: caches that were not used for long, and replaced templates. */
export async function sweepBuildDisks(work: VmWork): Promise<void> {
  const { db } = work.services
  for (const folderId of await forgetIdleCaches(db, work.nodeId)) await work.compute.removeFolder(folderId)
  for (const templateId of await unusedTemplates(db, work.nodeId)) {
    await work.compute.removeTemplate(templateId)
    await markTemplateRemoved(db, templateId)
  }
}
