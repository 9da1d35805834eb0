/** After a restart of the worker: reconciles the machines with the rows, so that nothing leaks. */
import { encodeId } from '#src/platform/ids.ts'
import { log } from '#src/platform/log.ts'
import { onNode } from '#src/platform/jobs.ts'
import { transaction } from '#src/platform/postgres.ts'
import { isBuildCache } from '#src/resources/infra/builds/caches.ts'
import { buildsOfNode } from '#src/resources/infra/builds/runs.ts'
import { isFolder } from '#src/resources/infra/folders.ts'
import { reconcileVm } from '#src/resources/infra/vms/lifecycle.ts'
import { vmsOfNode, type Vm } from '#src/resources/infra/vms/rows.ts'
import { moveVm, hostedVmStepped } from '#src/resources/infra/vms/states.ts'
import { buildMachineId, requeueUnclaimedBuilds } from './builds/machines.ts'
import { machineId, vmIdOf } from './machine-specs.ts'
import { joinProject, type VmWork } from './vms.ts'

/**
 * Adopts the live machines.
 * @returns a function for when they can be reached: it enqueues jobs for VMs that need work, continues builds, and
 * removes machines without an owner.
 */
export async function adoptMachines(work: VmWork): Promise<() => Promise<void>> {
  const rows = await vmsOfNode(work.services.db, work.nodeId)
  for (const vm of rows) work.egress.setPolicy(machineId(vm), vm.networkPolicy) // before their first egress connection
  const builds = (await buildsOfNode(work.services.db, work.nodeId)).map(buildMachineId)
  for (const id of builds) work.egress.setPolicy(id, { type: 'unrestricted' })
  await work.compute.adopt()
  return async () => {
    for (const vm of rows) await settle(work, vm)
    await requeueUnclaimedBuilds(work, new Set(), 0)
    await removeStrays(work, new Set([...rows.map((vm) => machineId(vm)), ...builds]))
  }
}

async function settle(work: VmWork, vm: Vm): Promise<void> {
  const { services, compute, nodeId } = work
  const machine = compute.find(machineId(vm))
  const lives = machine !== undefined
  if (vm.status === 'running' && machine) void joinProject(work, vm, machine) // its guest may be slow to answer
  if (vm.status === 'stopped' || vm.status === 'paused' || (vm.status === 'running' && lives)) return
  if (vm.status === 'error' && vm.desiredStatus === 'running' && lives) {
    // Its node was unreachable and is back: the VM never stopped.
    await transaction(services.db, async (tx) => {
      await moveVm(tx, services, vm.id, 'starting', { reason: 'Its node is back.' })
      await services.jobs.enqueue(tx, onNode(reconcileVm, nodeId), { vmId: vm.id })
    })
    return
  }
  await transaction(services.db, (tx) => services.jobs.enqueue(tx, onNode(reconcileVm, nodeId), { vmId: vm.id }))
}

/** Removes machines whose VM is deleted or never existed, and disks without an owner. */
async function removeStrays({ compute, services: { db } }: VmWork, known: ReadonlySet<string>): Promise<void> {
  for (const resident of await compute.residents()) {
    if (known.has(resident.id)) continue
    log.warn({ vm: `vm_${resident.id}`, live: resident.live }, 'a machine without a VM is removed')
    await compute.destroy(resident.id)
    const { folderId } = resident
    if (folderId && !(await isFolder(db, folderId)) && !(await isBuildCache(db, folderId)))
      await compute.removeFolder(folderId)
  }
}

/** Called by the driver when a machine ends by itself: its guest powered off, or its QEMU died. */
export async function noticeExit(work: VmWork, machine: string, how: 'guest' | 'lost'): Promise<void> {
  const vmId = vmIdOf(machine)
  const { services, nodeId } = work
  log.warn({ vm: encodeId('vm', vmId), how }, 'a machine ended')
  await transaction(services.db, async (tx) => {
    const moved =
      how === 'guest'
        ? await moveVm(
            tx,
            services,
            vmId,
            'stopping',
            { reason: 'The guest powered off.', usageEnd: 'guest_exit', wanted: 'stopped' },
            ['running'],
          )
        : await moveVm(tx, services, vmId, 'error', { reason: 'Its machine ended unexpectedly.' }, [
            'running',
            'starting',
            'resuming',
          ])
    if (!moved) return
    await services.jobs.enqueue(tx, onNode(reconcileVm, nodeId), { vmId })
    if (moved.purpose === 'function') await hostedVmStepped.run(services, tx, moved) // it is not started again
  })
}
