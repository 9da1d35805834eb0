/** Every noun that has slow work: one line each. */
import { handleFolders } from './infra/folders.ts'
import { handleVms, type VmWork } from './infra/vms.ts'

/** Starts handling every kind of job. */
export async function handleAll(work: VmWork): Promise<void> {
  await handleVms(work)
  await handleFolders(work.services.jobs, work.compute, work.nodeId)
}
