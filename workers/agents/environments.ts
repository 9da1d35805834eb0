/** Starts the VMs of environments on their node, and prepares each once: packages, then the setup script. */
import { execInGuest, type GuestResult } from '#src/drivers/compute/guest/exec.ts'
import type { Compute } from '#src/drivers/compute/machine.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import { onNode } from '#src/platform/jobs.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { createMasker, type Masker } from '#src/platform/masking.ts'
import { transaction } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import type { VmConfig } from '#src/resources/agents/environments/configs.ts'
import { findEnvironmentRow, type Environment } from '#src/resources/agents/environments/rows.ts'
import { setupSteps, type SetupStep } from '#src/resources/agents/environments/setup.ts'
import { becomeReady, moveEnvironment } from '#src/resources/agents/environments/states.ts'
import { prepareEnvironment } from '#src/resources/agents/environments/vms.ts'
import { noticeOrLater } from '#src/resources/agents/notices.ts'
import { openSecretVariables } from '#src/resources/infra/vms/variables.ts'
import { moveTowards } from '#src/resources/infra/vms/lifecycle.ts'
import { findVmRow, lockVmRow, type Vm } from '#src/resources/infra/vms/rows.ts'
import { machineId } from '../infra/machine-specs.ts'
import type { VmWork } from '../infra/vms.ts'
import { relevantLines } from '#src/platform/texts.ts'

const environmentsAtOnce = 6
const lookAgainMs = 2_000
/** How many characters of a failed step's output are shown to the owner. */
const shownOutput = 1_000

/** Why an environment cannot be used, as a sentence for its owner. */
class SetupFailed extends Error {}

/** There is no room to start the VM that it has. */
class NoRoom extends Error {}

/** Handles the node's jobs of environments. */
export async function handleEnvironments({
  services,
  compute,
  nodeId,
}: Pick<VmWork, 'services' | 'compute' | 'nodeId'>): Promise<void> {
  await services.jobs.handle(
    onNode(prepareEnvironment, nodeId),
    { concurrency: environmentsAtOnce },
    ({ data, signal }) => prepare(services, compute, data.environmentId, signal),
  )
}

/** Works until the environment is ready or in error. Does nothing for one that is not starting, or is deleted. */
async function prepare(services: Background, compute: Compute, id: string, signal: AbortSignal): Promise<void> {
  const environment = await findEnvironmentRow(services.db, id)
  if (environment?.status !== 'provisioning' || !environment.vmId) return
  try {
    const vm = await bringUp(services, environment, environment.vmId, signal)
    if (environment.preparedVmId !== vm.id) await runSteps(services, compute, environment, vm, signal)
    await transaction(services.db, (tx) => becomeReady(tx, id))
  } catch (error) {
    if (signal.aborted) throw error // the worker stops: the job runs again elsewhere, or later
    if (!(error instanceof SetupFailed))
      log.warn({ environment: encodeId('environment', id), err: error }, 'an environment could not be prepared')
    if (error instanceof NoRoom) {
      // Its VM stopped meanwhile and released its room. The environment is as before, so the next use starts it again.
      await transaction(services.db, (tx) => moveEnvironment(tx, id, 'ready', error.message))
      return
    }
    const reason =
      error instanceof SetupFailed || error instanceof BerthError ? error.message : 'Its VM could not be prepared.'
    await transaction(services.db, (tx) => moveEnvironment(tx, id, 'error', reason))
  }
}

/** Waits until the VM is running; starts it once if it is stopped, paused or in error. @throws SetupFailed, NoRoom. */
async function bringUp(services: Background, { id }: Environment, vmId: string, signal: AbortSignal): Promise<Vm> {
  const late = AbortSignal.timeout(limits.environmentBootSecondsMax * 1000)
  const heard = new AbortController()
  const heardOrLater = noticeOrLater(
    services.pubsub.subscribe('vm', vmId, AbortSignal.any([signal, late, heard.signal])),
    lookAgainMs,
  )
  let started = false
  try {
    for (;;) {
      const vm = await findVmRow(services.db, vmId)
      if (!vm || vm.status === 'deleting' || vm.status === 'deleted')
        throw new SetupFailed('Its VM was deleted. The next use creates a new one.')
      if (vm.status === 'running') return vm
      if (late.aborted)
        throw new SetupFailed(
          `Its VM did not start within ${limits.environmentBootSecondsMax} s.${vm.statusReason ? ` ${vm.statusReason}` : ''}`,
        )
      signal.throwIfAborted()
      const atRest = vm.status === 'stopped' || vm.status === 'paused' || vm.status === 'error'
      if (atRest && (started || (vm.status === 'error' && vm.startedAt === null)))
        throw new SetupFailed(`Its VM could not be started: ${vm.statusReason ?? 'its node gave no reason'}`)
      if (atRest) started = await start(services, vm)
      else await heardOrLater()
      if ((await findEnvironmentRow(services.db, id))?.status !== 'provisioning')
        throw new SetupFailed('It was archived or deleted meanwhile.')
    }
  } finally {
    heard.abort()
  }
}

/** @throws NoRoom saying which limit was reached. */
async function start(services: Background, { id }: Vm): Promise<boolean> {
  try {
    return await transaction(services.db, async (tx) => {
      const vm = await lockVmRow(tx, id)
      return vm !== undefined && (await moveTowards(services, tx, vm, 'running')) !== undefined
    })
  } catch (error) {
    if (error instanceof BerthError) throw new NoRoom(error.message)
    throw error
  }
}

async function runSteps(
  services: Background,
  compute: Compute,
  environment: Environment,
  vm: Vm,
  signal: AbortSignal,
): Promise<void> {
  const endMs = performance.now() + limits.setupSecondsMax * 1000
  for (const step of setupSteps(environment.config as VmConfig)) {
    // an environment with a VM has a VM config
    const machine = compute.find(machineId(vm))
    if (!machine || (await findEnvironmentRow(services.db, environment.id))?.status !== 'provisioning')
      throw new SetupFailed('Its VM ended while it was being prepared.')
    const leftMs = Math.floor(endMs - performance.now())
    if (leftMs <= 0) throw new SetupFailed(tooLong(step))
    const result = await execInGuest(machine, { argv: step.argv, as: step.as, timeoutMs: leftMs }, signal)
    if (result.timedOut) throw new SetupFailed(tooLong(step))
    if (result.exitCode !== 0)
      throw new SetupFailed(failed(step, result, createMasker(await openSecretVariables(services, vm.id))))
  }
}

function tooLong({ what }: SetupStep): string {
  return `Preparing its VM took longer than ${limits.setupSecondsMax} s; it was stopped at ${what}.`
}

function failed({ what }: SetupStep, { exitCode, stdout, stderr }: GuestResult, masker: Masker): string {
  const output = relevantLines(masker.text(stderr.trim() || stdout.trim()), shownOutput)
  return `Preparing its VM failed: ${what} ended with exit code ${exitCode}${output ? `, and printed: ${output}` : '.'}`
}
