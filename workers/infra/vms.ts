/**
 * Brings VMs to the desired status in their rows: the only code that starts, stops and removes machines. In this worker
 * one run at a time works on a VM; every step reads the row first and may be repeated.
 */
import { statSync } from 'node:fs'
import type { Compute, Machine } from '#src/drivers/compute/machine.ts'
import { cloneRepos } from '#src/drivers/compute/guest/repos.ts'
import { folderDiskPlace } from '#src/drivers/compute/places.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import { onNode } from '#src/platform/jobs.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { transaction } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import { addFolder } from '#src/resources/infra/folders.ts'
import type { GitRepo } from '#src/resources/infra/git-repos.ts'
import { holdsMemory } from '#src/resources/infra/organization-room.ts'
import { endTerminalsOf } from '#src/resources/infra/terminals/records.ts'
import { endProcessesOf } from '#src/resources/infra/vms/process-records.ts'
import { findVmRow, type Vm, type VmStatus } from '#src/resources/infra/vms/rows.ts'
import { endVm, reconcileVm } from '#src/resources/infra/vms/lifecycle.ts'
import { countBootFailure, explainBoot, moveVm, hostedVmStepped, type Move } from '#src/resources/infra/vms/states.ts'
import type { Egress } from '#src/drivers/compute/egress.ts'
import type { EgressAuthority } from '#src/drivers/compute/egress/authority.ts'
import { isServerUp } from './databases/recovery.ts'
import type { GuestEnv } from './guest-env.ts'
import type { Checkouts } from './machine-secrets.ts'
import { hostnameOf, machineId, specOf } from './machine-specs.ts'
import type { ProjectNetworks } from './project-networks.ts'
import { inTurns } from './turns.ts'
import { during } from './vms/startup.ts'
import { isTemplateThere, TemplateNotBuilt, type TemplateBuilds } from './vms/templates.ts'
import type { VmUse } from './vms/use.ts'

/** More steps than any VM needs from one steady status to the next. */
const stepsMax = 12
const vmsAtOnce = 6
/** The time limit for all cloning; after it the VM runs without the rest, with a warning. */
const cloneTimeoutMs = 10 * 60_000

/** What working on VMs needs. `workerNumber` is this worker's number on its node, the fencing token. */
export type VmWork = {
  services: Background
  compute: Compute
  egress: Egress
  authority: EgressAuthority
  checkouts: Checkouts
  env: GuestEnv
  networks: ProjectNetworks
  templates: TemplateBuilds
  use: VmUse
  nodeId: string
  workerNumber: number
}

/** Handles the node's reconcile jobs. */
export async function handleVms(work: VmWork): Promise<void> {
  const run = inTurns((vmId) => reconcile(work, vmId))
  const kind = onNode(reconcileVm, work.nodeId)
  await work.services.jobs.handle(kind, { concurrency: vmsAtOnce }, ({ data }) => run(data.vmId))
}

/** Works on one VM until it is steady. */
export async function reconcile(work: VmWork, vmId: string): Promise<void> {
  for (let step = 0; step < stepsMax; step++) {
    const vm = await findVmRow(work.services.db, vmId)
    if (!vm || !(await takeStep(work, vm))) return
  }
  throw new Error(`the VM ${vmId} did not become steady in ${stepsMax} steps`)
}

/** Takes the next step, if there is one; returns whether to check again. */
async function takeStep(work: VmWork, vm: Vm): Promise<boolean> {
  switch (vm.status) {
    case 'creating':
      return create(work, vm)
    case 'starting':
      return start(work, vm)
    case 'resuming':
      return resume(work, vm)
    case 'stopping':
      return rest(work, vm, stop)
    case 'pausing':
      return rest(work, vm, pause)
    case 'deleting':
      return remove(work, vm)
    case 'running':
      return keep(work, vm)
    case 'error':
      return restart(work, vm)
    case 'stopped':
    case 'paused':
    case 'deleted':
      return false
  }
}

