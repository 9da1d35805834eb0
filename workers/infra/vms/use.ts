/**
 * Which VMs of this node are in use: those that have requests, commands, transfers or connections open, all of which pass the
 * node's agent, or had some lately. While it is decided that one falls asleep, and until it has, nobody begins to use it: what
 * comes then has begun nothing in it, and may come again.
 */
import { createReportedUse } from '#src/platform/caches/reported-use.ts'
import { BerthError } from '#src/platform/errors.ts'
import { log } from '#src/platform/log.ts'
import type { Db } from '#src/platform/postgres.ts'
import { idleVmLimits } from '#src/resources/infra/vms/limits.ts'
import { recordVmUse } from '#src/resources/infra/vms/sleep.ts'

/** The use of a node's VMs, by their stored ids. */
export type VmUse = {
  /** Somebody uses it, until the returned function is called. @throws BerthError vm_unreachable while it falls asleep */
  begin(vmId: string): Promise<() => void>
  /**
   * Lets nobody begin until it is decided, nor afterwards where it falls asleep, until `open`.
   * @param decide whether it falls asleep; it is not asked of one that is in use.
   */
  close(vmId: string, decide: () => Promise<boolean>): Promise<void>
  open(vmId: string): void
  /** Reports nothing more: its worker ends. */
  end(): void
}

/** Begins without any. */
export function createVmUse(db: Db): VmUse {
  const closed = new Map<string, Promise<boolean>>()
  const use = createReportedUse((ids) => {
    recordVmUse(db, ids).catch((error: unknown) => log.warn({ err: error }, 'the use of VMs could not be recorded'))
  }, idleVmLimits.activityMs)
  return {
    async begin(vmId) {
      const fallsAsleep = closed.get(vmId)
      if (fallsAsleep && (await fallsAsleep))
        throw new BerthError('vm_unreachable', 'The VM is falling asleep. Try again in a few seconds.')
      use.begin(vmId)
      return () => use.end(vmId)
    },
    async close(vmId, decide) {
      if (use.isRecent(vmId)) return
      const deciding = decide()
      const fallsAsleep = deciding.catch(() => false) // whoever decides has the error
      closed.set(vmId, fallsAsleep)
      if (!(await fallsAsleep)) closed.delete(vmId)
      await deciding
    },
    open: (vmId) => void closed.delete(vmId),
    end: () => use.close(),
  }
}
