/**
 * The instances of a function: a version in a VM. An instance is made once and never changed: whatever it was made from
 * changes, another takes its place, and it finishes what it has begun.
 */
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import type { NodeUpkeep } from '#src/platform/jobs/upkeep.ts'
import { functionLimits } from '#src/platform/limits/functions.ts'
import { log } from '#src/platform/log.ts'
import { change, findAll, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { markDeleted } from '#src/resources/infra/vms/lifecycle.ts'
import { insertFunctionVm } from '#src/resources/infra/vms/functions.ts'
import { lockVmRow, type Vm } from '#src/resources/infra/vms/rows.ts'
import { findInstances, type StoredFunction } from './rows.ts'
import { moveFunction } from './states.ts'

const batchMax = 100

/**
 * Makes an instance of a locked function's current version, which becomes the function's.
 * @returns the stored id of its VM.
 * @throws BerthError as reserveRoom; then nothing is changed.
 */
export async function insertInstance(services: Background, tx: Tx, one: StoredFunction): Promise<string> {
  const { id, organizationId, userId, name, vcpuCount, memoryMb, versionId, generation } = one
  const vm = await insertFunctionVm(services, tx, { organizationId, userId, name, vcpuCount, memoryMb })
  await change(
    tx,
    sql`insert into function_instances (vm_id, function_id, version_id, generation) values (${vm.id}, ${id}, ${versionId}, ${generation})`,
  )
  return vm.id
}

/**
 * Puts another instance in the place of a locked function's: it was made from what has changed. One that answers requests
 * finishes them. Without room for both, the next request starts the new one.
 */
export async function replaceInstance(services: Background, tx: Tx, one: StoredFunction): Promise<StoredFunction> {
  const isUsed = one.status === 'running' || one.status === 'starting'
  if (one.vmId !== null) await retireInstance(services, tx, one.vmId, one.status === 'running')
  const afresh = sql`failures = 0, retry_at = null`
  const stopped = async (reason: string | null = null): Promise<StoredFunction> =>
    (await moveFunction(tx, one.id, 'stopped', { reason, set: sql`vm_id = null, ${afresh}` })) ?? {
      ...one,
      vmId: null,
    }
  if (!isUsed) {
    if (one.status === 'error' || one.status === 'stopping') return stopped()
    if (one.vmId !== null) await change(tx, sql`update functions set vm_id = null where id = ${one.id}`)
    return { ...one, vmId: null }
  }
  try {
    const vmId = await insertInstance(services, tx, one)
    return (await moveFunction(tx, one.id, 'starting', { set: sql`vm_id = ${vmId}, ${afresh}` })) ?? one
  } catch (error) {
    if (!(error instanceof BerthError)) throw error
    log.info({ function: encodeId('function', one.id), reason: error.message }, 'a function starts at its next request')
    return stopped(error.message)
  }
}

/** Takes an instance out of use: at once, or once it has had time to finish what it has begun. */
export async function retireInstance(services: Background, tx: Tx, vmId: string, drains: boolean): Promise<void> {
  const vm = await lockVmRow(tx, vmId)
  const seconds = drains && vm?.status === 'running' ? functionLimits.drainSeconds : 0
  await change(
    tx,
    sql`update function_instances set ends_at = now() + ${seconds} * interval '1 second' where vm_id = ${vmId}`,
  )
  if (vm && seconds === 0) await removeVm(services, tx, vm)
}

/** Deletes the VMs of all instances of a function. @returns whether there were any. */
export async function removeInstances(services: Background, tx: Tx, functionId: string): Promise<boolean> {
  const instances = await findInstances(tx, functionId)
  for (const { vmId } of instances) {
    const vm = await lockVmRow(tx, vmId)
    if (vm) await removeVm(services, tx, vm)
  }
  return instances.length > 0
}

/** Forgets an instance whose VM is deleted. */
export async function forgetInstance(tx: Tx, vmId: string): Promise<void> {
  await change(tx, sql`delete from function_instances where vm_id = ${vmId}`)
}

/** Deletes the VMs of this node's instances that have had their time to finish. For housekeeping. */
export async function endRetiredInstances(services: Background, nodeId: string): Promise<void> {
  const over = await findAll<Pick<Row<'function_instances'>, 'vmId'>>(
    services.db,
    sql`
    select i.vm_id from function_instances i join vms v on v.id = i.vm_id
    where i.ends_at <= now() and v.node_id = ${nodeId} and v.status not in ('deleting', 'deleted') order by i.ends_at limit ${batchMax}`,
  )
  for (const { vmId } of over)
    await transaction(services.db, async (tx) => {
      const vm = await lockVmRow(tx, vmId)
      if (vm) await removeVm(services, tx, vm)
    })
}

/** The instances on a node that run, or are to run. */
export async function instancesOfNode(db: Db, nodeId: string): Promise<string[]> {
  const rows = await findAll<Pick<Row<'function_instances'>, 'vmId'>>(
    db,
    sql`select i.vm_id from function_instances i join vms v on v.id = i.vm_id where v.node_id = ${nodeId} and v.status = 'running' order by i.vm_id`,
  )
  return rows.map(({ vmId }) => vmId)
}

async function removeVm(services: Background, tx: Tx, vm: Vm): Promise<void> {
  if (vm.status === 'deleting' || vm.status === 'deleted') return
  await markDeleted(services, tx, vm, 'request')
}

/** What a worker does for the instances on its node. */
export const instanceNodeUpkeep: readonly NodeUpkeep[] = [
  { every: 2, doing: 'ending replaced functions', work: endRetiredInstances },
]
