/** What workers do by themselves, and how long records are kept: each noun declares its own; here all are listed, with those of the platform. */
import { forgetIdempotencyKeys } from '#src/platform/idempotency.ts'
import type { NodeUpkeep, Retention, Upkeep } from '#src/platform/jobs/upkeep.ts'
import { limits } from '#src/platform/limits.ts'
import { foldStoredBytes, recountStoredBytes } from '#src/platform/metrics/rooms.ts'
import { forgetRateBuckets } from '#src/platform/rate-limits.ts'
import { runVmUpkeep } from './agents/environments/ended-runs.ts'
import { environmentUpkeep } from './agents/environments/vms.ts'
import { auditRetention } from './identity/audit-events/retention.ts'
import { authorizationRetention } from './identity/authorizations/retention.ts'
import { browserSessionRetention } from './identity/browser-sessions.ts'
import { invitationRetention } from './identity/invitations.ts'
import { organizationEventRetention } from './identity/organization-events/retention.ts'
import { fileRetention } from './agents/files/retention.ts'
import { peerRetention } from './agents/peers/upkeep.ts'
import { scheduleRunRetention } from './agents/schedules/runs.ts'
import { scheduleUpkeep } from './agents/schedules/ticks.ts'
import { sessionUpkeep } from './agents/sessions/claims.ts'
import { idleEnvironmentUpkeep } from './agents/sessions/idle-environments.ts'
import { skillArchiveRetention } from './agents/skills/archives.ts'
import { deliveryRetention } from './agents/triggers/deliveries.ts'
import { fireUpkeep } from './agents/triggers/fires.ts'
import { backupScheduleRetention, backupScheduleUpkeep } from './infra/backup-schedules/firing.ts'
import { buildLogUpkeep } from './infra/builds/logs.ts'
import { artifactRetention } from './infra/builds/artifacts.ts'
import { buildNodeUpkeep, buildUpkeep } from './infra/builds/dispatch.ts'
import { certificateRetention, certificateUpkeep } from './infra/certificates/claims.ts'
import { backupUpkeep } from './infra/database-backups/removal.ts'
import { restoreUpkeep } from './infra/database-restores/states.ts'
import { databaseNodeUpkeep, databaseUpkeep } from './infra/databases/upkeep.ts'
import { instanceNodeUpkeep } from './infra/functions/instances.ts'
import { functionNodeUpkeep } from './infra/functions/reconciling.ts'
import { pushRetention } from './infra/functions/repositories/removal.ts'
import { functionSleepNodeUpkeep } from './infra/functions/sleep.ts'
import { tunnelRetention } from './infra/tunnels/tickets.ts'
import { terminalRetention, terminalUpkeep } from './infra/terminals/records.ts'
import { uploadRetention } from './infra/uploads/retention.ts'
import { processRetention } from './infra/vms/process-records.ts'
import { vmNodeUpkeep, vmUpkeep } from './infra/vms/upkeep.ts'
import { webhookRetention } from './infra/webhooks/retention.ts'
import { inferenceProcessRetention, inferenceUpkeep } from './llm/billing.ts'

/** For the whole installation, by every worker. */
export const upkeep: readonly Upkeep[] = [
  ...vmUpkeep,
  ...terminalUpkeep,
  ...buildUpkeep,
  ...buildLogUpkeep,
  ...databaseUpkeep,
  ...backupScheduleUpkeep,
  ...backupUpkeep,
  ...restoreUpkeep,
  ...certificateUpkeep,
  ...idleEnvironmentUpkeep,
  ...environmentUpkeep,
  ...runVmUpkeep,
  ...scheduleUpkeep,
  ...sessionUpkeep,
  ...fireUpkeep,
  ...inferenceUpkeep,
  { every: 10, doing: 'adding up what is stored', work: ({ db }) => foldStoredBytes(db) },
  { every: '7 4 * * *', doing: 'counting anew what is stored', work: ({ db }) => recountStoredBytes(db) },
]

/** For one node, by its worker. */
export const nodeUpkeep: readonly NodeUpkeep[] = [
  ...vmNodeUpkeep,
  ...buildNodeUpkeep,
  ...databaseNodeUpkeep,
  ...instanceNodeUpkeep,
  ...functionSleepNodeUpkeep,
  ...functionNodeUpkeep,
]

/** Records that go by themselves, in the order in which they do. */
export const retention: readonly Retention[] = [
  ...processRetention,
  ...terminalRetention,
  ...tunnelRetention,
  ...artifactRetention,
  ...backupScheduleRetention,
  ...pushRetention,
  ...certificateRetention,
  ...uploadRetention,
  ...webhookRetention,
  ...fileRetention,
  ...skillArchiveRetention,
  ...peerRetention,
  ...scheduleRunRetention,
  ...organizationEventRetention,
  ...auditRetention,
  ...browserSessionRetention,
  ...authorizationRetention,
  ...invitationRetention,
  ...deliveryRetention,
  ...inferenceProcessRetention,
  {
    what: 'Answers to requests with `Idempotency-Key`',
    until: `after ${limits.idempotencyHours} hours`,
    forget: ({ db }) => forgetIdempotencyKeys(db),
  },
  { what: 'Counters of requests', until: 'an hour after the last one', forget: ({ db }) => forgetRateBuckets(db) },
]
