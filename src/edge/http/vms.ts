/**
 * The way to ports of VMs. Where a VM is stays in memory, and is read again after each change of it, so that VMs that run are
 * reached while Postgres is away.
 */
import type { Duplex } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { nodeClient } from '#src/drivers/node.ts'
import { createNoticedCache } from '#src/platform/caches/noticed-cache.ts'
import { BerthError } from '#src/platform/errors.ts'
import type { Services } from '#src/platform/services.ts'
import { nodeTokenPurpose } from '#src/resources/infra/vms/access.ts'
import { idleVmLimits } from '#src/resources/infra/vms/limits.ts'
import { isWakeable } from '#src/resources/infra/vms/waking.ts'
import { findVmPlace, vmTopic, type VmPlace } from '#src/resources/infra/vms/places.ts'
import { restingRefusal, TargetRefusal } from './targets.ts'

/** Opens a connection to a port of a VM. @param wakes whether one that its user paused is woken, too. @throws TargetRefusal; BerthError as NodeClient.tunnel */
export type ReachVm = (vmId: string, port: number, wakes?: boolean) => Promise<Duplex>

/** Makes a VM run that does not, and waits until it does. @param evenPaused as isWakeable. @throws TargetRefusal, BerthError */
export type WakeVm = (vmId: string, evenPaused: boolean) => Promise<void>

const placesMax = 50_000
/** Where a VM is stays remembered for so long without a notice; while Postgres is away, for good. */
const rememberedMs = 3_600_000
const againMs = 100

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
    const rested = place.status !== 'running'
    if (rested) {
      if (!wake || !(wakes || place.sleeps) || !isWakeable(place, wakes)) throw restingRefusal(place.status)
      await wake(vmId, wakes)
      place = await readPlace(vmId) // the notice may come later
    }
    const open = (): Promise<Duplex> => nodeClient(place.nodeAgentUrl, token).tunnel({ vmId, port })
    const isUp = async (): Promise<boolean> => (await readPlace(vmId)).status === 'running'
    return rested ? whenListening(open, isUp) : open()
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

/** A server that starts with its VM listens a moment after it, and on a busy host its guest answers late. @throws BerthError as NodeClient.tunnel */
async function whenListening(open: () => Promise<Duplex>, isUp: () => Promise<boolean>): Promise<Duplex> {
  for (const sinceMs = performance.now(); ; ) {
    try {
      return await open()
    } catch (error) {
      const code = error instanceof BerthError ? error.code : undefined
      const isEarly = code === 'upstream_error' || (code === 'vm_unreachable' && (await isUp()))
      if (!isEarly || performance.now() - sinceMs > idleVmLimits.listenSeconds * 1000) throw error
    }
    await pause(againMs)
  }
}
