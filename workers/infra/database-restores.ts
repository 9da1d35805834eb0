/**
 * Restores this node's databases: a backup of the data as it is, the dump loaded beside them, then both change places
 * in one transaction. Until then the old data is untouched. A restore whose worker dies goes on in the next one, where
 * every step first looks at what is done.
 */
import type { Machine } from '#src/drivers/compute/machine.ts'
import { nowMs } from '#src/platform/clock.ts'
import { encodeId } from '#src/platform/ids.ts'
import { onNode } from '#src/platform/jobs.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { patiently } from '#src/platform/patience.ts'
import { findBackupRoles } from '#src/resources/infra/database-backups/roles.ts'
import { findBackupRow, type Backup } from '#src/resources/infra/database-backups/rows.ts'
import {
  findRestoreRow,
  loadedName,
  replacedName,
  runRestore,
  type Restore,
  type RestoreStep,
} from '#src/resources/infra/database-restores/rows.ts'
import {
  closeDatabases,
  dropReplaced,
  forgetSource,
  giveUpLoad,
  listDatabases,
  swapDatabases,
  type Swap,
} from '#src/resources/infra/database-restores/server-sql.ts'
import {
  claimRestore,
  completeRestore,
  failRestore,
  noteRestoreProgress,
  noteTidied,
} from '#src/resources/infra/database-restores/states.ts'
import { findDatabaseRow, recordActivity, type Database } from '#src/resources/infra/databases/rows.ts'
import { serverSetup } from '#src/resources/infra/databases/setup.ts'
import { makeBackup } from './database-backups.ts'
import { loadBackup } from './databases/loads.ts'
import { runEach, runStatements } from './databases/statements.ts'
import { onceAtATime, runUntilEnded, sentenceOf, WorkEnded, WorkLost, type FindMachine } from './databases/work.ts'
import { databaseMachine } from './databases.ts'
import { createShares } from './shares.ts'
import type { VmWork } from './vms.ts'

/**
 * Loading costs a processor of the database's VM each, so further ones wait. What is in a dump may take as long as its owner
 * likes, so one organization leaves room for others.
 */
const restoresAtOnce = 4
const ofOneOrganization = 2

/** A restore that runs here: what it works on, and how far it is. */
type Run = {
  work: VmWork
  restore: Restore
  database: Database
  swap: Swap
  find: FindMachine
  stopping: AbortSignal
  progress: { step: RestoreStep; loadedBytes: number }
}

/** Handles the restores of the node's databases. */
export async function handleDatabaseRestores(work: VmWork, find: FindMachine = databaseMachine): Promise<void> {
  const { services } = work
  const kind = onNode(runRestore, work.nodeId)
  const share = createShares(services, kind, ofOneOrganization)
  const handleOne = onceAtATime(async (id, stopping) => {
    const restore = await patiently(() => findRestoreRow(services.db, id))
    if (restore) await share({ ...restore, data: { restoreId: id } }, () => restoreDatabase(work, id, stopping, find))
  })
  await services.jobs.handle(kind, { concurrency: restoresAtOnce }, ({ data, signal }) =>
    handleOne(data.restoreId, signal),
  )
}

/** Takes a restore to its end, and tidies up after one that has ended. */
export async function restoreDatabase(
  work: VmWork,
  id: string,
  stopping: AbortSignal,
  find: FindMachine,
): Promise<void> {
  const { services } = work
  const restore = await patiently(() => claimRestore(services.db, id, work.workerNumber))
  const database = restore && (await findDatabaseRow(services.db, restore.databaseId))
  if (!restore || !database || restore.tidiedAt) return
  const name = database.pgDatabase
  const swap = { name, loaded: loadedName(restore, name), replaced: replacedName(restore, name) }
  const progress = { step: restore.step, loadedBytes: restore.loadedBytes }
  const run: Run = { work, restore, database, swap, find, stopping, progress }
  if (restore.status === 'running') await runSteps(run)
  const ended = await patiently(() => findRestoreRow(services.db, id))
  if (ended?.tidyAfter && Date.parse(ended.tidyAfter) <= nowMs()) await tidyUp({ ...run, restore: ended })
}

async function runSteps(run: Run): Promise<void> {
  const { work, restore, stopping } = run
  const { services } = work
  const elapsedMs = nowMs() - Date.parse(restore.startedAt ?? restore.createdAt)
  try {
    await runUntilEnded({
      stopping,
      limitMs: limits.restoreSeconds * 1000 - elapsedMs,
      beat: () => whyOver(run),
      run: (over) => takeSteps(run, over),
    })
    const completed = await patiently(() => completeRestore(services, restore))
    if (completed) log.info({ restore: encodeId('restore', restore.id) }, 'a restore is complete')
  } catch (error) {
    if (error instanceof WorkLost) return log.warn({ reason: error.message }, 'a restore was given up here')
    const sentence = sentenceOf(error, 'The restore')
    log.warn({ restore: encodeId('restore', restore.id) }, 'a restore failed: its error says why') // pg_restore may quote data
    await patiently(() => failRestore(services, restore, sentence))
  }
}

