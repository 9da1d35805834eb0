/** Databases, their backups and restores. */
import { actionOf, byId, listOf, mutationOf, streamOf, withCursor, type Base } from '../calls.ts'
import type { CallOptions } from '../connection.ts'
import {
  BackupDocument,
  BackupEventsDocument,
  BackupsDocument,
  CreateBackupDocument,
  CreateDatabaseDocument,
  DatabaseDocument,
  DatabaseEventsDocument,
  DatabaseRestoreDocument,
  DatabasesDocument,
  DatabaseTablesDocument,
  DeleteBackupDocument,
  DeleteDatabaseDocument,
  RestoreBackupDocument,
  RestoreEventsDocument,
  RotateDatabaseTokenDocument,
  RunSqlDocument,
} from '../generated/documents.ts'

/** `berth.databases`. */
export function databasesOf(base: Base) {
  const createBackup = mutationOf(base, CreateBackupDocument, (data) => data.createBackup?.backup)
  const deleteBackup = mutationOf(base, DeleteBackupDocument, (data) => data.deleteBackup?.deletedId)
  const backups = listOf(base, BackupsDocument, (data) => data.database?.backups)
  return {
    ...listOf(base, DatabasesDocument, (data) => data.databases),
    get: byId(base, DatabaseDocument, (data) => data.database),
    /** Creates one. `credentials` are shown once. */
    create: mutationOf(base, CreateDatabaseDocument, (data) => data.createDatabase),
    /** Makes a new password; the old one ends. */
    rotateToken: actionOf(base, RotateDatabaseTokenDocument, (data) => data.rotateDatabaseToken?.credentials),
    delete: actionOf(base, DeleteDatabaseDocument, (data) => data.deleteDatabase?.deletedId),
    /** Runs one statement as its owner. A statement that Postgres refuses is `failure`, not an error. */
    runSql: mutationOf(base, RunSqlDocument, (data) => data.runSql),
    tables: (databaseId: string, options?: CallOptions) =>
      listOf(base, DatabaseTablesDocument, (data) => data.database?.tables).all({ databaseId }, options),
    backup: (databaseId: string, options?: CallOptions) => createBackup({ databaseId }, options),
    /** Loads a backup into its database, or into another one. */
    restore: mutationOf(base, RestoreBackupDocument, (data) => data.restoreBackup?.databaseRestore),
    events: streamOf(base, DatabaseEventsDocument, 'databaseId', (data) => withCursor(data.databaseEvents)),
    backups: {
      list: (databaseId: string, options?: CallOptions) => backups.list({ databaseId }, options),
      all: (databaseId: string, options?: CallOptions) => backups.all({ databaseId }, options),
      get: byId(base, BackupDocument, (data) => data.backup),
      delete: (id: string, options?: CallOptions) => deleteBackup({ id }, options),
      /** Its states and progress. It ends when the backup has failed or is deleted: leave when it is `COMPLETED`. */
      events: streamOf(base, BackupEventsDocument, 'backupId', (data) => withCursor(data.backupEvents)),
    },
    restores: {
      get: byId(base, DatabaseRestoreDocument, (data) => data.databaseRestore),
      events: streamOf(base, RestoreEventsDocument, 'restoreId', (data) => withCursor(data.databaseRestoreEvents)),
    },
  }
}
