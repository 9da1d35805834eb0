/**
 * The way to ports of VMs. Where a VM is stays in memory, and is read again after each change of it, so that VMs that run are
 * reached while Postgres is away.
 */
import type { Duplex } from 'node:stream'
import { nodeClient } from '#src/drivers/node.ts'
import { createNoticedCache } from '#src/platform/caches/noticed-cache.ts'
import { BerthError } from '#src/platform/errors.ts'
import type { Services } from '#src/platform/services.ts'
import { nodeTokenPurpose } from '#src/resources/infra/vms/access.ts'
import { isWakeable } from '#src/resources/infra/vms/waking.ts'
import { findVmPlace, vmTopic, type VmPlace } from '#src/resources/infra/vms/places.ts'
import { restingRefusal, TargetRefusal } from './targets.ts'

/** Opens a connection to a port of a VM. @param wakes whether a VM that sleeps is woken. @throws TargetRefusal; BerthError as NodeClient.tunnel */
export type ReachVm = (vmId: string, port: number, wakes?: boolean) => Promise<Duplex>

/** Makes a VM run that does not, and waits until it does. @throws TargetRefusal, BerthError */
export type WakeVm = (vmId: string) => Promise<void>

const placesMax = 50_000
/** Where a VM is stays remembered for so long without a notice; while Postgres is away, for good. */
const rememberedMs = 3_600_000

/** Makes the way. @param wake without it, a VM that does not run is not woken. */
export function createVmReach(services: Services, wake?: WakeVm): ReachVm {
  const { db, pubsub, sealer } = services
  const token = sealer.derive(nodeTokenPurpose)
  const places = createNoticedCache<VmPlace>(pubsub, { topic: vmTopic, entriesMax: placesMax, rememberedMs })

  async function readPlace(vmId: string): Promise<VmPlace> {
    let place: VmPlace | undefined
    try {
      place = await places.read(vmId, () => findVmPlace(db, vmId))
    } catch (error) {
      place = places.findUnheard(vmId)?.value
      if (!place) throw error
    }
    if (!place) throw new TargetRefusal('gone', 'The machine behind this address is gone.')
    return place
  }
  const placeOf = (vmId: string): VmPlace | Promise<VmPlace> => places.find(vmId)?.value ?? readPlace(vmId)

  async function reachOnce(vmId: string, port: number, wakes: boolean): Promise<Duplex> {
    let place = await placeOf(vmId)
    if (place.status !== 'running') {
      if (!wake || !wakes || !isWakeable(place.status)) throw restingRefusal(place.status)
      await wake(vmId)
      place = await readPlace(vmId) // the notice may come later
    }
    return nodeClient(place.nodeAgentUrl, token).tunnel({ vmId, port })
  }

  return async (vmId, port, wakes = false) => {
    try {
      return await reachOnce(vmId, port, wakes)
    } catch (error) {
      if (!(error instanceof BerthError && error.code === 'vm_unreachable')) throw error
      const place = await readPlace(vmId) // it may have stopped without our having heard of it
      if (place.status === 'running') throw error
      return reachOnce(vmId, port, wakes)
    }
  }
}