async function create(work: VmWork, vm: Vm): Promise<boolean> {
  return attempt(work, vm, async () => {
    work.egress.setPolicy(machineId(vm), vm.networkPolicy)
    if (!(await isTemplateThere(work, vm))) return false
    const startedAt = performance.now()
    const { machine, from } = await during(work, vm, 'starting_machine', () =>
      work.compute.take(specOf(vm), noting(work, vm)),
    )
    log.info(
      { vm: encodeId('vm', vm.id), from, tookMs: Math.round((performance.now() - startedAt) * 10) / 10 },
      'a VM has its machine',
    )
    const isUp = vm.purpose !== 'database' || from === 'snapshot' || (await isServerUp(work, vm, machine)) // in a snapshot it runs already
    if (!isUp) return false
    const warnings = await prepareGuest(work, vm, machine)
    await during(work, vm, 'joining_project', () => joinProject(work, vm, machine))
    await becomeRunning(work, vm, machine, warnings)
    return true
  })
}

async function start(work: VmWork, vm: Vm): Promise<boolean> {
  return attempt(work, vm, async () => {
    work.egress.setPolicy(machineId(vm), vm.networkPolicy)
    const machine = await during(work, vm, 'starting_machine', () => work.compute.boot(specOf(vm), noting(work, vm)))
    if (vm.purpose === null) await pushEnv(work, vm, machine)
    else if (vm.purpose === 'database' && !(await isServerUp(work, vm, machine))) return false
    await during(work, vm, 'joining_project', () => joinProject(work, vm, machine))
    await becomeRunning(work, vm, machine)
    return true
  })
}

async function resume(work: VmWork, vm: Vm): Promise<boolean> {
  try {
    work.egress.setPolicy(machineId(vm), vm.networkPolicy)
    const machine = work.compute.find(machineId(vm)) ?? (await work.compute.resume(specOf(vm)))
    await joinProject(work, vm, machine)
    await becomeRunning(work, vm, machine)
  } catch (error) {
    log.warn({ vm: encodeId('vm', vm.id), err: error }, 'a paused VM could not be resumed')
    await move(work, vm, 'error', {
      reason: 'Its saved memory could not be resumed. Start it to boot from its disk.',
      wanted: 'stopped',
    })
  }
  return true
}

async function stop(work: VmWork, vm: Vm): Promise<boolean> {
  work.networks.leave(vm.id)
  await work.compute.stop(machineId(vm))
  await endProcessesOf(work.services.db, vm.id)
  await endTerminalsOf(work.services.db, vm.id)
  await move(work, vm, 'stopped', { reason: vm.statusReason })
  return true
}

/** Brings a VM to rest; where nobody has asked for that, nobody begins to use it meanwhile, even if a worker before has begun this. */
async function rest(work: VmWork, vm: Vm, how: typeof stop): Promise<boolean> {
  if (!vm.sleeps) return how(work, vm)
  await work.use.close(vm.id, async () => true)
  try {
    return await how(work, vm)
  } finally {
    work.use.open(vm.id)
  }
}

async function pause(work: VmWork, vm: Vm): Promise<boolean> {
  work.networks.leave(vm.id)
  try {
    await work.compute.pause(machineId(vm))
    await move(work, vm, 'paused', { reason: vm.sleeps ? vm.statusReason : null })
  } catch (error) {
    log.warn({ vm: encodeId('vm', vm.id), err: error }, 'a VM could not be paused')
    await move(work, vm, 'error', { reason: 'Its memory could not be saved.' })
  }
  return true
}

async function remove(work: VmWork, vm: Vm): Promise<boolean> {
  work.egress.dropMachine(machineId(vm))
  work.env.forget(vm.id)
  work.networks.leave(vm.id)
  work.use.open(vm.id)
  await work.compute.destroy(machineId(vm))
  await endVm(work.services, vm, vm.folderId ? usedMb(folderDiskPlace(work.services.config.dataDir, vm.folderId)) : 0)
  return false
}

/** The space that a disk takes, rounded up; 0 when it does not exist. Unit: MB. */
function usedMb(place: string): number {
  return Math.ceil(((statSync(place, { throwIfNoEntry: false })?.blocks ?? 0) * 512) / 1024 / 1024)
}

/** A running VM: its policy and its variables may have changed; its machine may be gone. */
async function keep(work: VmWork, vm: Vm): Promise<boolean> {
  const machine = work.compute.find(machineId(vm))
  if (!machine) return (await move(work, vm, 'error', { reason: 'Its machine ended unexpectedly.' })) !== undefined
  work.egress.setPolicy(machineId(vm), vm.networkPolicy)
  await joinProject(work, vm, machine)
  return false
}

/**
 * Restarts a failed VM that should be running from its disk, a bounded number of times; its memory is still reserved.
 */
