/** VMs whose disks are gone after a restore, because a backup contains folders but not the disks of VMs. */
import { findAll, sql, type Tx } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import type { Vm } from './rows.ts'
import { moveVm } from './states.ts'

const reason =
  'Its disk is not in the backup that this installation was restored from. Delete it; its folder is kept and can be given to a new VM.'

/** Moves every VM that is not being deleted to `error`, with the reason. */
export async function failVmsWithoutDisks(services: Pick<Background, 'config'>, tx: Tx): Promise<void> {
  const vms = await findAll<Vm>(
    tx,
    sql`select * from vms where status not in ('deleted', 'deleting') order by id for no key update`,
  )
  for (const { id } of vms) await moveVm(tx, services, id, 'error', { reason, usageEnd: 'orphaned', wanted: 'stopped' })
}
