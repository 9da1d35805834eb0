/**
 * Runs builds: each in a machine of its own that is gone afterwards. A build is taken up once; whoever finds one that
 * nobody works on ends it as lost, and never starts it again.
 */
import type { Machine, MachineSpec } from '#src/drivers/compute/machine.ts'
import { pushEnv } from '#src/drivers/compute/guest-env.ts'
import { decoded } from '#src/drivers/compute/guest-repos.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import { onNode } from '#src/platform/jobs.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { patiently } from '#src/platform/patience.ts'
import { claimBuild, dispatchBuilds } from '#src/resources/infra/build-dispatch.ts'
import { dispatchJob, runBuildJob } from '#src/resources/infra/build-jobs.ts'
import { findBuildRow, type Build } from '#src/resources/infra/build-rows.ts'
import { openBuildSecrets } from '#src/resources/infra/build-secrets.ts'
import { openSource } from '#src/resources/infra/build-sources.ts'
import { openSpec } from '#src/resources/infra/build-specs.ts'
import { finishBuild, isFinished, type Ending } from '#src/resources/infra/build-states.ts'
import { openBuildUsage } from '#src/resources/infra/build-usage.ts'
import { machineTemplate } from '#src/resources/infra/templates.ts'
import { createBuildLogWriter } from './build-log-writers.ts'
import { checkOut } from './build-checkouts.ts'
import { buildMachineId, forgetCache, returnMachine, takeCache } from './build-machines.ts'
import { keepOutput } from './build-outputs.ts'
import { isNoRoom, noRoom, watchRoom } from './build-room.ts'
import { BuildEnd, failed, insideCheckout, runStep, type BuildRun } from './build-runs.ts'
import type { VmWork } from './vms.ts'

/** More than any node has memory for; the dispatcher decides how many really run. */
const buildsAtOnce = 32
const cacheFolder = '/home/user/workspace/cache'
/** Where tools keep what they have fetched, when the build has a cache. */
const cacheEnv = { CACHE_DIR: cacheFolder, npm_config_cache: `${cacheFolder}/npm`, PIP_CACHE_DIR: `${cacheFolder}/pip`, GOMODCACHE: `${cacheFolder}/go` }

/** The builds that run in this worker now, by id. */
export type ActiveBuilds = Set<string>

/** Handles the node's builds, and the turns of everybody's. */
export async function handleBuilds(work: VmWork, active: ActiveBuilds): Promise<void> {
  const { jobs } = work.services
  await jobs.handle(onNode(runBuildJob, work.nodeId), { concurrency: buildsAtOnce }, ({ data, signal }) => runBuild(work, active, data.buildId, signal))
  await jobs.handle(dispatchJob, { concurrency: 1 }, async () => void (await dispatchBuilds(work.services)))
}

/** Runs one build to its end. Does nothing when somebody had taken it up before. */
async function runBuild(work: VmWork, active: ActiveBuilds, buildId: string, stopping: AbortSignal): Promise<void> {
  if (active.has(buildId)) return
  active.add(buildId) // before it is taken up, or housekeeping could take it for a lost one
  try {
    const build = await claimBuild(work.services.db, buildId, work.nodeId)
    if (build) await runClaimed(work, build, stopping)
  } finally {
    active.delete(buildId)
  }
}

async function runClaimed(work: VmWork, build: Build, stopping: AbortSignal): Promise<void> {
  const over = new AbortController()
  const stop = (ending: Ending): void => over.abort(new BuildEnd(ending))
  const onStopping = (): void => stop({ status: 'failed', error: 'builder_lost' })
  const timer = setTimeout(() => stop({ status: 'failed', error: 'timed_out' }), build.timeoutSeconds * 1000)
  stopping.addEventListener('abort', onStopping, { once: true })
  const secrets: string[] = []
  const writer = createBuildLogWriter(work.services.db, build.id, () => secrets, onStopping)
  const watching = Promise.all([watchForCancel(work, build, over), watchRoom(work.services.config.dataDir, over.signal, () => stop(noRoom))])
  try {
    const ending = await perform({ work, build, log: writer, over: over.signal }, secrets).catch((error: unknown) => endingOf(build, error))
    if (ending.error) writer.say(sentences[ending.error] ?? ending.error)
    else if (ending.status === 'cancelled') writer.say('Cancelled.')
    await patiently(() => returnMachine(work, build, ending.status === 'succeeded'))
    await writer.flush()
    await patiently(() => finishBuild(work.services, build.id, ending, ['running']))
    log.info({ build: encodeId('build', build.id), status: ending.status }, 'a build ended')
  } finally {
    clearTimeout(timer)
    stopping.removeEventListener('abort', onStopping)
    over.abort(new BuildEnd({ status: 'failed', error: 'builder_lost' })) // ends what still watches
    await watching
  }
}

/** What the log says for an error that is a word. */
const sentences: Readonly<Record<string, string>> = {
  timed_out: 'The time of this build is over; it was stopped.',
  builder_lost: 'The machine of this build was lost.',
}

