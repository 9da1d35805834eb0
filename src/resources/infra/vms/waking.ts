/** A paused VM resumes for those who ask for what it serves, where its owner wants that. */
import { encodeId } from '#src/platform/ids.ts'
import { proxyLimits } from '#src/platform/limits/proxies.ts'
import { transaction } from '#src/platform/postgres.ts'
import type { Background, Services } from '#src/platform/services.ts'
import { waitUntil } from '#src/platform/streams/waits.ts'
import { moveTowards } from './lifecycle.ts'
import { findVmRow, lockVmRow, type Vm } from './rows.ts'

const wakeable: readonly Vm['status'][] = ['creating', 'starting', 'resuming', 'pausing', 'paused']

/** Whether a VM runs in a moment, or can be resumed. */
export function isWakeable(status: Vm['status']): boolean {
  return wakeable.includes(status)
}

/**
 * Resumes a VM that is paused, and waits until it runs, or for 30 s; waits too for one that is starting. One that was stopped
 * stays so: that was its owner's wish, or the guest's.
 * @returns the VM as it is then; undefined when there is none.
 * @throws BerthError rate_limited when its organization has had too many woken; as reserveRoom.
 */
export async function wakeVm(services: Background & Pick<Services, 'limiter'>, id: string): Promise<Vm | undefined> {
  const look = (): Promise<Vm | undefined> => lookAndResume(services, id)
  return waitUntil(services.pubsub, {
    topic: 'vm',
    id,
    limitSeconds: proxyLimits.wakeSeconds,
    first: look,
    again: look,
    isDone: (vm) => !vm || !isWakeable(vm.status),
  })
}

async function lookAndResume(services: Background & Pick<Services, 'limiter'>, id: string): Promise<Vm | undefined> {
  const vm = await findVmRow(services.db, id)
  if (vm?.status !== 'paused') return vm
  await services.limiter.spend(`wake:${encodeId('organization', vm.organizationId)}`, proxyLimits.wakesPerMinute)
  return transaction(services.db, async (tx) => {
    const locked = (await lockVmRow(tx, id)) ?? vm
    if (locked.status !== 'paused') return locked
    return (await moveTowards(services, tx, locked, 'running', 'A request came in.')) ?? locked
  })
}
