/**
 * The stages of a build. The number of completed stages is stored with the log; the next worker starts with the first
 * incomplete one, so each stage can be repeated or continued.
 */
import { pushEnv } from '#src/drivers/compute/guest/env.ts'
import { decoded } from '#src/drivers/compute/guest/repos.ts'
import type { MachineSpec } from '#src/drivers/compute/machine.ts'
import { encodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { log as processLog } from '#src/platform/log.ts'
import { patiently } from '#src/platform/patience.ts'
import type { Ending } from '#src/resources/infra/builds/rows.ts'
import { keepBuildSecrets, openKeptSecrets, type ClaimedBuild } from '#src/resources/infra/builds/runs.ts'
import { openBuildSecrets } from '#src/resources/infra/builds/secrets.ts'
import { openSource } from '#src/resources/infra/builds/sources.ts'
import { openBuildUsage } from '#src/resources/infra/usage.ts'
import { machineTemplate } from '#src/resources/infra/templates.ts'
import { waitForTemplate } from '../vms/templates.ts'
import { checkOut, fetchUpload, isUpload } from './checkouts.ts'
import { buildMachineId, forgetCache, takeCache } from './machines.ts'
import { keepOutput } from './outputs.ts'
import {
  ask,
  begin,
  failed,
  insideCheckout,
  machineOf,
  persevere,
  runStep,
  type BuildRun,
  type StageEnd,
} from './runs.ts'

const cacheFolder = '/home/user/workspace/cache'
/** The environment variables that point tools to the cache, if the build has one. */
const cacheEnv = {
  CACHE_DIR: cacheFolder,
  npm_config_cache: `${cacheFolder}/npm`,
  PIP_CACHE_DIR: `${cacheFolder}/pip`,
  GOMODCACHE: `${cacheFolder}/go`,
}

/** Runs the remaining stages up to the output. @throws BuildEnd, what `over` fires with, or our own faults. */
export async function runRemainingStages(
  run: BuildRun,
  { sealedSecrets }: Pick<ClaimedBuild, 'sealedSecrets'>,
): Promise<Ending> {
  const { spec, log } = run
  const values = await giveSecrets(run, sealedSecrets)
  const stages: ((run: BuildRun) => Promise<StageEnd>)[] = [
    takeMachine,
    fetchUpload,
    checkOut,
    (one) => prepare(one, values),
    ...spec.commands.map((command, index) => (one: BuildRun) => runCommand(one, command, index + 1)),
  ]
  for (const [index, stage] of stages.entries()) {
    if (index < log.progress.stage) continue
    run.over.throwIfAborted()
    const { change, line } = await stage(run)
    log.endOutput({ stage: index + 1, begunBy: null, attempt: 0, ...change }, line)
  }
  return { status: 'succeeded', exitCode: 0, output: await keepOutput(run) }
}

/** The values of the build's secrets, as they were when it first started. From now on the log masks them. */
async function giveSecrets(
  { work: { services }, build, claim, spec, log }: BuildRun,
  sealed: Buffer | null,
): Promise<Record<string, string>> {
  const values = sealed
    ? openKeptSecrets(services, build.id, sealed)
    : await patiently(() => openBuildSecrets(services, build, spec.secrets))
  log.hide([...Object.values(values), ...credentialsOf(openSource(services.sealer, build)?.url ?? '')])
  const missing = spec.secrets.find((name) => !(name in values))
  if (missing) throw failed(`The secret ${missing} was deleted after the build was queued.`)
  if (!sealed) await patiently(() => keepBuildSecrets(services, claim, values))
  return values
}

async function takeMachine(run: BuildRun): Promise<StageEnd> {
  const { work, build, spec, log, over } = run
  await begin(run, 'Waiting for a machine')
  const template = machineTemplate(build.templateId)
  await waitForTemplate(work.templates, template, (sentence) => log.say(sentence), over)
  const id = buildMachineId(build.id)
  const hasCache = spec.cache && build.repoKey !== null
  work.egress.setPolicy(id, { type: 'unrestricted' })
  const take = async (folder: MachineSpec['folder']): Promise<void> =>
    void (await work.compute.take({
      id,
      template,
      vcpuCount: build.vcpuCount,
      memoryMb: build.memoryMb,
      diskMb: limits.buildDiskMb,
      hostname: 'build',
      folder,
    }))
  const cache = hasCache ? await patiently(() => takeCache(work, build)) : null
  over.throwIfAborted()
  try {
    await take(cache ?? (hasCache ? 'new' : 'none'))
  } catch (error) {
    if (!cache) throw error
    processLog.warn(
      { err: error, build: encodeId('build', build.id) },
      'a build’s cache could not be used; it is made anew',
    )
    await forgetCache(work, build)
    await take('new')
  }
  await patiently(() => openBuildUsage(work.services.db, work.services, build))
  return { change: { hasCache } }
}

/** Prepares the commands' environment: the folder, the variables, the cache. */
async function prepare(run: BuildRun, values: Readonly<Record<string, string>>): Promise<StageEnd> {
  const {
    spec,
    log: {
      progress: { hasCache },
    },
  } = run
  const folder = await insideCheckout(run, isUpload(run) ? '.' : spec.context, 'context')
  await persevere(run, () =>
    pushEnv(machineOf(run), { CI: 'true', ...(hasCache ? cacheEnv : {}), ...spec.env, ...values }),
  )
  if (hasCache) await ask(run, 'mkdir -p "$1"', [cacheFolder])
  return { change: { folder } }
}

async function runCommand(run: BuildRun, command: string, number: number): Promise<StageEnd> {
  await begin(run, `$ ${command}`)
  // a shell of its own, as `exec` uses for a command in a VM
  const { exitCode } = await runStep(run, `command-${number}`, run.log.progress.folder ?? '/', [
    '/bin/bash',
    '-lc',
    command,
  ])
  if (exitCode !== 0)
    throw failed(`Command ${number} ended with exit code ${exitCode}.`, { exitCode, failingStep: number })
  return {}
}

/** The secret parts of a URL. */
function credentialsOf(url: string): string[] {
  const parsed = URL.parse(url)
  const parts = [
    parsed?.password ?? '',
    parsed?.password ? '' : parsed?.protocol === 'ssh:' ? '' : (parsed?.username ?? ''),
    parsed?.search.slice(1) ?? '',
  ].filter(Boolean)
  return parts.flatMap((part) => [part, decoded(part)])
}
