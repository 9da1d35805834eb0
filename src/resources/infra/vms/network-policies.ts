/** Network policies: what a VM may connect to, and changing it. */
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { BerthError } from '#src/platform/errors.ts'
import { onNode } from '#src/platform/jobs.ts'
import { change, sql, type Tx } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import { exact, sentenceOf } from '#src/platform/shapes.ts'
import { reconcileVm } from './lifecycle.ts'
import type { NetworkPolicy, Vm } from './rows.ts'

const allowedHostsMax = 100
/** A host such as example.com, or every subdomain of one: *.example.com. Without scheme, port or path. */
export const hostShape = z
  .string()
  .max(253)
  .regex(
    /^(\*\.)?([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]*[a-z0-9])?$/i,
    'must be a host such as example.com or *.example.com, without scheme, port or path',
  )
const shape = z.discriminatedUnion('type', [
  exact({ type: z.literal('unrestricted') }),
  exact({ type: z.literal('none') }),
  exact({
    type: z.literal('limited'),
    allowed_hosts: z.array(hostShape).max(allowedHostsMax).default([]),
    allow_package_managers: z.boolean().default(false),
  }),
])

/**
 * Reads a policy: `{type: "unrestricted"}`, `{type: "none"}` or `{type: "limited", allowed_hosts, allow_package_managers}`.
 * @throws BerthError invalid_request.
 */
export function readNetworkPolicy(given: unknown): NetworkPolicy {
  const outcome = shape.safeParse(given ?? { type: 'unrestricted' })
  if (outcome.error?.issues[0]?.code === 'unrecognized_keys')
    throw new BerthError('invalid_request', sentenceOf(outcome.error, 'network_policy'))
  if (!outcome.success)
    throw new BerthError(
      'invalid_request',
      'The network policy must be {"type": "unrestricted"}, {"type": "none"}, or {"type": "limited", "allowed_hosts": ["example.com", "*.example.com"], "allow_package_managers": true}.',
    )
  const policy = outcome.data
  if (policy.type !== 'limited') return policy
  return {
    type: 'limited',
    allowedHosts: policy.allowed_hosts.map((one) => one.toLowerCase()),
    allowPackageManagers: policy.allow_package_managers,
  }
}

/** Sets another policy for a locked VM, which applies immediately if it is running. */
export async function setNetworkPolicy(
  { jobs }: Pick<Background, 'jobs'>,
  tx: Tx,
  vm: Pick<Vm, 'id' | 'nodeId' | 'networkPolicy'>,
  policy: NetworkPolicy,
): Promise<void> {
  if (isDeepStrictEqual(vm.networkPolicy, policy)) return
  await change(
    tx,
    sql`update vms set network_policy = ${JSON.stringify(policy)}, updated_at = now() where id = ${vm.id}`,
  )
  await jobs.enqueue(tx, onNode(reconcileVm, vm.nodeId), { vmId: vm.id })
}
