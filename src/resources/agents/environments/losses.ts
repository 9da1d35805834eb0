/** Environments whose VMs are gone after a restore, because a backup does not contain the disks of VMs. */
import { change, findAll, sql, type Tx } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import type { Environment } from './rows.ts'
import { moveEnvironment } from './states.ts'
import { releaseVm } from './vms.ts'

/** Detaches the VMs: the next use of each environment creates a new one. */
export async function loseEnvironmentVms(services: Pick<Background, 'jobs' | 'config'>, tx: Tx): Promise<void> {
  const environments = await findAll<Environment>(
    tx,
    sql`select * from environments where vm_id is not null order by id for no key update`,
  )
  for (const environment of environments) {
    await releaseVm(services, tx, environment)
    await moveEnvironment(
      tx,
      environment.id,
      'error',
      'Its VM is not in the backup that this installation was restored from. The next use creates a new one.',
    ) // only one that was being prepared
  }
  await change(tx, sql`update environments set vm_id = null, prepared_vm_id = null where vm_id is not null`)
}
