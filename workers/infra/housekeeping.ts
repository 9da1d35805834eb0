/** Periodic tasks: expired VMs, old records, VMs that are stuck between two statuses, and more. */
import type { ScheduledTask } from 'node-cron'
import { forgetIdempotencyKeys } from '#src/platform/idempotency.ts'
import { every } from '#src/platform/jobs/periodic.ts'
import { forgetRateBuckets } from '#src/platform/rate-limits.ts'
import { foldStoredBytes, recountStoredBytes } from '#src/platform/metrics/rooms.ts'
import type { Background } from '#src/platform/services.ts'
import { endVmsOfRuns } from '#src/resources/agents/environments/ended-runs.ts'
import { endStrandedEnvironments, stopIdleEnvironments } from '#src/resources/agents/environments/vms.ts'
import { forgetExchanges } from '#src/resources/agents/peers/upkeep.ts'
import { forgetScheduleRuns } from '#src/resources/agents/schedules/runs.ts'
import { replanAfterClockChange } from '#src/resources/agents/schedules/ticks.ts'
import { requeueStalledSessions } from '#src/resources/agents/sessions/claims.ts'
import { purgeDatabases, requeueStalledDatabases } from '#src/resources/infra/databases/upkeep.ts'
import { fireBackupSchedules, forgetBackupSchedules } from '#src/resources/infra/backup-schedules/firing.ts'
import { endLostBackups, forgetOldBackups } from '#src/resources/infra/database-backups/removal.ts'
import { requeueBackups } from '#src/resources/infra/database-backups/states.ts'
import { requeueRestores } from '#src/resources/infra/database-restores/states.ts'
import { forgetProcesses } from '#src/resources/infra/vms/process-records.ts'
import { endVmsOfLostNodes, expireVms, requeueStalledVms } from '#src/resources/infra/vms/upkeep.ts'
import { forgetOldArtifacts } from '#src/resources/infra/builds/artifacts.ts'
import { dispatchBuilds, endStrandedBuilds } from '#src/resources/infra/builds/dispatch.ts'
import { endRetiredInstances } from '#src/resources/infra/functions/instances.ts'
import { forgetDeliveries } from '#src/resources/agents/triggers/deliveries.ts'
import { giveUpFires } from '#src/resources/agents/triggers/fires.ts'
import { forgetPushes } from '#src/resources/infra/functions/repositories/removal.ts'
import { requeueStalledFunctions } from '#src/resources/infra/functions/reconciling.ts'
import { sleepIdleFunctions } from '#src/resources/infra/functions/sleep.ts'
import { rotateLogPartitions } from '#src/resources/infra/build-logs.ts'
import { forgetFiles } from '#src/resources/agents/files/retention.ts'
import { forgetSkillArchives } from '#src/resources/agents/skills/archives.ts'
import { forgetUnfinishedUploads, forgetUnusedUploads } from '#src/resources/infra/uploads/retention.ts'
import { forgetCertificateOrders, sweepCertificates } from '#src/resources/infra/certificates/claims.ts'
import { forgetWebhookEvents } from '#src/resources/infra/webhooks/retention.ts'
import { endLostProcesses, forgetInferenceProcesses } from '#src/resources/llm/billing.ts'
import { verifyBackups } from './database-verification.ts'
import { requeueUnclaimedBuilds, sweepBuildDisks } from './builds/machines.ts'
import type { ActiveBuilds } from './builds.ts'
import { measureDatabases, sleepIdleDatabases } from './database-upkeep.ts'
import { createDomainChecks } from './domains.ts'
import { keepInstances, type FunctionRuns } from './functions.ts'
import { sleepIdleVms } from './vms/idle.ts'
import type { VmWork } from './vms.ts'

/** The parts of a worker that runs VMs. */
export type NodeWork = { work: VmWork; activeBuilds: ActiveBuilds; functions: FunctionRuns; stopping: AbortSignal }

/**
 * Starts the periodic tasks; the returned function stops them. A worker without VMs only does those of the whole
 * installation.
 */
export function startHousekeeping(services: Background, node: NodeWork | null): () => void {
  const domains = createDomainChecks(services)
  const tasks = [
    ...tasksOfEverybody(services, node?.work.nodeId ?? null),
    every('*/2 * * * * *', 'checking domains', () => domains.begin()),
    ...(node ? tasksOfNode(node) : []),
  ]
  return () => {
    tasks.forEach((task) => void task.stop())
    domains.stop()
  }
}

