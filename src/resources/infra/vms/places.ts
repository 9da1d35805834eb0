/** Where VMs are, for those who connect to them. */
import { findOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Vm } from './rows.ts'

/** The status of a VM, whether it rests because nobody used it, and the address of the worker that has it. */
export type VmPlace = Pick<Vm, 'status' | 'sleeps'> & { nodeAgentUrl: string }

/** The topic of notices about VMs; the id is the VM's. */
export const vmTopic = 'vm'

/** Where a VM is, whoever owns it; undefined for one that is not there, and for those of databases, which nobody else may reach. */
export async function findVmPlace(db: Db, id: string): Promise<VmPlace | undefined> {
  return findOne<VmPlace>(
    db,
    sql`
    select v.status, v.sleeps, n.agent_url as node_agent_url from vms v join nodes n on n.id = v.node_id
    where v.id = ${id} and v.purpose is distinct from 'database' and v.status <> 'deleted'`,
  )
}
