/**
 * Runs builds, each in a machine of its own that is deleted afterwards. A build's commands run under its guest's own
 * supervisor, so they outlive the worker: the node's next worker continues the build.
 */
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import { onNode } from '#src/platform/jobs.ts'
import { log } from '#src/platform/log.ts'
import { patiently } from '#src/platform/patience.ts'
import { isDatabaseAway } from '#src/platform/postgres.ts'
import { finishDeployment, isDeployment } from '#src/resources/infra/functions/build-deployments.ts'
import { dispatchBuilds } from '#src/resources/infra/builds/dispatch.ts'
import { dispatchJob, runBuildJob } from '#src/resources/infra/builds/jobs.ts'
import { findBuildRow, type Build, type Ending } from '#src/resources/infra/builds/rows.ts'
import { BuildClaimLost, claimBuild, type ClaimedBuild } from '#src/resources/infra/builds/runs.ts'
import { openSpec } from '#src/resources/infra/builds/specs.ts'
import { finishBuild, isFinished } from '#src/resources/infra/builds/states.ts'
import { createBuildLogWriter, type BuildLogWriter } from './builds/log-writers.ts'
import { returnMachine } from './builds/machines.ts'
import { isNoRoom, noRoom, watchRoom } from './builds/room.ts'
import { forgetFile } from './builds/outputs.ts'
import { BuildEnd, BuildReleased } from './builds/runs.ts'
import { runRemainingStages } from './builds/stages.ts'
import type { VmWork } from './vms.ts'

/** More than any node has memory for; the dispatcher decides how many really run. */
const buildsAtOnce = 32

/** The builds that this worker is running, by id. */
export type ActiveBuilds = Set<string>

/** Handles the node's builds, and the dispatching of all builds. */
export async function handleBuilds(work: VmWork, active: ActiveBuilds): Promise<void> {
  const { jobs } = work.services
  await jobs.handle(onNode(runBuildJob, work.nodeId), { concurrency: buildsAtOnce }, ({ data, signal }) =>
    runBuild(work, active, data.buildId, signal),
  )
  await jobs.handle(dispatchJob, { concurrency: 1 }, async () => void (await dispatchBuilds(work.services)))
}

/** Runs one build to its end, or until the worker stops. Does nothing when it is already running here, or has ended. */
async function runBuild(work: VmWork, active: ActiveBuilds, buildId: string, stopping: AbortSignal): Promise<void> {
  if (active.has(buildId)) return
  active.add(buildId)
  try {
    const claimed = await patiently(() => claimBuild(work.services.db, buildId, work))
    if (claimed) await runClaimed(work, claimed, stopping)
  } catch (error) {
    if (error instanceof BuildReleased)
      log.info({ build: encodeId('build', buildId) }, 'a build is released; the next worker of this node continues it')
    else if (error instanceof BuildClaimLost) await leave(work, buildId)
    else throw error
  } finally {
    active.delete(buildId)
  }
}

async function runClaimed(work: VmWork, claimed: ClaimedBuild, stopping: AbortSignal): Promise<void> {
  const { build, claim, leftMs } = claimed
  const over = new AbortController()
  const release = (): void => over.abort(new BuildReleased())
  const lose = (): void => over.abort(new BuildClaimLost())
  const timer = setTimeout(
    () => over.abort(new BuildEnd({ status: 'failed', error: 'timed_out' })),
    Math.max(0, leftMs),
  )
  stopping.addEventListener('abort', release, { once: true })
  if (stopping.aborted) release()
  const watching = Promise.all([
    watchForCancel(work, build, over),
    watchRoom(work.services.config.dataDir, over.signal, () => over.abort(new BuildEnd(noRoom))),
  ])
  try {
    const writer = await patiently(() => createBuildLogWriter(work.services, claimed, lose))
    const spec = openSpec(work.services.sealer, build)
    const run = { work, build, claim, spec, log: writer, over: over.signal, deadlineMs: performance.now() + leftMs }
    const ending =
      claimed.progress.ending ??
      (await runRemainingStages(run, claimed).catch((error: unknown) => endingOf(build, error)))
    await end(work, claimed, writer, ending)
  } finally {
    clearTimeout(timer)
    stopping.removeEventListener('abort', release)
    over.abort(new BuildReleased()) // ends the watchers
    await watching
  }
}

