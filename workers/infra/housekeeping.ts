/** Periodic tasks: what nouns declare in src/resources/upkeep.ts, and what a worker does with the VMs of its node. */
import type { ScheduledTask } from 'node-cron'
import { every } from '#src/platform/jobs/periodic.ts'
import { cronOf, type Upkeep } from '#src/platform/jobs/upkeep.ts'
import { log } from '#src/platform/log.ts'
import type { Background } from '#src/platform/services.ts'
import { nodeUpkeep, retention, upkeep } from '#src/resources/upkeep.ts'
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
    ...tasksOf(upkeep, services, node?.work.nodeId ?? null),
    every('17 * * * *', 'deleting old records', () => forgetOldRecords(services)),
    every('*/2 * * * * *', 'checking domains', () => domains.begin()),
    ...(node ? tasksOfNode(node) : []),
  ]
  return () => {
    tasks.forEach((task) => void task.stop())
    domains.stop()
  }
}

function tasksOf<Node extends string | null>(
  declared: readonly Upkeep<Node>[],
  services: Background,
  node: Node,
): ScheduledTask[] {
  return declared.map((one) => every(cronOf(one.every), one.doing, async () => void (await one.work(services, node))))
}

/** @param stopping fires when the worker stops. */
function tasksOfNode({ work, activeBuilds, functions, stopping }: NodeWork): ScheduledTask[] {
  const { services, nodeId } = work
  return [
    ...tasksOf(nodeUpkeep, services, nodeId),
    every('*/5 * * * * *', 'putting idle databases to sleep', () => sleepIdleDatabases(work)),
    every('*/2 * * * * *', 'putting idle VMs to sleep', () => sleepIdleVms(work)),
    every('*/10 * * * * *', 'resuming functions', () => keepInstances(work, functions)),
    every('*/20 * * * * *', 'writing the names of databases into VMs', () => work.networks.writeNames()),
    every('*/10 * * * * *', 'measuring databases', () => measureDatabases(work)),
    every('*/10 * * * * *', 'waking builds that no worker is handling', () =>
      requeueUnclaimedBuilds(work, activeBuilds),
    ),
    every('37 * * * *', 'removing disks of builds', () => sweepBuildDisks(work)),
    every('7 3 * * *', 'verifying backups', () => verifyBackups(work, stopping)),
  ]
}

/** One after the other, so that they do not take all connections; one that fails keeps no other from its turn. */
async function forgetOldRecords(services: Background): Promise<void> {
  for (const { what, forget } of retention)
    await forget(services).catch((error: Error) =>
      log.warn({ reason: error.message }, `deleting old records failed this time: ${what}`),
    )
}
