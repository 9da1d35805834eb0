/** Access to a running VM: finds it, checks that it is running, and calls its node. */
import { allow, type Scope } from '#src/platform/access.ts'
import type { Permission } from '#src/platform/access/permissions.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { findOne, sql } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Call } from '#src/platform/services.ts'
import { nodeClient, type NodeClient } from '#src/drivers/node.ts'
import { refuseWiderReach } from './reach.ts'
import { findVmRow, knownVms, type Vm } from './rows.ts'
import { adviceToRun } from './states.ts'
import { wakeVm } from './waking.ts'

/** A running VM, and its node. */
export type RunningVm = { id: string; scope: Scope; envGeneration: number; node: NodeClient }

/** The purpose that a node's token is derived for; the worker derives the same. */
export const nodeTokenPurpose = 'node agent'

/** How a VM is reached that does not run. `ifNotRunning`: the error if the interface names one; otherwise 400, because it lists no 409. */
export type Reaching = { ifNotRunning?: 'invalid_request' | 'service_unavailable'; wakes?: boolean }

type Seen = Pick<Vm, 'status' | 'sleeps' | 'envGeneration' | 'networkPolicy'> & Pick<Row<'nodes'>, 'agentUrl'>

/**
 * The running VM of this id. One that sleeps because nobody used it is woken, and waited for.
 * @param wakes false for what a VM that sleeps can do without.
 * @throws BerthError not_found; forbidden for the token inside a VM that reaches less; invalid_request when it is not
 * running; as wakeVm.
 */
export async function reachVm(
  call: Call,
  publicId: string,
  permission: Permission,
  { ifNotRunning = 'invalid_request', wakes = true }: Reaching = {},
): Promise<RunningVm> {
  const scope = allow(call.caller, permission)
  const id = decodeId('vm', publicId)
  const seen = id && (await look(call, scope, id))
  if (!seen) throw notFound('VM')
  if (scope.vmId !== id) await refuseWiderReach(call.db, scope, seen.networkPolicy)
  let row: Seen | undefined = seen
  if (wakes && seen.sleeps && seen.status !== 'running') {
    await wakeVm(call, id)
    row = await look(call, scope, id)
  }
  if (!row) throw notFound('VM')
  if (row.status !== 'running')
    throw new BerthError(
      ifNotRunning,
      `This VM is ${row.status}; this requires a running one. ${adviceToRun(row.status)}`,
    )
  const node = nodeClient(row.agentUrl, call.sealer.derive(nodeTokenPurpose))
  return { id, scope, envGeneration: row.envGeneration, node: wakes ? awake(call, id, node) : node }
}

async function look(call: Call, scope: Scope, id: string): Promise<Seen | undefined> {
  return findOne<Seen>(
    call.db,
    sql`
    select v.status, v.sleeps, v.env_generation, v.network_policy, n.agent_url
    from (select * from vms where id = ${id} and ${knownVms(scope)} and status <> 'deleted') v
    join nodes n on n.id = v.node_id`,
  )
}

/** Asks once more where a VM fell asleep meanwhile: then its node has refused, and begun nothing. */
function awake(call: Call, id: string, node: NodeClient): NodeClient {
  const ask = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof BerthError && error.code === 'vm_unreachable')) throw error
      const vm = await findVmRow(call.db, id)
      if (!vm?.sleeps || (await wakeVm(call, id))?.status !== 'running') throw error
      return work()
    }
  }
  return {
    ...node,
    call: (name, input, options) => ask(() => node.call(name, input, options)),
    tunnel: (end) => ask(() => node.tunnel(end)),
  }
}
