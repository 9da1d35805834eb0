/** Halting a guest and letting it go on; also one that QEMU halted because its disk found no room to grow on this host. */
import type { Logger } from 'pino'
import type { Qmp } from './qmp.ts'

/** Between two tries whether a guest that was halted for want of room can go on; and between two warnings of it. */
const roomPauseMs = 1_000
const roomWarningMs = 60_000

/** The halts of one guest. */
export type Halting = {
  /** Lets the guest stand still, with whatever it was about to do. */
  halt(): Promise<void>
  /** Lets a guest that was halted go on. */
  goOn(): Promise<void>
  /** Leaves the guest as it is from now on. */
  release(): void
}

/** Begins to listen for halts for want of room, after which QEMU never tries again by itself. */
export function watchHalts(qmp: Qmp, machineUuid: string, log: Logger): Halting {
  let lacksRoom = false
  let leftAlone = false
  let warnedMs = -Infinity
  const goOn = async (): Promise<void> => {
    leftAlone = false
    await qmp.execute('cont')
  }
  qmp.on('BLOCK_IO_ERROR', ({ action }) => (lacksRoom ||= action === 'stop'))
  qmp.on('STOP', () => {
    if (!lacksRoom) return
    lacksRoom = false
    if (performance.now() - warnedMs > roomWarningMs) {
      warnedMs = performance.now()
      log.warn({ machine: machineUuid }, 'a machine stands still: this node has no room for its disk')
    }
    setTimeout(() => {
      if (!leftAlone)
        goOn().catch((error: Error) =>
          log.debug({ machine: machineUuid, err: error }, 'a machine that stood still did not go on'),
        )
    }, roomPauseMs).unref()
  })
  return {
    async halt() {
      leftAlone = true
      await qmp.execute('stop')
    },
    goOn,
    release() {
      leftAlone = true
    },
  }
}
