/** What the machine of a VM must be like. */
import type { MachineSpec } from '#src/drivers/compute/machine.ts'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { withoutBeginning, withoutEnding } from '#src/platform/texts.ts'
import { machineTemplate } from '#src/resources/infra/templates.ts'
import type { Vm } from '#src/resources/infra/vms/rows.ts'

/** The machine's name: the id without its prefix. */
export function machineId(vm: Pick<Vm, 'id'>): string {
  return encodeId('vm', vm.id).slice('vm_'.length)
}

/** From when the VM of a function runs until its program answers, as a rule. */
const functionBusyMs = 2_500

/** The specification for a driver. */
export function specOf(vm: Vm): MachineSpec {
  return {
    id: machineId(vm),
    template: machineTemplate(vm.templateId),
    vcpuCount: vm.vcpuCount,
    memoryMb: vm.memoryMb,
    diskMb: vm.diskMb,
    hostname: hostnameOf(vm),
    folder: vm.folderId ? { folderId: vm.folderId } : vm.wantsFolder ? 'new' : 'none',
    ...(vm.purpose === 'function' ? { busyMs: functionBusyMs } : {}),
  }
}

/** The VM's name as a host name, or its id if no character of the name is valid in one. */
export function hostnameOf(vm: Vm): string {
  const longestLabel = 63
  const label = withoutEnding(
    withoutBeginning(vm.name.toLowerCase().replace(/[^a-z0-9-]+/g, '-'), '-').slice(0, longestLabel),
    '-',
  )
  return label || `vm-${machineId(vm).slice(-8)}`
}

/** The id of the VM with this machine name. */
export function vmIdOf(machine: string): string {
  const vmId = decodeId('vm', `vm_${machine}`)
  if (!vmId) throw new Error('a machine has a name that is not an id')
  return vmId
}
