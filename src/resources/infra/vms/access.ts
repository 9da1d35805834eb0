/** Access to a running VM: finds it, checks that it is running, and calls its node. */
import { allow, type Permission, type Scope } from '#src/platform/access.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { findOne, sql } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Call } from '#src/platform/services.ts'
import { nodeClient, type NodeClient } from '#src/drivers/node.ts'
import { refuseWiderReach } from './reach.ts'
import { knownVms, type Vm } from './rows.ts'
import { adviceToRun } from './states.ts'

/** A running VM, and its node. */
export type RunningVm = { id: string; scope: Scope; envGeneration: number; node: NodeClient }

/** The purpose that a node's token is derived for; the worker derives the same. */
export const nodeTokenPurpose = 'node agent'

/**
 * The running VM of this id.
 * @param ifNotRunning the error if the interface names one; otherwise 400, because it lists no 409.
 * @throws BerthError not_found; forbidden for the token inside a VM that reaches less; invalid_request when it is not running.
 */
export async function reachVm(
  call: Call,
  publicId: string,
  permission: Permission,
  ifNotRunning: 'invalid_request' | 'service_unavailable' = 'invalid_request',
): Promise<RunningVm> {
  const scope = allow(call.caller, permission)
  const id = decodeId('vm', publicId)
  const row =
    id &&
    (await findOne<Pick<Vm, 'status' | 'envGeneration' | 'networkPolicy'> & Pick<Row<'nodes'>, 'agentUrl'>>(
      call.db,
      sql`
    select v.status, v.env_generation, v.network_policy, n.agent_url from (select * from vms where id = ${id} and ${knownVms(scope)} and status <> 'deleted') v join nodes n on n.id = v.node_id`,
    ))
  if (!row) throw notFound('VM')
  if (scope.vmId !== id) await refuseWiderReach(call.db, scope, row.networkPolicy)
  if (row.status !== 'running')
    throw new BerthError(
      ifNotRunning,
      `This VM is ${row.status}; this requires a running one. ${adviceToRun(row.status)}`,
    )
  return {
    id,
    scope,
    envGeneration: row.envGeneration,
    node: nodeClient(row.agentUrl, call.sealer.derive(nodeTokenPurpose)),
  }
}
