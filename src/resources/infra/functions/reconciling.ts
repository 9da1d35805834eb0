/** What the VM of an instance tells its function: each is a transaction, which reads first and may run again. */
import { onNode } from '#src/platform/jobs.ts'
import type { NodeUpkeep } from '#src/platform/jobs/upkeep.ts'
import { change, findAll, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import { BerthError } from '#src/platform/errors.ts'
import { markDeleted } from '#src/resources/infra/vms/lifecycle.ts'
import { lockVmRow, type Vm } from '#src/resources/infra/vms/rows.ts'
import { endFunction } from '#src/resources/infra/functions.ts'
import { failFunction, findRetry } from './failures.ts'
import { forgetInstance, removeInstances } from './instances.ts'
import { enqueueFunction, reconcileFunction } from './jobs.ts'
import { findInstances, lockFunctionRow, type FunctionInstance, type StoredFunction } from './rows.ts'
import { moveFunction } from './states.ts'
import { isStartsBusy, startLocked } from './waking.ts'

const batchMax = 100
/** A function that stands between two statuses for so long gets a new job, in case its job was lost. */
const standstillSeconds = 10
/** A start that has to wait for others of its organization, or for room, is tried again after so long. */
const busySeconds = 1

const machineEnded = 'Its machine ended unexpectedly.'
const notStarted = 'Its VM did not start.'

/**
 * Brings a function to what its VMs say.
 * @returns the VMs of its instances that run, so that their programs must.
 */
export async function settleFunction(services: Background, functionId: string, nodeId: string): Promise<string[]> {
  return transaction(services.db, async (tx) => {
    const one = await lockFunctionRow(tx, functionId)
    if (!one) return []
    const running: string[] = []
    for (const instance of await findInstances(tx, functionId)) {
      const vm = await lockVmRow(tx, instance.vmId)
      if (vm?.status === 'running') running.push(vm.id)
      await settleInstance(services, tx, one.id, instance, vm)
    }
    if (one.status === 'deleting') {
      if (!(await removeInstances(services, tx, functionId))) await endFunction(tx, functionId)
      return running
    }
    await startAgain(services, tx, functionId, nodeId)
    return running
  })
}

async function settleInstance(
  services: Background,
  tx: Tx,
  functionId: string,
  { vmId, readyAt }: FunctionInstance,
  vm: Vm | undefined,
): Promise<void> {
  const one = await lockFunctionRow(tx, functionId)
  if (!one) return
  const isCurrent = one.vmId === vmId
  if (isCurrent && vm?.status === 'paused' && one.status === 'stopping') {
    await moveFunction(tx, one.id, 'stopped')
    return
  }
  // Its program was paused with it, and goes on where it was: nobody need look whether it listens.
  if (isCurrent && vm?.status === 'running' && readyAt !== null) {
    await moveFunction(tx, one.id, 'running', {}, ['starting'])
    return
  }
  const isOver = !vm || vm.status === 'deleted'
  const isBroken = vm?.status === 'error' || vm?.status === 'stopped' || vm?.status === 'stopping'
  if (!isOver && !isBroken) return
  if (isCurrent) await loseInstance(services, tx, one, vm)
  if (vm && isBroken) await markDeleted(services, tx, vm, 'error')
  if (isOver) await forgetInstance(tx, vmId)
}

/** The VM of the current instance is gone, or is of no use: nothing of value was in it. */
async function loseInstance(services: Background, tx: Tx, one: StoredFunction, vm: Vm | undefined): Promise<void> {
  await change(tx, sql`update functions set vm_id = null where id = ${one.id}`)
  const isWanted = one.status === 'starting' || one.status === 'running'
  if (!isWanted) {
    if (one.status === 'stopping') await moveFunction(tx, one.id, 'stopped')
    return
  }
  const reason = vm?.startedAt ? machineEnded : `${notStarted} ${vm?.statusReason ?? ''}`.trim()
  await failFunction(services, tx, one, { reason, isSteady: one.status === 'running', nodeId: vm?.nodeId ?? null })
}

/** A failed function that is in use is started again, when it has waited long enough. */
async function startAgain(services: Background, tx: Tx, functionId: string, nodeId: string): Promise<void> {
  const one = await lockFunctionRow(tx, functionId)
  if (one?.status !== 'error' || one.versionId === null) return
  const { waitSeconds, isInUse, hasRetry } = await findRetry(tx, functionId)
  if (!isInUse || !hasRetry) return
  const again = (seconds: number): Promise<void> =>
    services.jobs.enqueue(tx, onNode(reconcileFunction, nodeId), { functionId }, { startAfterSeconds: seconds })
  if (waitSeconds > 0) return again(Math.ceil(waitSeconds))
  try {
    await startLocked(services, tx, one)
  } catch (error) {
    if (!(error instanceof BerthError) && !isStartsBusy(error)) throw error
    await again(busySeconds)
  }
}

/** Enqueues new jobs for a node's functions that stand between two statuses, or whose VM has ended. For housekeeping. */
export async function requeueStalledFunctions(services: Background, nodeId: string): Promise<void> {
  await transaction(services.db, async (tx) => {
    const still = await findAll<Pick<StoredFunction, 'id'>>(
      tx,
      sql`
      update functions set updated_at = now() where id in (
        select f.id from functions f join function_instances i on i.function_id = f.id join vms v on v.id = i.vm_id
        where v.node_id = ${nodeId} and f.updated_at < now() - ${standstillSeconds} * interval '1 second'
          and (f.status in ('starting', 'stopping', 'deleting') or v.status in ('error', 'stopped', 'deleted')) order by f.id limit ${batchMax})
      returning id`,
    )
    for (const { id } of still) await enqueueFunction(services.jobs, tx, id)
  })
}

/** What a worker does for the functions of its node. */
export const functionNodeUpkeep: readonly NodeUpkeep[] = [
  { every: 5, doing: 'requeueing stalled functions', work: requeueStalledFunctions },
]
