/** VMs that rest run again for those who come: where nobody had used them, and where an entry wants that of one that was paused. */
import { encodeId } from '#src/platform/ids.ts'
import { proxyLimits } from '#src/platform/limits/proxies.ts'
import { transaction } from '#src/platform/postgres.ts'
import type { Background, Services } from '#src/platform/services.ts'
import { waitUntil } from '#src/platform/streams/waits.ts'
import { moveTowards } from './lifecycle.ts'
import { findVmRow, lockVmRow, type Vm } from './rows.ts'

/** These run in a moment. */
const rising: readonly Vm['status'][] = ['creating', 'starting', 'resuming']

/**
 * Whether a VM runs in a moment, or may be woken. One that its user stopped or paused stays so.
 * @param evenPaused wakes one that its user paused.
 */
export function isWakeable({ status, sleeps }: Pick<Vm, 'status' | 'sleeps'>, evenPaused: boolean): boolean {
  if (status === 'pausing' || status === 'paused') return sleeps || evenPaused
  if (status === 'stopping' || status === 'stopped') return sleeps
  return rising.includes(status)
}

/**
 * Wakes a VM that rests and may be woken, and waits until it runs, or for 30 s; waits too for one that is starting.
 * @param evenPaused as isWakeable.
 * @returns the VM as it is then; undefined when there is none.
 * @throws BerthError rate_limited when its organization has had too many woken; as reserveRoom.
 */
export async function wakeVm(
  services: Background & Pick<Services, 'limiter'>,
  id: string,
  evenPaused = false,
): Promise<Vm | undefined> {
  const look = (): Promise<Vm | undefined> => lookAndWake(services, id, evenPaused)
  return waitUntil(services.pubsub, {
    topic: 'vm',
    id,
    limitSeconds: proxyLimits.wakeSeconds,
    first: look,
    again: look,
    isDone: (vm) => !vm || !isWakeable(vm, evenPaused),
  })
}

async function lookAndWake(
  services: Background & Pick<Services, 'limiter'>,
  id: string,
  evenPaused: boolean,
): Promise<Vm | undefined> {
  const mayWake = (vm: Vm): boolean => (vm.status === 'paused' || vm.status === 'stopped') && isWakeable(vm, evenPaused)
  const vm = await findVmRow(services.db, id)
  if (!vm || !mayWake(vm)) return vm
  await services.limiter.spend(`wake:${encodeId('organization', vm.organizationId)}`, proxyLimits.wakesPerMinute)
  return transaction(services.db, async (tx) => {
    const locked = (await lockVmRow(tx, id)) ?? vm
    if (!mayWake(locked)) return locked
    return (await moveTowards(services, tx, locked, 'running', 'A request came in.', locked.sleeps)) ?? locked
  })
}
