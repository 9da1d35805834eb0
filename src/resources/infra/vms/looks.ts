/** Looking into a VM from outside: what it uses, what listens in it, and what its kernel printed. A look is no use of a VM, and wakes none. */
import type { Permission } from '#src/platform/access/permissions.ts'
import { timestamp, nowMs } from '#src/platform/clock.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import type { Call } from '#src/platform/services.ts'
import { isTunnelled, type ListeningPort, type ProcessorTicks, type VmUsage } from '#src/drivers/node/looks.ts'
import { vmLookLimits } from '#src/platform/limits/vm-looks.ts'
import { reachVm, type RunningVm } from './access.ts'
import type { Vm } from './rows.ts'

const silenceMs = 20_000
const permission: Permission = 'inside-vms:read'

/** What a VM uses at a moment. */
export type VmMetrics = Omit<VmUsage, 'ticks'> & { vmId: string; at: string }

/** The same, and what the next reading is told of it. */
export type MetricsReading = { metrics: VmMetrics; ticks: ProcessorTicks }

/** A port at which something in a VM listens. `isReachable`: by previews, proxy entries and domains. */
export type VmPort = ListeningPort & { vm: Pick<Vm, 'id' | 'organizationId'>; isReachable: boolean }

/**
 * What a VM uses now; null for one that does not run or does not answer, and for callers who may not look inside it.
 * @throws BerthError rate_limited.
 */
export async function findVmMetrics(call: Call, { id }: Pick<Vm, 'id'>): Promise<VmMetrics | null> {
  const reading = await look(call, id, (vm) => readVmMetrics(vm, null))
  return reading && reading.metrics
}

/** At which ports something in a VM listens; null, and throws, as findVmMetrics. */
export async function findVmPorts(call: Call, vm: Pick<Vm, 'id' | 'organizationId'>): Promise<VmPort[] | null> {
  return look(call, vm.id, async ({ id, node }) => {
    const { ports } = await node.call('readPorts', { vmId: id }, { silenceMs, waits: false })
    return ports.map((one) => ({ ...one, vm, isReachable: isTunnelled(one.address) }))
  })
}

/** What the kernel of a VM printed last; null, and throws, as findVmMetrics. */
export async function findVmKernelLog(call: Call, vm: Pick<Vm, 'id'>): Promise<string | null> {
  return look(call, vm.id, async ({ id, node }) => {
    const { text } = await node.call('readKernelLog', { vmId: id }, { silenceMs, waits: false })
    return text
  })
}

/** A running VM that the caller may look into; it is not woken. @throws BerthError as reachVm. */
export function reachToLook(call: Call, publicId: string): Promise<RunningVm> {
  return reachVm(call, publicId, permission, { wakes: false })
}

/**
 * Reads what a running VM uses. A worker that starts again is not waited for.
 * @param since from the reading before, or null.
 * @throws BerthError vm_unreachable, timeout.
 */
export async function readVmMetrics(
  { id, node }: Pick<RunningVm, 'id' | 'node'>,
  since: ProcessorTicks | null,
): Promise<MetricsReading> {
  const { ticks, ...usage } = await node.call('readUsage', { vmId: id, since }, { silenceMs, waits: false })
  return { metrics: { ...usage, vmId: id, at: timestamp(nowMs()) }, ticks }
}

/** What is answered with null: the VM is looked at among much else, which is answered all the same. */
const unseen: readonly string[] = [
  'unauthorized',
  'forbidden',
  'not_permitted_for_role',
  'not_found',
  'invalid_request',
  'vm_unreachable',
  'timeout',
]

async function look<Seen>(call: Call, id: string, see: (vm: RunningVm) => Promise<Seen>): Promise<Seen | null> {
  try {
    const vm = await reachToLook(call, encodeId('vm', id))
    await call.limiter.spend(`look:${vm.id}`, vmLookLimits.looksPerMinute)
    return await see(vm)
  } catch (error) {
    if (error instanceof BerthError && unseen.includes(error.code)) return null
    throw error
  }
}