/** From nothing to the output. @throws BuildEnd, or whatever went wrong on our side. */
async function perform(parts: Pick<BuildRun, 'work' | 'build' | 'log' | 'over'>, secrets: string[]): Promise<Ending> {
  const { work, build, log: writer, over } = parts
  const { services } = work
  const spec = openSpec(services.sealer, build)
  const values = await openBuildSecrets(services, build, spec.secrets)
  secrets.push(...Object.values(values), ...credentialsOf(openSource(services.sealer, build)?.url ?? ''))
  const missing = spec.secrets.find((name) => !(name in values))
  if (missing) throw failed(`The secret ${missing} was deleted after the build was queued.`)
  writer.say('Waiting for a machine')
  const deadlineMs = performance.now() + build.timeoutSeconds * 1000
  over.throwIfAborted()
  const { machine, hasCache } = await takeMachine(work, build, spec.cache)
  await patiently(() => openBuildUsage(services.db, services, build))
  const run: BuildRun = { ...parts, spec, machine, deadlineMs }
  await checkOut(run)
  const folder = /^https?:/.test(spec.context) ? await insideCheckout(run, '.', 'context') : await insideCheckout(run, spec.context, 'context')
  await pushEnv(machine, { CI: 'true', ...(hasCache ? cacheEnv : {}), ...spec.env, ...values })
  if (hasCache) await runStep(run, folder, ['mkdir', '-p', cacheFolder])
  for (const [index, command] of spec.commands.entries()) {
    writer.say(`$ ${command}`)
    // One stream, so that what is printed keeps its order; a shell of its own, as `exec` gives a command in a VM.
    const { exitCode } = await runStep(run, folder, ['/bin/bash', '-c', 'exec 2>&1; exec /bin/bash -lc "$1"', 'build', command])
    if (exitCode !== 0) throw failed(`Command ${index + 1} ended with exit code ${exitCode}.`, { exitCode, failingStep: index + 1 })
  }
  const output = await keepOutput(run)
  return { status: 'succeeded', exitCode: 0, output }
}

async function takeMachine(work: VmWork, build: Build, wantsCache: boolean): Promise<{ machine: Machine; hasCache: boolean }> {
  const id = buildMachineId(build.id)
  const hasCache = wantsCache && build.repoKey !== null
  work.egress.setPolicy(id, { type: 'unrestricted' })
  const take = async (folder: MachineSpec['folder']): Promise<Machine> => (await work.compute.take({
    id, template: machineTemplate(build.templateId), vcpuCount: build.vcpuCount, memoryMb: build.memoryMb, diskMb: limits.buildDiskMb, hostname: 'build', folder,
  })).machine
  const cache = hasCache ? await takeCache(work, build) : null
  if (!cache) return { machine: await take(hasCache ? 'new' : 'none'), hasCache }
  try {
    return { machine: await take(cache), hasCache }
  } catch (error) {
    log.warn({ err: error, build: encodeId('build', build.id) }, 'a build’s cache could not be used; it is made anew')
    await forgetCache(work, build)
    return { machine: await take('new'), hasCache }
  }
}

/** Stops the build when its row says so. */
async function watchForCancel({ services }: VmWork, build: Build, over: AbortController): Promise<void> {
  const notices = services.pubsub.subscribe('build', build.id, over.signal)
  for (;;) {
    const row = await findBuildRow(services.db, build.id).catch((error: Error) => {
      log.warn({ reason: error.message }, 'whether a build was cancelled could not be read; it is read again with the next notice')
      return undefined
    })
    if (row?.cancelRequested) return over.abort(new BuildEnd({ status: 'cancelled' }))
    if (row && isFinished(row)) return over.abort(new BuildEnd({ status: 'failed', error: 'builder_lost' }))
    if ((await notices.next()).done) return
  }
}

/** How a build ends after this error. One of ours is told of in the process's log, and not to the caller. */
function endingOf(build: Build, error: unknown): Ending {
  if (error instanceof BuildEnd) return error.ending
  if (error instanceof BerthError && error.code === 'vm_unreachable') return { status: 'failed', error: 'builder_lost' }
  if (error instanceof BerthError) return { status: 'failed', error: error.message }
  if (isNoRoom(error)) {
    log.warn({ err: error, build: encodeId('build', build.id) }, 'a build found no room on this node')
    return noRoom
  }
  log.error({ err: error, build: encodeId('build', build.id) }, 'a build failed on our side')
  return { status: 'failed', error: 'The build failed on our side. Try again; if it stays, ask your operator to look at the worker’s log.' }
}

/** What of an address is secret. */
function credentialsOf(url: string): string[] {
  const parsed = URL.parse(url)
  const parts = [parsed?.password ?? '', parsed?.password ? '' : (parsed?.protocol === 'ssh:' ? '' : parsed?.username ?? ''), parsed?.search.slice(1) ?? ''].filter(Boolean)
  return parts.flatMap((part) => [part, decoded(part)])
}
