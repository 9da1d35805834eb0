/** Periodic checks: VMs that have expired, that are stuck between two statuses, or whose node is lost. */
import { onNode } from '#src/platform/jobs.ts'
import type { NodeUpkeep, Upkeep } from '#src/platform/jobs/upkeep.ts'
import { findAll, sql, transaction } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import { nodeLostSeconds } from '#src/resources/infra/nodes.ts'
import { markDeleted, reconcileVm } from './lifecycle.ts'
import type { Vm } from './rows.ts'
import { moveVm } from './states.ts'

/** A VM that is in a transient status for this long gets a new job, in case its job was lost. */
const standstillSeconds = 60
const batchMax = 100

/** Marks a node's expired VMs for deletion. */
export async function expireVms(services: Background, nodeId: string): Promise<void> {
  await transaction(services.db, async (tx) => {
    const due = await findAll<Pick<Vm, 'id' | 'nodeId'>>(
      tx,
      sql`
      select id, node_id
      from vms
      where expires_at < now() and status not in ('deleting', 'deleted') and node_id = ${nodeId}
      order by id limit ${batchMax}
      for no key update skip locked`,
    )
    for (const vm of due) await markDeleted(services, tx, vm, 'timeout')
  })
}

/** Enqueues a new job for a node's VMs that are stuck in a transient status. */
export async function requeueStalledVms(services: Background, nodeId: string): Promise<void> {
  await transaction(services.db, async (tx) => {
    const still = await findAll<Pick<Vm, 'id'>>(
      tx,
      sql`
      update vms set updated_at = now() where id in (
        select id from vms where status in ('creating', 'stopping', 'starting', 'pausing', 'resuming', 'deleting') and node_id = ${nodeId}
          and updated_at < now() - ${standstillSeconds} * interval '1 second' order by id limit ${batchMax} for no key update skip locked)
      returning id`,
    )
    for (const vm of still) await services.jobs.enqueue(tx, onNode(reconcileVm, nodeId), { vmId: vm.id })
  })
}

/**
 * A node that was silent for 60 s is lost: its running VMs are in `error` until it is back.
 * @param except the caller's own node, which is alive even if it had no time for a heartbeat.
 */
export async function endVmsOfLostNodes(services: Background, except: string | null = null): Promise<void> {
  const lost = await findAll<Pick<Vm, 'id'>>(
    services.db,
    sql`
    select v.id from vms v join nodes n on n.id = v.node_id
    where v.status = 'running'
      and n.id is distinct from ${except}::uuid
      and n.heartbeat_at < now() - ${nodeLostSeconds} * interval '1 second'
    order by v.id limit ${batchMax}`,
  )
  for (const vm of lost)
    await moveVm(services.db, services, vm.id, 'error', { reason: 'Its node was lost.', usageEnd: 'orphaned' }, [
      'running',
    ])
}

/** What workers do for all VMs. */
export const vmUpkeep: readonly Upkeep[] = [
  { every: 20, doing: 'ending the VMs of lost nodes', work: endVmsOfLostNodes },
]

/** What a worker does for the VMs of its node. */
export const vmNodeUpkeep: readonly NodeUpkeep[] = [
  { every: 1, doing: 'deleting expired VMs', work: expireVms },
  { every: 20, doing: 'requeueing stalled VMs', work: requeueStalledVms },
]
