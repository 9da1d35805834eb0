/**
 * Finds out whether backups are good: each is restored into a throw-away database machine. One at a time, for a bounded
 * part of the night, because it takes a machine and a processor.
 */
import { rootDiskMbOf } from '#src/drivers/compute/templates/database-disks.ts'
import type { Machine, MachineSpec } from '#src/drivers/compute/machine.ts'
import { waitForServer } from '#src/drivers/compute/guest/postgres.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { isDatabaseAway } from '#src/platform/postgres.ts'
import type { Backup } from '#src/resources/infra/database-backups/rows.ts'
import { noteVerification } from '#src/resources/infra/database-backups/states.ts'
import { takeUnverified } from '#src/resources/infra/database-backups/verification.ts'
import { findDatabaseRow } from '#src/resources/infra/databases/rows.ts'
import { loadBackup } from './databases/loads.ts'
import { runUntilEnded, WorkEnded, WorkLate, WorkReleased } from './databases/work.ts'
import type { VmWork } from './vms.ts'

const loadedName = 'verified'
const serverMs = 60_000
const mbPerByte = 1 / (1024 * 1024)
const diskMbMin = 1024

/** How long all of a night take together, and how long a database of so many bytes may take. */
export type VerificationTimes = { nightMs: number; onceMs: (bytes: number) => number }

const usualTimes: VerificationTimes = {
  nightMs: limits.verificationSeconds * 1000,
  // What is in a dump may take as long as its owner likes; it must not take the night from all others.
  onceMs: (bytes) => limits.verificationOnceSeconds * 1000 + bytes / bytesPerMs,
}
/** The least that a restore is expected to do. */
const bytesPerMs = 2048

/** Tests backups until none is left or the time is over. */
export async function verifyBackups(work: VmWork, stopping: AbortSignal, times = usualTimes): Promise<void> {
  const untilMs = performance.now() + times.nightMs
  while (performance.now() < untilMs && !stopping.aborted) {
    const backup = await takeUnverified(work.services.db)
    if (!backup) return
    await verifyBackup(work, backup, { untilMs, onceMs: times.onceMs(backup.databaseBytes ?? 0) }, stopping)
  }
}

async function verifyBackup(
  work: VmWork,
  backup: Backup,
  { untilMs, onceMs }: { untilMs: number; onceMs: number },
  stopping: AbortSignal,
): Promise<void> {
  const id = encodeId('backup', backup.id)
  const leftMs = untilMs - performance.now()
  const limitMs = Math.min(leftMs, onceMs)
  let isBegun = false
  try {
    await runUntilEnded({
      stopping,
      limitMs,
      beat: async () => undefined,
      run: (over) => restoreOnce(work, backup, over, () => (isBegun = true)),
    })
    await noteVerification(work.services.db, backup.id, null)
    log.info({ backup: id }, 'a backup was restored for a test, and is good')
  } catch (error) {
    if (error instanceof WorkReleased || isDatabaseAway(error)) return
    if (leftMs < onceMs && (error instanceof WorkLate || performance.now() >= untilMs))
      return log.info({ backup: id }, 'a backup was not tested to its end this night; it is tried again in the next')
    if (!isBegun) {
      log.warn(
        { backup: id, err: error },
        'a backup was not tested, as no machine for it was ready; the next night tries',
      )
      return
    }
    const isOurs = !(error instanceof WorkEnded || error instanceof BerthError)
    const reason = isOurs ? 'It failed on our side.' : error.message // pg_restore may quote data: not for the log
    log.error(
      { backup: id, ...(isOurs && { err: error }) },
      'A BACKUP COULD NOT BE VERIFIED: restoring it for a test failed, its verificationError says why',
    )
    await noteVerification(work.services.db, backup.id, `It could not be restored for a test. ${reason}`)
  } finally {
    await removeMachine(work, backup)
  }
}

/** @param begin is called once the machine is ready: what fails before that says nothing about the backup. */
async function restoreOnce(work: VmWork, backup: Backup, over: AbortSignal, begin: () => void): Promise<void> {
  const database = await findDatabaseRow(work.services.db, backup.databaseId)
  if (!database) throw new WorkEnded('Its database is gone.')
  const { machine } = await work.compute.take(specOf(backup, database.diskMb))
  over.throwIfAborted()
  await waitForServer(machine, serverMs)
  begin()
  await loadBackup(
    work.services,
    machine,
    { backup, loaded: loadedName, sourceUser: database.pgUser, targetUser: database.pgUser },
    () => undefined,
    over,
  )
}

function specOf(backup: Backup, diskMb: number): MachineSpec {
  const neededMb = Math.ceil((backup.databaseBytes ?? 0) * mbPerByte) * 2 + diskMbMin
  const folderMb = Math.max(diskMb, neededMb)
  return {
    id: machineIdOf(backup),
    template: 'postgres',
    vcpuCount: 2,
    memoryMb: 1024,
    diskMb: rootDiskMbOf(folderMb),
    folderMb,
    hostname: 'verification',
    folder: 'new',
  }
}

/** Removes the machine and its disk. A worker that starts removes one whose worker died, as it belongs to no VM. */
async function removeMachine({ compute, egress }: VmWork, backup: Backup): Promise<void> {
  const id = machineIdOf(backup)
  const machine: Machine | undefined = compute.find(id)
  egress.dropMachine(id)
  await compute.destroy(id)
  if (machine?.folderId) await compute.removeFolder(machine.folderId)
}

function machineIdOf({ id }: Backup): string {
  return encodeId('backup', id).slice('bkp_'.length)
}
