/**
 * Watches whether this node still has room for the disks of its machines. QEMU pauses a machine when its disk cannot
 * grow, and its build would soon count as lost; so the build is ended before that, with the reason, which also frees
 * room.
 */
import { statfs } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { machinesFolder } from '#src/drivers/compute/places.ts'
import { log } from '#src/platform/log.ts'
import type { Ending } from '#src/resources/infra/builds/rows.ts'

/** The minimum room: the largest step in which a disk may grow, and a reserve for the host itself. */
const roomBytesMin = 16 * 1024 * 1024
const lookMs = 2_000

/** The end of a build for which there is no room. */
export const noRoom: Ending = {
  status: 'failed',
  error: 'The node has no room left for this build. Ask your operator to make room, then build again.',
}

/** Checks every two seconds until the signal fires; calls back once when there is no room. */
export async function watchRoom(dataDir: string, signal: AbortSignal, onFull: () => void): Promise<void> {
  while (!signal.aborted) {
    if (await isFull(dataDir)) {
      log.warn('this node has no room left for the disks of its machines: a build is ended')
      return onFull()
    }
    await pause(lookMs, undefined, { signal }).catch(() => undefined) // aborted: the build has ended
  }
}

async function isFull(dataDir: string): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(machinesFolder(dataDir))
    return bavail * bsize < roomBytesMin
  } catch (error) {
    log.warn({ err: error }, 'how much room this node has could not be read')
    return false
  }
}

/** Whether something failed for lack of room. */
export function isNoRoom(error: unknown): boolean {
  // qemu-img, which creates and copies disks, only reports it as text.
  return (
    error instanceof Error &&
    (('code' in error && error.code === 'ENOSPC') || error.message.includes('No space left on device'))
  )
}
