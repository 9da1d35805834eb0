/** Wakes VMs for requests: once for all that wait, and for a limited time. */
import { BerthError } from '#src/platform/errors.ts'
import { proxyLimits } from '#src/platform/limits/proxies.ts'
import type { Services } from '#src/platform/services.ts'
import { isWakeable, wakeVm } from '#src/resources/infra/vms/waking.ts'
import type { Vm } from '#src/resources/infra/vms/rows.ts'
import { createWaking } from '../waking.ts'
import { restingRefusal, TargetRefusal } from './targets.ts'
import type { WakeVm } from './vms.ts'

const againSeconds = 5

/** Makes what wakes them. */
export function createVmWaking(services: Services): WakeVm {
  const wake = createWaking((_key, vmId: string, evenPaused: boolean) => wakeVm(services, vmId, evenPaused))
  const waiting = new Map<string, number>()
  return async (vmId, evenPaused) => {
    const others = waiting.get(vmId) ?? 0
    if (others >= proxyLimits.wakeWaitersMax) throw busy()
    waiting.set(vmId, others + 1)
    try {
      const vm = await wake(`${vmId} ${evenPaused}`, vmId, evenPaused)
      if (vm?.status !== 'running') throw stillResting(vm, evenPaused)
    } catch (error) {
      throw error instanceof BerthError ? refusalOf(error) : error
    } finally {
      const left = (waiting.get(vmId) ?? 1) - 1
      if (left > 0) waiting.set(vmId, left)
      else waiting.delete(vmId)
    }
  }
}

/** One that could have been woken was too slow; one that could not stays as it is. */
function stillResting(vm: Vm | undefined, evenPaused: boolean): TargetRefusal {
  return restingRefusal(vm && isWakeable(vm, evenPaused) ? 'resuming' : (vm?.status ?? 'deleted'))
}

/** Strangers learn nothing of an organization's limits. */
function refusalOf({ code, details }: BerthError): TargetRefusal {
  const { retryAfterSeconds } = details
  const isBusy = code === 'rate_limited' || code === 'capacity_unavailable'
  return isBusy ? busy(typeof retryAfterSeconds === 'number' ? retryAfterSeconds : againSeconds) : busy()
}

function busy(retryAfterSeconds = againSeconds): TargetRefusal {
  return new TargetRefusal(
    'busy',
    'The machine behind this address sleeps, and cannot be woken right now. Try again in a moment.',
    retryAfterSeconds,
  )
}
