/**
 * The way to ports of VMs. Where a VM is stays in memory, and is read again after each change of it, so that VMs that run are
 * reached while Postgres is away.
 */
import type { Duplex } from 'node:stream'
import { nodeClient } from '#src/drivers/node.ts'
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import { BerthError } from '#src/platform/errors.ts'
import type { Services } from '#src/platform/services.ts'
import { nodeTokenPurpose } from '#src/resources/infra/vms/access.ts'
import { findVmPlace, vmTopic, type VmPlace } from '#src/resources/infra/vms/places.ts'
import { TargetRefusal } from './targets.ts'

/** Opens a connection to a port of a VM. @throws TargetRefusal; BerthError as NodeClient.tunnel */
export type ReachVm = (vmId: string, port: number) => Promise<Duplex>

/** Makes a VM run that does not, and waits until it does. @throws TargetRefusal, BerthError */
export type WakeVm = (vmId: string) => Promise<void>

/** `reading`: the one read that all who ask meanwhile wait for. */
type Known = { place: VmPlace | null; isStale: boolean; reading: Promise<VmPlace | null> | null }

const placesMax = 50_000

/** Makes the way. @param wake without it, a VM that does not run is not woken. */
export function createVmReach(services: Services, wake?: WakeVm): ReachVm {
  const { db, pubsub, sealer } = services
  const token = sealer.derive(nodeTokenPurpose)
  const places = createBoundedMap<string, Known>({ entriesMax: placesMax })
  pubsub.listen(vmTopic, (id) => {
    if (id === null) for (const known of places.values()) known.isStale = true
    else {
      const known = places.peek(id)
      if (known) known.isStale = true
    }
  })

  async function read(vmId: string, known: Known): Promise<VmPlace | null> {
    known.isStale = false // a change while it is read makes it stale again
    try {
      known.place = (await findVmPlace(db, vmId)) ?? null
      if (!pubsub.connected) known.isStale = true
    } catch (error) {
      known.isStale = true
      if (!known.place) throw error
    }
    return known.place
  }
  async function placeOf(vmId: string): Promise<VmPlace> {
    const known = places.get(vmId) ?? { place: null, isStale: true, reading: null }
    places.set(vmId, known)
    if (known.isStale)
      known.reading ??= read(vmId, known).finally(() => {
        known.reading = null
      })
    const place = known.reading ? await known.reading : known.place
    if (place) return place
    places.delete(vmId)
    throw new TargetRefusal('gone', 'The machine behind this address is gone.')
  }

  async function reachOnce(vmId: string, port: number): Promise<Duplex> {
    let place = await placeOf(vmId)
    if (place.status !== 'running') {
      if (!wake) throw restingRefusal(place.status)
      await wake(vmId)
      place = await placeOf(vmId)
    }
    return nodeClient(place.nodeAgentUrl, token).tunnel({ vmId, port })
  }

  return async (vmId, port) => {
    try {
      return await reachOnce(vmId, port)
    } catch (error) {
      const known = places.peek(vmId)
      if (!(error instanceof BerthError && error.code === 'vm_unreachable') || !known) throw error
      known.isStale = true
      const place = await placeOf(vmId) // it may have stopped without our having heard of it
      if (place.status === 'running') throw error
      return reachOnce(vmId, port)
    }
  }
}

/** What is said of a VM that does not run. */
function restingRefusal(status: VmPlace['status']): TargetRefusal {
  if (status === 'creating' || status === 'starting' || status === 'resuming')
    return new TargetRefusal('starting', 'The machine behind this address is starting. Try again in a few seconds.', 3)
  if (status === 'deleting' || status === 'deleted')
    return new TargetRefusal('gone', 'The machine behind this address is gone.')
  if (status === 'error') return new TargetRefusal('failing', 'The machine behind this address has failed.')
  return new TargetRefusal('sleeping', 'The machine behind this address is not running. Its owner can start it.')
}
