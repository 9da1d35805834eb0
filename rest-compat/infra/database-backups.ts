/** Backups of databases, and restoring one. */
import { limits } from '#src/platform/limits.ts'
import type { Routes } from '../routes.ts'

const backup = `id database_id: databaseId status triggered_by: triggeredBy error size_bytes: sizeBytes created_at: createdAt completed_at: completedAt`

/** Backups of databases. */
export const databaseBackupRoutes: Routes = {
  'GET /api/v1/databases/{db_id}/backups': {
    status: 200,
    errors: [404, 500],
    summary: 'The backups of a database, newest first',
    list: { shape: 'rows', most: limits.infraListMax, usual: limits.infraListMax },
    operation: `query listBackups ($db_id: ID!, $first: Int, $offset: Int) { database(id: $db_id) { body: backups(first: $first, offset: $offset) { nodes { ${backup} } } } }`,
  },
  'POST /api/v1/databases/{db_id}/backups': {
    status: 202,
    errors: [400, 404, 409, 500],
    summary: 'Starts a backup of a database',
    into: { db_id: 'databaseId' },
    operation: `mutation createBackup ($input: CreateBackupInput!) { createBackup(input: $input) { body: backup { ${backup} } } }`,
  },
  'GET /api/v1/databases/{db_id}/backups/{backup_id}': {
    status: 200,
    errors: [404, 500],
    summary: 'One backup',
    operation: `query getBackup ($db_id: ID!, $backup_id: ID!) { database(id: $db_id) { body: backup(id: $backup_id) { ${backup} } } }`,
  },
  'DELETE /api/v1/databases/{db_id}/backups/{backup_id}': {
    status: 200,
    errors: [404, 500],
    summary: 'Deletes a backup and its file; one that is being made is cancelled',
    into: { db_id: 'databaseId', backup_id: 'id' },
    operation: `mutation deleteBackup ($input: DeleteBackupInput!) { body: deleteBackup(input: $input) { message } }`,
  },
  'POST /api/v1/databases/{db_id}/backups/{backup_id}/restore': {
    status: 202,
    errors: [400, 404, 500],
    summary: 'Starts a restore, which replaces the data of the database with that of the backup',
    into: { db_id: 'databaseId', backup_id: 'id' },
    operation: `mutation restoreBackup ($input: RestoreBackupInput!) { body: restoreBackup(input: $input) { message } }`,
  },
}