/**
 * Ends a build. Its result is stored before anything is cleaned up, so that the next worker would end it in the same
 * way.
 */
async function end(
  work: VmWork,
  { build, claim }: ClaimedBuild,
  writer: BuildLogWriter,
  ending: Ending,
): Promise<void> {
  if (!writer.progress.ending) writer.endOutput({ ending }, lineOf(ending))
  await writer.flush()
  await patiently(() => returnMachine(work, build, ending.status === 'succeeded'))
  const finished = isDeployment(ending)
    ? await deploy(work, { build, claim }, writer, ending)
    : await patiently(() => finishBuild(work.services, build.id, ending, ['running'], claim))
  if (finished) log.info({ build: encodeId('build', build.id), status: finished.status }, 'a build ended')
}

/** Ends a build with a new version of its function; one that may not be deployed fails with the reason. */
async function deploy(
  work: VmWork,
  { build, claim }: Pick<ClaimedBuild, 'build' | 'claim'>,
  writer: BuildLogWriter,
  ending: Ending,
): Promise<Build | undefined> {
  const { services } = work
  const { output } = openSpec(services.sealer, build)
  try {
    return await patiently(() => finishDeployment(services, build, ending, output, claim))
  } catch (error) {
    if (!(error instanceof BerthError) || isDatabaseAway(error)) throw error
    const refused: Ending = { status: 'failed', error: error.message }
    writer.endOutput({ ending: refused }, error.message)
    await writer.flush()
    await forgetFile(work, ending)
    return patiently(() => finishBuild(services, build.id, refused, ['running'], claim))
  }
}

/** The last line of a build's log. */
function lineOf(ending: Ending): string | undefined {
  if (ending.error) return sentences[ending.error] ?? ending.error
  if (ending.status === 'cancelled') return 'Cancelled.'
  return isDeployment(ending) ? `Deploying it to the function ${ending.output?.name}` : undefined
}

/** Another worker has the build now, or it has ended: then its machine is removed. */
async function leave(work: VmWork, buildId: string): Promise<void> {
  const build = await patiently(() => findBuildRow(work.services.db, buildId))
  if (!build || !isFinished(build))
    return log.warn({ build: encodeId('build', buildId) }, 'another worker has taken over a build')
  await patiently(() => returnMachine(work, build, false))
}

/** The log lines for errors that are a single word. */
const sentences: Readonly<Record<string, string>> = {
  timed_out: 'This build reached its time limit and was stopped.',
  builder_lost: 'The machine of this build was lost.',
}

/** Stops the build when its row says so. */
async function watchForCancel({ services }: VmWork, build: Build, over: AbortController): Promise<void> {
  const notices = services.pubsub.subscribe('build', build.id, over.signal)
  for (;;) {
    const row = await findBuildRow(services.db, build.id).catch((error: Error) => {
      log.warn(
        { reason: error.message },
        'whether a build was cancelled could not be read; it is read again with the next notice',
      )
      return undefined
    })
    if (row?.cancelRequested) return over.abort(new BuildEnd({ status: 'cancelled' }))
    if (row && isFinished(row)) return over.abort(new BuildClaimLost())
    if ((await notices.next()).done) return
  }
}

/**
 * The end of a build after this error. Our own faults go to the process's log, not to the caller.
 * @throws the error when the build continues: in another worker, or here once the database is back.
 */
function endingOf(build: Build, error: unknown): Ending {
  if (error instanceof BuildReleased || error instanceof BuildClaimLost || isDatabaseAway(error)) throw error
  if (error instanceof BuildEnd) return error.ending
  if (error instanceof BerthError && error.code === 'vm_unreachable') return { status: 'failed', error: 'builder_lost' }
  if (error instanceof BerthError) return { status: 'failed', error: error.message }
  if (isNoRoom(error)) {
    log.warn({ err: error, build: encodeId('build', build.id) }, 'a build found no room on this node')
    return noRoom
  }
  log.error({ err: error, build: encodeId('build', build.id) }, 'a build failed on our side')
  return {
    status: 'failed',
    error: 'The build failed on our side. Try again; if this persists, ask your operator to look at the worker’s log.',
  }
}
