/** Whom the VMs serve that are not a user's. */
import type { Jobs } from '#src/platform/jobs.ts'
import type { Tx } from '#src/platform/postgres.ts'
import { noteVmOfDatabase } from '#src/resources/infra/databases/jobs.ts'
import { noteVmOfFunction } from '#src/resources/infra/functions/jobs.ts'

/** Tells the database or function that runs in this VM, if one does, that its VM has changed. */
export async function noteVmChange(
  services: { jobs: Pick<Jobs, 'enqueue'> },
  tx: Tx,
  vm: { id: string; nodeId: string; purpose: string | null },
): Promise<void> {
  if (vm.purpose === 'database') await noteVmOfDatabase(services, tx, vm)
  if (vm.purpose === 'function') await noteVmOfFunction(services, tx, vm)
}