/** @param own the node of this worker, which is certainly alive. */
function tasksOfEverybody(services: Background, own: string | null): ScheduledTask[] {
  return [
    every('*/20 * * * * *', 'looking for lost nodes', () => endVmsOfLostNodes(services, own)),
    every('*/20 * * * * *', 'ending stranded builds', () => endStrandedBuilds(services, own)),
    every('*/5 * * * * *', 'resuming sessions', () => requeueStalledSessions(services)),
    every('*/5 * * * * *', 'stopping idle environments', () => stopIdleEnvironments(services)),
    every('*/5 * * * * *', 'deleting the VMs of runs that are over', () => endVmsOfRuns(services)),
    every('* * * * *', 'ending stranded environments', () => endStrandedEnvironments(services)),
    every(
      '*/10 * * * * *',
      'returning credits of lost processes',
      async () => void (await endLostProcesses(services.db)),
    ),
    every('*/20 * * * * *', 'looking whether the clock was set back', () => replanAfterClockChange(services.db)),
    every('7 * * * *', 'removing the data of deleted databases', () => purgeDatabases(services)),
    every('*/5 * * * * *', 'starting scheduled backups', () => fireBackupSchedules(services)),
    every('*/20 * * * * *', 'ending lost backups', () => endLostBackups(services)),
    every('*/20 * * * * *', 'going on with backups', () => requeueBackups(services)),
    every('*/20 * * * * *', 'going on with restores', () => requeueRestores(services)),
    every('*/15 * * * * *', 'going on with certificates', () => sweepCertificates(services)),
    every('* * * * *', 'deleting backups', () => forgetOldBackups(services)),
    every('17 * * * *', 'deleting old records', () => forget(services)),
    every('* * * * *', 'giving up undecided events of triggers', () => giveUpFires(services.db)),
    every('*/10 * * * * *', 'adding up what is stored', () => foldStoredBytes(services.db)),
    every('7 4 * * *', 'counting anew what is stored', async () => void (await recountStoredBytes(services.db))),
    every('27 * * * *', 'rotating build logs', () => rotateLogPartitions(services.db)),
  ]
}

/** @param stopping fires when the worker stops. */
function tasksOfNode({ work, activeBuilds, functions, stopping }: NodeWork): ScheduledTask[] {
  const { services, nodeId } = work
  return [
    every('* * * * * *', 'deleting expired VMs', () => expireVms(services, nodeId)),
    every('*/20 * * * * *', 'checking VMs that stand still', () => requeueStalledVms(services, nodeId)),
    every('*/5 * * * * *', 'checking databases that stand still', () => requeueStalledDatabases(services, nodeId)),
    every('*/5 * * * * *', 'putting idle databases to sleep', () => sleepIdleDatabases(work)),
    every('*/2 * * * * *', 'putting idle VMs to sleep', () => sleepIdleVms(work)),
    every('*/2 * * * * *', 'ending replaced functions', () => endRetiredInstances(services, nodeId)),
    every('*/5 * * * * *', 'putting idle functions to sleep', () => sleepIdleFunctions(services, nodeId)),
    every('*/5 * * * * *', 'checking functions that stand still', () => requeueStalledFunctions(services, nodeId)),
    every('*/10 * * * * *', 'going on with functions', () => keepInstances(work, functions)),
    every('*/20 * * * * *', 'telling VMs the names of databases', () => work.networks.tellNames()),
    every('*/10 * * * * *', 'measuring databases', () => measureDatabases(work)),
    every('*/2 * * * * *', 'giving builds their turn', async () => void (await dispatchBuilds(services))),
    every('*/10 * * * * *', 'waking builds that no worker is handling', () =>
      requeueUnclaimedBuilds(work, activeBuilds),
    ),
    every('37 * * * *', 'removing disks of builds', () => sweepBuildDisks(work)),
    every('7 3 * * *', 'verifying backups', () => verifyBackups(work, stopping)),
  ]
}

async function forget(services: Background): Promise<void> {
  const { db } = services
  await forgetUnfinishedUploads(services)
  await forgetUnusedUploads(services)
  await forgetFiles(services)
  await forgetSkillArchives(services)
  await forgetOldArtifacts(services)
  await forgetBackupSchedules(db)
  await forgetScheduleRuns(db)
  await forgetExchanges(db)
  await forgetCertificateOrders(db)
  await forgetPushes(db)
  await forgetWebhookEvents(db)
  await forgetDeliveries(db)
  await forgetProcesses(db)
  await forgetInferenceProcesses(db)
  await forgetIdempotencyKeys(db)
  await forgetRateBuckets(db)
}
