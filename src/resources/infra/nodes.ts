/** Nodes: where VMs run. Each has one worker, which says every few seconds that it lives and what it can hold. */
import { BerthError } from '#src/platform/errors.ts'
import { change, findAll, findOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'

/** A node is lost when its worker was silent this long (decisions.md §4.1: node lost > 60 s). */
export const nodeLostSeconds = 60

/** A worker says every 5 s that it lives; after this it is spoken of as silent, long before its VMs are given up. */
const nodeSilentSeconds = 15

/** What a worker says of its node. */
export type NodeReport = { id: string; name: string; agentUrl: string; acceleration: 'kvm' | 'emulation' | null; memoryMb: number; unavailableReason: string | null }

/** Where a node's worker answers. */
export type NodeAddress = { id: string; agentUrl: string; unavailableReason: string | null }

/** Writes the node's report and its heartbeat. */
export async function reportNode(db: Db, report: NodeReport): Promise<void> {
  await change(db, sql`
    insert into nodes (id, name, agent_url, acceleration, memory_mb, unavailable_reason)
    values (${report.id}, ${report.name}, ${report.agentUrl}, ${report.acceleration}, ${report.memoryMb}, ${report.unavailableReason})
    on conflict (id) do update set name = excluded.name, agent_url = excluded.agent_url, acceleration = excluded.acceleration,
      memory_mb = excluded.memory_mb, unavailable_reason = excluded.unavailable_reason, heartbeat_at = now()`)
}

/** Why no node runs VMs right now, as a sentence; null when one does. */
export async function whyNoVms(db: Db): Promise<string | null> {
  const nodes = await findAll<{ unavailableReason: string | null }>(db, sql`select unavailable_reason from nodes where heartbeat_at > now() - ${nodeSilentSeconds} * interval '1 second' limit 1000`)
  if (nodes.some((node) => node.unavailableReason === null)) return null
  return nodes[0]?.unavailableReason ?? 'No worker that runs VMs is alive.'
}

/** The node's address. */
export async function findNode(db: Db, id: string): Promise<NodeAddress | undefined> {
  return findOne(db, sql`select id, agent_url, unavailable_reason from nodes where id = ${id}`)
}

/**
 * The living node with the most memory left, locked until the transaction ends so that two creates cannot both take its last.
 * @param only the node that has the wanted disk (a folder's, a template's), or null for any.
 * @throws BerthError capacity_unavailable saying why none can take it.
 */
export async function reserveNode(tx: Tx, memoryMb: number, only: string | null): Promise<NodeAddress> {
  const nodes = await findAll<NodeAddress & { memoryMb: number; promisedMb: number }>(tx, sql`
    select n.id, n.agent_url, n.unavailable_reason, n.memory_mb,
      ((select coalesce(sum(v.memory_mb), 0) from vms v where v.node_id = n.id and v.status not in ('deleted', 'stopped', 'paused', 'error'))
        + (select coalesce(sum(b.memory_mb), 0) from build_jobs b where b.node_id = n.id and b.status = 'running'))::int as promised_mb
    from nodes n where n.heartbeat_at > now() - ${nodeLostSeconds} * interval '1 second' and (${only}::uuid is null or n.id = ${only})
    order by n.id for update of n`)
  const willing = nodes.filter((node) => node.unavailableReason === null)
  const [roomiest] = willing.filter((node) => node.memoryMb - node.promisedMb >= memoryMb).sort((a, b) => b.memoryMb - b.promisedMb - (a.memoryMb - a.promisedMb))
  if (roomiest) return roomiest
  const refused = nodes.find((node) => node.unavailableReason !== null)
  if (willing.length === 0 && refused) throw new BerthError('capacity_unavailable', refused.unavailableReason ?? '', { retryAfterSeconds: 60 })
  if (nodes.length === 0) throw new BerthError('capacity_unavailable', 'No worker that runs VMs is alive right now. Try again soon; if it stays, run: npm run doctor', { retryAfterSeconds: 10 })
  throw new BerthError('capacity_unavailable', `No node has ${memoryMb} MB of memory left for another VM. Delete or stop one, or raise BERTH_VM_MEMORY_MB.`, { retryAfterSeconds: 30 })
}
