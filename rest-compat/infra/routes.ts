/** Every path of the infrastructure service, by noun. */
import type { HandWritten, Routes } from '../routes.ts'
import { exportAuditEventsRoute } from '../identity/audit-events.ts'
import { buildRoutes } from './builds.ts'
import { codeHostRoutes } from './code-host.ts'
import { pushRoute } from './code-host/pushes.ts'
import { databaseRoutes } from './databases.ts'
import { domainRoutes } from './domains.ts'
import { databaseBackupRoutes } from './database-backups.ts'
import { downloadBackupRoute } from './database-backups/downloads.ts'
import { folderRoutes } from './folders.ts'
import { functionRoutes } from './functions.ts'
import { proxyRoutes } from './proxies.ts'
import { uploadRoutes } from './uploads.ts'
import { usageRoutes } from './usage.ts'
import { vmCommandRoutes } from './vm-commands.ts'
import { vmEnvRoutes } from './vm-env.ts'
import { vmFileRoutes } from './vm-files.ts'
import { getFileRoute, putFileRoute } from './vm-files/streams.ts'
import { vmRoutes } from './vms.ts'

/** The routes of the infrastructure surface. */
export const infraRoutes: Routes = {
  ...vmRoutes,
  ...vmEnvRoutes,
  ...vmCommandRoutes,
  ...vmFileRoutes,
  ...folderRoutes,
  ...functionRoutes,
  ...buildRoutes,
  ...codeHostRoutes,
  ...databaseRoutes,
  ...domainRoutes,
  ...databaseBackupRoutes,
  ...proxyRoutes,
  ...uploadRoutes,
  ...usageRoutes,
}

/** The paths that are answered by hand. */
export const infraHandlers: Readonly<Record<string, HandWritten>> = {
  'GET /api/v1/audit-events/export': exportAuditEventsRoute,
  'POST /api/v1/codehost/pushes/{link_id}': pushRoute,
  'GET /api/v1/databases/{db_id}/backups/{backup_id}/download': downloadBackupRoute,
  'GET /api/v1/vms/{vm_id}/files': getFileRoute,
  'PUT /api/v1/vms/{vm_id}/files': putFileRoute,
}
