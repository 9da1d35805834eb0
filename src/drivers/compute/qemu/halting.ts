/** Pausing and continuing a guest, also one that QEMU paused because the host's disk was full. */
import type { Logger } from 'pino'
import type { Qmp } from './qmp.ts'

/** The interval of attempts to continue a guest that was paused for lack of disk space; and of warnings about it. */
const roomPauseMs = 1_000
const roomWarningMs = 60_000

/** The halts of one guest. */
export type Halting = {
  /** Pauses the guest. */
  halt(): Promise<void>
  /** Continues a paused guest. */
  resume(): Promise<void>
  /** Leaves the guest as it is from now on. */
  release(): void
}

/** Watches for pauses caused by a full disk, from which QEMU never recovers by itself. */
export function watchHalts(qmp: Qmp, machineUuid: string, log: Logger): Halting {
  let lacksRoom = false
  let leftAlone = false
  let warnedMs = -Infinity
  const resume = async (): Promise<void> => {
    leftAlone = false
    await qmp.execute('cont')
  }
  qmp.on('BLOCK_IO_ERROR', ({ action }) => (lacksRoom ||= action === 'stop'))
  qmp.on('STOP', () => {
    if (!lacksRoom) return
    lacksRoom = false
    if (performance.now() - warnedMs > roomWarningMs) {
      warnedMs = performance.now()
      log.warn({ machine: machineUuid }, 'a machine is paused: this node has no room for its disk')
    }
    setTimeout(() => {
      if (!leftAlone)
        resume().catch((error: Error) =>
          log.debug({ machine: machineUuid, err: error }, 'a paused machine could not be continued'),
        )
    }, roomPauseMs).unref()
  })
  return {
    async halt() {
      leftAlone = true
      await qmp.execute('stop')
    },
    resume,
    release() {
      leftAlone = true
    },
  }
}
