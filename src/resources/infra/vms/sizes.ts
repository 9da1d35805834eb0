/** How large a VM may be, and how it gets another size. */
import { BerthError } from '#src/platform/errors.ts'
import { wholeNumber } from '#src/platform/pages.ts'
import type { Tx } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import { defaultVm, holdsMemory, reserveRoom } from '#src/resources/infra/organization-room.ts'
import type { Vm } from './rows.ts'

/** The size of a VM: virtual processors, MB of memory, MB of disk. */
export type VmSize = Pick<Vm, 'vcpuCount' | 'memoryMb' | 'diskMb'>
/** The same as it is given; what is absent or null is as before. */
export type GivenSize = { [Part in keyof VmSize]?: number | null }

const diskMbMin = 10 * 1024
const diskMbMax = 200 * 1024

/** The size that is asked for. @param before without one, that of a new VM. @throws BerthError invalid_request. */
export function readSize(given: GivenSize, before: VmSize = defaultVm): VmSize {
  const size = {
    vcpuCount: given.vcpuCount ?? before.vcpuCount,
    memoryMb: given.memoryMb ?? before.memoryMb,
    diskMb: given.diskMb ?? before.diskMb,
  }
  wholeNumber('vcpu_count', size.vcpuCount, 1, 16)
  wholeNumber('memory_mb', size.memoryMb, 256, 65_536)
  wholeNumber('disk_mb', size.diskMb, diskMbMin, diskMbMax)
  return size
}

/**
 * The size that a locked VM gets, for which room is reserved: its machine has it from its next start on. A disk only grows.
 * @throws BerthError invalid_request; invalid_transition while a machine of the size before may run; as reserveRoom.
 */
export async function resize(services: Pick<Background, 'config'>, tx: Tx, vm: Vm, given: GivenSize): Promise<VmSize> {
  const size = readSize(given, vm)
  const isSame = (['vcpuCount', 'memoryMb', 'diskMb'] as const).every((part) => size[part] === vm[part])
  if (isSame) return size
  if (size.diskMb < vm.diskMb)
    throw new BerthError('invalid_request', `disk_mb must be ${vm.diskMb} or more: a disk grows, and never shrinks.`)
  if ((vm.status !== 'stopped' && vm.status !== 'error') || holdsMemory(vm))
    throw new BerthError(
      'invalid_transition',
      `This VM is ${vm.status}; its size changes only while it is stopped. Stop it, change its size, and start it again.`,
    )
  const more = { memoryMb: size.memoryMb > vm.memoryMb ? size.memoryMb : 0, diskMb: size.diskMb - vm.diskMb }
  if (more.memoryMb > 0 || more.diskMb > 0) await reserveRoom(services, tx, vm.organizationId, more, vm.nodeId)
  return size
}
