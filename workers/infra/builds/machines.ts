/**
 * A build's machine and its cache: taking, removing and releasing them, and waking builds after a restart of the
 * worker.
 */
import { onNode } from '#src/platform/jobs.ts'
import { log } from '#src/platform/log.ts'
import { encodeId } from '#src/platform/ids.ts'
import { transaction } from '#src/platform/postgres.ts'
import {
  addBuildCache,
  dropBuildCache,
  forgetIdleCaches,
  isBuildCache,
  releaseBuildCache,
  releaseStaleCaches,
  takeBuildCache,
} from '#src/resources/infra/builds/caches.ts'
import { runBuildJob } from '#src/resources/infra/builds/jobs.ts'
import type { Build } from '#src/resources/infra/builds/rows.ts'
import { idleBuilds } from '#src/resources/infra/builds/runs.ts'
import { markTemplateRemoved, unusedTemplates } from '#src/resources/infra/templates.ts'
import type { VmWork } from '../vms.ts'

/** A build that was dispatched to this node and not claimed for so long gets a new job. Unit: seconds. */
const unclaimedSecondsMax = 20
const flushTimeoutMs = 15_000

/** The machine's name: the build's id without its prefix. */
export function buildMachineId(buildId: string): string {
  return encodeId('build', buildId).slice('bld_'.length)
}

/** The cache's disk if this build may use it; null when it gets a fresh disk. */
export async function takeCache({ services: { db } }: VmWork, build: Build): Promise<{ folderId: string } | null> {
  const folderId = await takeBuildCache(db, build)
  return folderId === null ? null : { folderId }
}

/** Removes a cache with which the machine does not start. */
export async function forgetCache({ services: { db }, compute }: VmWork, build: Build): Promise<void> {
  await compute.destroy(buildMachineId(build.id))
  const folderId = await dropBuildCache(db, build.id)
  if (folderId) await compute.removeFolder(folderId)
}

/**
 * Removes a build's machine. Its second disk stays if it is the repository's cache, or becomes it, as the first build's
 * fresh disk does. Idempotent.
 */
export async function returnMachine(work: VmWork, build: Build, succeeded: boolean): Promise<void> {
  const {
    compute,
    egress,
    services: { db },
  } = work
  const id = buildMachineId(build.id)
  const machine = compute.find(id)
  const folderId =
    machine?.folderId ?? (await compute.residents()).find((resident) => resident.id === id)?.folderId ?? null
  if (machine && folderId && succeeded) await flushDisks(work, id)
  egress.dropMachine(id)
  await compute.destroy(id)
  if (!folderId) return releaseBuildCache(db, build.id)
  const isCache =
    (await isBuildCache(db, folderId)) ||
    (succeeded && build.repoKey !== null && (await addBuildCache(db, build, folderId)))
  if (!isCache) await compute.removeFolder(folderId)
  await releaseBuildCache(db, build.id)
}

/**
 * Flushes the guest's writes to its disks; without this a cache would only have what the guest had flushed by itself.
 */
async function flushDisks({ compute }: VmWork, id: string): Promise<void> {
  const channel = await compute.find(id)?.run({ argv: ['sync'], as: 'root', timeoutMs: flushTimeoutMs })
  channel?.stdout.resume()
  channel?.stderr.resume()
  await channel?.exit.catch((error: Error) => log.debug({ reason: error.message }, 'a build’s disks were not flushed'))
}

/**
 * Enqueues a new job for each build of this node that no worker handles: those of the previous worker, and those whose job was lost.
 * @param unclaimedSeconds how long a build may wait for its own job.
 */
export async function requeueUnclaimedBuilds(
  { services: { db, jobs }, nodeId }: VmWork,
  active: ReadonlySet<string>,
  unclaimedSeconds = unclaimedSecondsMax,
): Promise<void> {
  await transaction(db, async (tx) => {
    const idle = await idleBuilds(tx, nodeId, active, unclaimedSeconds)
    for (const id of idle) await jobs.enqueue(tx, onNode(runBuildJob, nodeId), { buildId: id })
  })
  await releaseStaleCaches(db, nodeId, [...active])
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
