/**
 * Nodes: the hosts that run VMs. Each has one worker, which sends a heartbeat every few seconds with the node's
 * capacity.
 */
import { allow } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import type { RawBuilder } from 'kysely'
import { rowsOf } from '#src/platform/nouns.ts'
import type { Page, PageWindow } from '#src/platform/pages.ts'
import { change, findAll, findOne, getOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Call } from '#src/platform/services.ts'

/** A node is lost when its worker has been silent for this long. */
export const nodeLostSeconds = 60

/**
 * A worker sends a heartbeat every 5 s; after this long without one it counts as silent, well before its VMs are given
 * up.
 */
export const nodeSilentSeconds = 15

/** Metrics do not tell of a node any more that has been silent for this long. */
export const nodeForgottenDays = 7

/** A worker's report about its node. `workerNumber` counts the node's workers, and is the fencing token. */
export type NodeReport = {
  id: string
  name: string
  agentUrl: string
  acceleration: 'kvm' | 'emulation' | null
  memoryMb: number
  diskMb: number
  unavailableReason: string | null
  /** The names of Berth's own templates from which machines start there at once. */
  templates: readonly string[]
  workerNumber: number
}

/** A node as callers see it, without its worker's address. */
export type Machine = Pick<NodeReport, 'id' | 'name' | 'acceleration' | 'unavailableReason'> & { heartbeatAt: string }

/** The nodes with these stored ids, which every caller may see. */
export async function findMachines(call: Call, ids: readonly string[]): Promise<Machine[]> {
  allow(call.caller, 'templates:read')
  return findAll(
    call.db,
    sql`select id, name, acceleration, unavailable_reason, heartbeat_at from nodes where id = any(${ids}::uuid[])`,
  )
}

/** All nodes, oldest first, for an organization's admins. @throws BerthError invalid_request; not_permitted_for_role. */
export async function pageMachines(call: Call, window: PageWindow): Promise<Page<Machine>> {
  allow(call.caller, 'machines:read')
  return machineRows.page(call.db, window, sql`true`, 'asc')
}
const machineRows = rowsOf<Machine>(
  'node',
  'nodes',
  'machine',
  sql`id, name, acceleration, unavailable_reason, heartbeat_at`,
)

/** The address of a node's worker. */
export type NodeAddress = Pick<Row<'nodes'>, 'id' | 'agentUrl' | 'unavailableReason'>

/** Takes over the node for a worker that starts; the previous worker loses it. @returns the worker's number. */
export async function takeNode(db: Db, report: Omit<NodeReport, 'workerNumber'>): Promise<number> {
  const { workerNumber } = await getOne<Pick<Row<'nodes'>, 'workerNumber'>>(
    db,
    sql`
    insert into nodes (id, name, agent_url, acceleration, memory_mb, disk_mb, unavailable_reason, templates, worker_number)
    values (${report.id}, ${report.name}, ${report.agentUrl}, ${report.acceleration}, ${report.memoryMb}, ${report.diskMb},
      ${report.unavailableReason}, ${report.templates}, 1)
    on conflict (id) do update set worker_number = nodes.worker_number + 1, ${asReported(report)} returning worker_number`,
  )
  return workerNumber
}

/** Writes the node's report and its heartbeat. @returns false when a later worker has the node. */
export async function reportNode(db: Db, report: NodeReport): Promise<boolean> {
  return (
    (await change(
      db,
      sql`update nodes set ${asReported(report)} where id = ${report.id} and worker_number = ${report.workerNumber}`,
    )) > 0
  )
}

function asReported({
  name,
  agentUrl,
  acceleration,
  memoryMb,
  diskMb,
  unavailableReason,
  templates,
}: Omit<NodeReport, 'workerNumber'>): RawBuilder<unknown> {
  return sql`
    name = ${name}, agent_url = ${agentUrl}, acceleration = ${acceleration}, memory_mb = ${memoryMb}, disk_mb = ${diskMb},
    unavailable_reason = ${unavailableReason}, templates = ${templates}, heartbeat_at = now()`
}

/** Why no node runs VMs now, as a sentence; null when one does. */
export async function whyNoVms(db: Db): Promise<string | null> {
  const nodes = await findAll<Pick<Row<'nodes'>, 'unavailableReason'>>(
    db,
    sql`select unavailable_reason from nodes where heartbeat_at > now() - ${nodeSilentSeconds} * interval '1 second' limit 1000`,
  )
  if (nodes.some((node) => node.unavailableReason === null)) return null
  return nodes[0]?.unavailableReason ?? 'No worker that can run VMs is alive.'
}

/** The node's address. */
export async function findNode(db: Db, id: string): Promise<NodeAddress | undefined> {
  return findOne(db, sql`select id, agent_url, unavailable_reason from nodes where id = ${id}`)
}

/** A living node, and its capacity for VMs; `diskMb` is null when the node does not report it. */
export type NodeRoom = NodeAddress & Pick<Row<'nodes'>, 'memoryMb' | 'diskMb'>

/** The living nodes, locked until the transaction ends, so that reservations of room are serialized. */
export async function lockNodes(tx: Tx): Promise<NodeRoom[]> {
  return findAll<NodeRoom>(
    tx,
    sql`
    select id, agent_url, unavailable_reason, memory_mb, disk_mb
    from nodes
    where heartbeat_at > now() - ${nodeLostSeconds} * interval '1 second'
    order by id
    for no key update`,
  )
}

/**
 * The nodes that accept machines now.
 * @param only the node that it must be, or null for any.
 * @throws BerthError capacity_unavailable saying why none does.
 */
export function willingNodes(nodes: readonly NodeRoom[], only: string | null): NodeRoom[] {
  const possible = nodes.filter(({ id }) => only === null || id === only)
  const willing = possible.filter((node) => node.unavailableReason === null)
  const refused = possible.find((node) => node.unavailableReason !== null)
  if (willing.length === 0 && refused)
    throw new BerthError('capacity_unavailable', refused.unavailableReason ?? '', { retryAfterSeconds: 60 })
  if (willing.length === 0)
    throw new BerthError(
      'capacity_unavailable',
      'No worker that can run VMs is alive right now. Try again soon; if this persists, run: npm run doctor',
      { retryAfterSeconds: 10 },
    )
  return willing
}

/**
 * The node with the most free memory that has room for this.
 * @throws BerthError capacity_unavailable naming the resource that is too short.
 */
export function chooseNode(
  nodes: readonly (NodeRoom & { free: { memoryMb: number; diskMb: number } })[],
  wanted: { memoryMb: number; diskMb: number },
): NodeAddress {
  const withMemory = nodes.filter(({ free }) => wanted.memoryMb === 0 || free.memoryMb >= wanted.memoryMb)
  const [roomiest] = withMemory
    .filter(({ free }) => wanted.diskMb === 0 || free.diskMb >= wanted.diskMb)
    .sort((a, b) => b.free.memoryMb - a.free.memoryMb)
  if (roomiest) return roomiest
  const [what, amountMb, setting] =
    withMemory.length === 0
      ? (['memory', wanted.memoryMb, 'BERTH_VM_MEMORY_MB'] as const)
      : (['disk', wanted.diskMb, 'BERTH_VM_DISK_GB'] as const)
  throw new BerthError(
    'capacity_unavailable',
    `No node has ${amountMb} MB of ${what} left for another VM. Delete ${what === 'memory' ? 'or stop ' : ''}one, or raise ${setting}.`,
    { retryAfterSeconds: 30 },
  )
}