async function restart(work: VmWork, vm: Vm): Promise<boolean> {
  work.networks.leave(vm.id)
  if (vm.purpose === 'function') return false // its function gets another one
  if (!holdsMemory(vm)) return false
  await endProcessesOf(work.services.db, vm.id)
  await endTerminalsOf(work.services.db, vm.id)
  return (await move(work, vm, 'starting', { reason: 'Starting again from its disk.' })) !== undefined
}

/** Prepares a new guest before its VM counts as running: variables and repositories. */
async function prepareGuest(work: VmWork, vm: Vm, machine: Machine): Promise<string[]> {
  if (vm.envGeneration > 0) await pushEnv(work, vm, machine)
  if (!vm.sealedGitRepos) return []
  const repos = JSON.parse(work.services.sealer.open(vm.sealedGitRepos, `vms.git_repos:${vm.id}`)) as GitRepo[] // sealed by createVm
  return during(work, vm, 'cloning_repositories', () => cloneRepos(machine, repos, cloneTimeoutMs))
}

async function pushEnv(work: VmWork, vm: Vm, machine: Machine): Promise<void> {
  await during(work, vm, 'preparing_guest', () => work.env.push(vm.id, machine, vm.envGeneration))
}

/** Lets a VM of a project reach the project's databases. Whatever fails there is tried again, and does not stop the VM. */
export function joinProject(work: VmWork, vm: Vm, machine: Machine): Promise<void> {
  return work.networks.join(vm, machine, hostnameOf(vm))
}

/** @param warnings those of a guest that was just prepared. */
async function becomeRunning(work: VmWork, vm: Vm, machine: Machine, warnings?: readonly string[]): Promise<void> {
  await transaction(work.services.db, async (tx) => {
    if (machine.folderId && !vm.folderId)
      await addFolder(tx, {
        id: machine.folderId,
        organizationId: vm.organizationId,
        userId: vm.userId,
        name: vm.name,
        nodeId: vm.nodeId,
        purpose: vm.purpose,
      })
    const { address, folderId } = machine
    await moveVm(tx, work.services, vm.id, 'running', { machine: { address, folderId, ...(warnings && { warnings }) } })
    await hostedVmStepped.run(work.services, tx, vm)
  })
}

/** Runs a boot, which returns whether to check again; failures are counted, and after three the VM is in `error`. */
async function attempt(work: VmWork, vm: Vm, boot: () => Promise<boolean>): Promise<boolean> {
  try {
    return await boot()
  } catch (error) {
    log.warn({ vm: encodeId('vm', vm.id), err: error, failures: vm.bootFailures + 1 }, 'a VM did not start')
    await work.compute.stop(machineId(vm))
    const reason = error instanceof BerthError ? error.message : 'It did not start.'
    const tries = vm.bootFailures + 1
    await countBootFailure(work.services.db, vm.id)
    if (tries >= limits.bootTriesMax || error instanceof TemplateNotBuilt) await move(work, vm, 'error', { reason })
    else
      await explain(
        work,
        vm,
        `${reason.replace(adviceToRetry, '')} Attempt ${tries + 1} of ${limits.bootTriesMax} begins.`,
      )
  }
  return true
}

/** What a node says to whoever asked for a VM, who need not do it while the worker does. */
const adviceToRetry = / Try again in a few seconds\.$/

/** What is told when a machine did not come up within an attempt, which the driver tries once more by itself. */
function noting(work: VmWork, vm: Vm): () => void {
  const attempts = `attempt ${vm.bootFailures + 1} of ${limits.bootTriesMax}`
  return () =>
    void explain(work, vm, `Its machine did not come up; it is started once more, within ${attempts}.`).catch(
      (error: unknown) => log.warn({ vm: encodeId('vm', vm.id), err: error }, 'it could not be said why a VM is late'),
    )
}

async function explain(work: VmWork, vm: Vm, reason: string): Promise<void> {
  await transaction(work.services.db, async (tx) => {
    await explainBoot(tx, vm, reason)
    await hostedVmStepped.run(work.services, tx, vm)
  })
}

async function move(work: VmWork, vm: Vm, to: VmStatus, options: Move = {}): Promise<Vm | undefined> {
  return transaction(work.services.db, async (tx) => {
    const moved = await moveVm(tx, work.services, vm.id, to, options, [vm.status])
    if (moved) await hostedVmStepped.run(work.services, tx, moved)
    return moved
  })
}
