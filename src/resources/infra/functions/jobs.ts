/** The jobs of functions. */
import { job, onNode, type Jobs } from '#src/platform/jobs.ts'
import { findAll, findOne, sql, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Vm } from '#src/resources/infra/vms/rows.ts'

/** Brings a function, and its instances on the node, to what their rows lead to. Runs on each node that has one. */
export const reconcileFunction = job<{ functionId: string }>('functions-reconcile', {
  retryLimit: 20,
  expireInSeconds: 300,
})

/** The topic of notices about functions: their status, their instance, their versions. */
export const functionTopic = 'function'

/** Enqueues it on every node that has an instance of the function. */
export async function enqueueFunction(jobs: Pick<Jobs, 'enqueue'>, tx: Tx, functionId: string): Promise<void> {
  const nodes = await findAll<Pick<Row<'vms'>, 'nodeId'>>(
    tx,
    sql`select distinct v.node_id from function_instances i join vms v on v.id = i.vm_id where i.function_id = ${functionId}`,
  )
  for (const { nodeId } of nodes) await jobs.enqueue(tx, onNode(reconcileFunction, nodeId), { functionId })
}

/** Brings the function that runs in a VM, if one does, on from where its VM is now. */
export async function noteVmOfFunction(
  { jobs }: { jobs: Pick<Jobs, 'enqueue'> },
  tx: Tx,
  vm: Pick<Vm, 'id' | 'nodeId' | 'purpose'>,
): Promise<void> {
  if (vm.purpose !== 'function') return
  const instance = await findOne<Pick<Row<'function_instances'>, 'functionId'>>(
    tx,
    sql`select function_id from function_instances where vm_id = ${vm.id}`,
  )
  if (!instance) return
  await jobs.enqueue(tx, onNode(reconcileFunction, vm.nodeId), { functionId: instance.functionId })
  publish(tx, functionTopic, instance.functionId)
}
