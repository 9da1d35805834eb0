/**
 * Makes the backups of this node's databases. A backup lives and dies with its worker: one that a worker left behind is
 * ended, and what it had stored is removed.
 */
import type { Machine } from '#src/drivers/compute/machine.ts'
import { encodeId } from '#src/platform/ids.ts'
import { onNode } from '#src/platform/jobs.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { patiently } from '#src/platform/patience.ts'
import { cancelled } from '#src/resources/infra/database-backups.ts'
import {
  clearFailedBackup,
  endLostBackup,
  forgetSurplusBackups,
  forgetSurplusSafetyBackups,
} from '#src/resources/infra/database-backups/removal.ts'
import { findBackupRow, runBackup, type Backup } from '#src/resources/infra/database-backups/rows.ts'
import {
  claimBackup,
  completeBackup,
  failBackup,
  noteBackupProgress,
} from '#src/resources/infra/database-backups/states.ts'
import { findDatabaseRow, recordActivity, type Database } from '#src/resources/infra/databases/rows.ts'
import { filesFolder, isBelowFloor } from '#src/resources/infra/file-room.ts'
import { storeDump, type DumpProgress } from './databases/dumps.ts'
import {
  noRoom,
  onceAtATime,
  runUntilEnded,
  sentenceOf,
  WorkEnded,
  WorkReleased,
  type FindMachine,
} from './databases/work.ts'
import { databaseMachine } from './databases.ts'
import { createShares } from './shares.ts'
import type { VmWork } from './vms.ts'

/** A dump takes a processor of its database's VM; further ones wait. One organization leaves room for others. */
const backupsAtOnce = 4
const ofOneOrganization = 3

/** The error of a backup whose worker was stopped. */
const stopped = 'The worker that made it was stopped before it was complete. Make another one.'

/** Handles the backups of the node's databases. */
export async function handleDatabaseBackups(work: VmWork, find: FindMachine = databaseMachine): Promise<void> {
  const { services } = work
  const kind = onNode(runBackup, work.nodeId)
  const share = createShares(services, kind, ofOneOrganization)
  const make = onceAtATime(async (id, stopping) => {
    const backup = await patiently(() => findBackupRow(services.db, id))
    if (backup)
      await share({ ...backup, data: { backupId: id } }, async () => {
        await makeBackup(work, id, stopping, find)
      })
  })
  await services.jobs.handle(kind, { concurrency: backupsAtOnce }, ({ data, signal }) => make(data.backupId, signal))
}

/**
 * Makes a backup that is pending. One that a worker began and did not end is ended as failed.
 * @returns the backup as it is afterwards; undefined when it is gone.
 */
export async function makeBackup(
  work: VmWork,
  id: string,
  stopping: AbortSignal,
  find: FindMachine,
): Promise<Backup | undefined> {
  const { services } = work
  const claimed = await patiently(() => claimBackup(services.db, id, work.workerNumber))
  if (!claimed) {
    await patiently(() => endLostBackup(services, id))
    return findBackupRow(services.db, id)
  }
  try {
    await dump(work, claimed, stopping, find)
  } catch (error) {
    const sentence = error instanceof WorkReleased ? stopped : sentenceOf(error, 'The backup')
    log.warn({ backup: encodeId('backup', id) }, 'a backup failed: its error says why') // pg_dump may quote data
    const failed = await patiently(() => failBackup(services.db, id, sentence))
    await clearFailedBackup(services, failed ?? claimed)
  }
  return findBackupRow(services.db, id)
}

async function dump(work: VmWork, backup: Backup, stopping: AbortSignal, find: FindMachine): Promise<void> {
  const { services } = work
  const database = await findDatabaseRow(services.db, backup.databaseId)
  if (!database) throw new WorkEnded('Its database is gone.')
  const progress: DumpProgress = { storedBytes: 0, databaseBytes: null }
  const stored = await runUntilEnded({
    stopping,
    limitMs: limits.backupSeconds * 1000,
    beat: () => whyOver(work, backup, database, progress),
    watch: (over, end) => watchForCancel(work, backup.id, over, end),
    run: async (over) => {
      const machine: Machine = await find(work, database.id)
      return storeDump(services, machine, { backup, database }, progress, over)
    },
  })
  const completed = await patiently(() => completeBackup(services.db, backup, stored))
  if (!completed) throw new WorkEnded(cancelled) // or it was ended by another worker: then it stays as it is
  log.info({ backup: encodeId('backup', backup.id), bytes: stored.sizeBytes }, 'a backup is complete')
  if (completed.scheduleId) await forgetSurplusBackups(services.db, completed.scheduleId)
  if (completed.triggeredBy === 'pre_restore') await forgetSurplusSafetyBackups(services.db, completed.databaseId)
}

/** Ends the backup as soon as it is to be deleted. */
function watchForCancel(
  { services: { db, pubsub } }: VmWork,
  id: string,
  over: AbortSignal,
  end: (reason: Error) => void,
): void {
  pubsub.hear('backup', id, over, () => {
    findBackupRow(db, id).then(
      (row) => row?.cancelRequested && end(new WorkEnded(cancelled)),
      (error: Error) => log.warn({ reason: error.message }, 'whether a backup was cancelled is asked again soon'),
    )
  })
}

/** Writes the progress. @returns why the backup must end, if it must. */
async function whyOver(
  { services }: VmWork,
  backup: Backup,
  database: Database,
  progress: DumpProgress,
): Promise<Error | undefined> {
  await recordActivity(services, database.id) // it does not fall asleep
  if (!(await noteBackupProgress(services.db, backup, progress))) return new WorkEnded('Another worker has ended it.')
  if ((await findBackupRow(services.db, backup.id))?.cancelRequested) return new WorkEnded(cancelled)
  return (await isBelowFloor(services.config, filesFolder(services.config))) ? new WorkEnded(noRoom) : undefined
}
