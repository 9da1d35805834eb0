/** How large a database may be, and after which time it may sleep. */
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { wholeNumber } from '#src/platform/pages.ts'
import { folderSizeMb } from '#src/resources/infra/folders.ts'

/** The size of a database's VM and disk. */
export type DatabaseSize = { vcpuCount: number; memoryMb: number; diskMb: number }

/** That of a database which is created without one. Its machine starts from a snapshot, any other boots. */
const defaultDatabaseSize: DatabaseSize = { vcpuCount: 2, memoryMb: 1024, diskMb: folderSizeMb }
const diskMbMax = 200 * 1024

/** The size that is asked for; what is not named is as before. @throws BerthError invalid_request. */
export function readSize(
  given: { [Part in keyof DatabaseSize]?: number | null },
  before: DatabaseSize = defaultDatabaseSize,
): DatabaseSize {
  const size = {
    vcpuCount: given.vcpuCount ?? before.vcpuCount,
    memoryMb: given.memoryMb ?? before.memoryMb,
    diskMb: given.diskMb ?? before.diskMb,
  }
  wholeNumber('vcpu_count', size.vcpuCount, 1, 16)
  wholeNumber('memory_mb', size.memoryMb, 512, 65_536)
  wholeNumber('disk_mb', size.diskMb, before.diskMb, diskMbMax) // a disk grows, and never shrinks
  return size
}

/**
 * After how many idle seconds a database sleeps; null is never, as 0 is for callers.
 * @throws BerthError invalid_request.
 */
export function readSleep(given: number | null | undefined, usual: number | null): number | null {
  if (given === null || given === undefined) return usual
  if (given === 0) return null
  const [least, most] = [limits.databaseSleepSecondsMin, limits.databaseSleepSecondsMax]
  if (Number.isInteger(given) && given >= least && given <= most) return given
  const sentence = `sleep_after_seconds must be 0, which is never, or ${least} to ${most} seconds.`
  throw new BerthError('invalid_request', sentence, { field: 'sleep_after_seconds' })
}
