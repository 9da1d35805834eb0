/** All job handlers: one line for each noun with slow work. */
import '#src/resources/wiring.ts'
import { handleEnvironments } from './agents/environments.ts'
import { handleBuilds, type ActiveBuilds } from './infra/builds.ts'
import { measureWatchedDatabases } from './infra/database-upkeep.ts'
import { handleDatabases } from './infra/databases.ts'
import { handleDatabaseSetups } from './infra/databases/setups.ts'
import { createDatabaseTurns } from './infra/databases/turns.ts'
import { handleDatabaseBackups } from './infra/database-backups.ts'
import { handleDatabaseRestores } from './infra/database-restores.ts'
import { handleFolders } from './infra/folders.ts'
import { handleFunctions, type FunctionRuns } from './infra/functions.ts'
import { handleVms, type VmWork } from './infra/vms.ts'

/** Starts handling every kind of job. @param stopping fires when the worker stops. */
export async function handleAll(
  work: VmWork,
  activeBuilds: ActiveBuilds,
  stopping: AbortSignal,
): Promise<{ functions: FunctionRuns }> {
  await handleVms(work)
  work.templates.begin('postgres') // while VMs run already; the first database waits for it
  const turns = createDatabaseTurns()
  await handleDatabases(work, turns)
  await handleDatabaseSetups(work, turns)
  measureWatchedDatabases(work)
  await handleBuilds(work, activeBuilds)
  await handleEnvironments(work)
  await handleDatabaseBackups(work)
  await handleDatabaseRestores(work)
  await handleFolders(work.services.jobs, work.compute, work.nodeId)
  return { functions: await handleFunctions(work, stopping) }
}