async function whyOver({ work: { services }, restore, progress }: Run): Promise<Error | undefined> {
  await recordActivity(services, restore.databaseId) // it does not fall asleep
  const held = await noteRestoreProgress(services.db, restore, progress)
  return held ? undefined : new WorkLost('another worker has the restore')
}

async function takeSteps(run: Run, over: AbortSignal): Promise<void> {
  const { work, database, swap, find } = run
  const machine = await find(work, database.id)
  const names = await databasesOf(machine)
  checkNames(run, names)
  if (!names.has(swap.replaced)) {
    const backup = await usableBackup(run)
    await makeSafetyBackup(run)
    await enter(run, 'load', over)
    const source = await findDatabaseRow(work.services.db, backup.databaseId)
    if (!source) throw new WorkEnded('The database of the backup is gone.')
    await loadBackup(
      work.services,
      machine,
      { backup, loaded: swap.loaded, sourceUser: source.pgUser, targetUser: database.pgUser },
      (bytes) => (run.progress.loadedBytes = bytes),
      over,
    )
    await enter(run, 'swap', over)
    await runEach(machine, closeDatabases(swap))
    await runStatements(machine, swapDatabases(swap))
  }
  await runStatements(machine, await serverSetup(work.services.sealer, database))
}

/** What has the names that this restore gives before it has given them is the owner's. @throws WorkEnded */
function checkNames({ swap, progress: { step } }: Run, names: ReadonlySet<string>): void {
  const ours = { backup: [], load: [swap.loaded], swap: [swap.loaded, swap.replaced], finished: [] }[step] as string[]
  const taken = [swap.loaded, swap.replaced].find((name) => names.has(name) && !ours.includes(name))
  if (taken === undefined) return
  throw new WorkEnded(
    `The name ${taken} is that of a database on the server. Rename or drop that one, then restore again.`,
  )
}

/** Begins the next step, if this worker still has the restore. */
async function enter(
  { work: { services }, restore, progress }: Run,
  step: RestoreStep,
  over: AbortSignal,
): Promise<void> {
  over.throwIfAborted()
  progress.step = step
  if (!(await noteRestoreProgress(services.db, restore, progress))) throw new WorkLost('another worker has the restore')
}

async function usableBackup({ work: { services }, restore }: Run): Promise<Backup> {
  const backup = restore.backupId === null ? undefined : await findBackupRow(services.db, restore.backupId)
  if (!backup?.completedAt) throw new WorkEnded('The backup was deleted meanwhile.')
  return backup
}

/** The backup of the data as it is; nothing is replaced without it. */
async function makeSafetyBackup({ work, restore, stopping, find }: Run): Promise<void> {
  const { services } = work
  const before = restore.safetyBackupId === null ? undefined : await findBackupRow(services.db, restore.safetyBackupId)
  const backup =
    before?.status === 'pending' || before?.status === 'running'
      ? await makeBackup(work, before.id, stopping, find)
      : before
  if (backup?.status === 'completed') return
  stopping.throwIfAborted()
  throw new WorkEnded(
    `The backup that is made before a restore failed, so nothing was changed: ${backup?.error ?? 'it was deleted.'}`,
  )
}

/**
 * Leaves one copy of the data on the server: after a restore that failed the database's own, which is opened again; a day
 * after one that succeeded the restored one.
 */
async function tidyUp({ work, restore, database, swap, find }: Run): Promise<void> {
  const { services } = work
  const machine = await find(work, database.id)
  if (restore.status === 'completed') await runEach(machine, [dropReplaced(swap)])
  else {
    const isSwapped = restore.step === 'swap' && (await databasesOf(machine)).has(swap.replaced)
    const isBegun = restore.step !== 'backup'
    if (isSwapped && database.status === 'restoring') await swapBack(machine, swap)
    const source = await sourceUserOf(services, restore)
    const roles = restore.backupId === null ? [] : await findBackupRoles(services, restore.backupId)
    const users = { sourceUser: source ?? database.pgUser, targetUser: database.pgUser, roles: isBegun ? roles : [] }
    await runEach(machine, [...giveUpLoad(swap, isBegun), ...forgetSource(users)])
  }
  await patiently(() => noteTidied(services, restore))
}

/** A restore that failed after its data had taken the place of the database's own. */
async function swapBack(machine: Machine, { name, loaded, replaced }: Swap): Promise<void> {
  const back = { name, loaded: replaced, replaced: loaded }
  await runEach(machine, closeDatabases(back))
  await runStatements(machine, swapDatabases(back))
}

async function sourceUserOf({ db }: VmWork['services'], { backupId }: Restore): Promise<string | undefined> {
  const backup = backupId === null ? undefined : await findBackupRow(db, backupId)
  return backup && (await findDatabaseRow(db, backup.databaseId))?.pgUser
}

async function databasesOf(machine: Machine): Promise<Set<string>> {
  const names = await runStatements(machine, listDatabases)
  return new Set(names.split('\n').map((name) => name.trim()))
}
