/**
 * The capacity that organizations use on nodes, and its limits: the one place that counts it. Whatever creates or
 * starts a machine reserves room here, in the same transaction. Reservations are serialized, so no two take the last
 * room.
 */
import type { RawBuilder } from 'kysely'
import type { Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { findAll, getOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { counted } from '#src/platform/texts.ts'
import { folderSizeMb } from './folders.ts'
import {
  chooseNode,
  lockNodes,
  nodeForgottenDays,
  nodeLostSeconds,
  willingNodes,
  type NodeAddress,
  type NodeRoom,
} from './nodes.ts'

/** What a reservation needs: megabytes, VMs and workspace folders. */
export type Room = { memoryMb: number; diskMb: number; vms: number; folders: number }

/** One VM of the default size, with a folder: the minimum that every organization gets. */
export const defaultVm = { vcpuCount: 2, memoryMb: 2048, diskMb: 10 * 1024 }
const firstRoom = { memoryMb: defaultVm.memoryMb, diskMb: defaultVm.diskMb + folderSizeMb }
/** The share of the nodes' capacity that is reserved for organizations that use less than that minimum. */
const keptShare = 0.25
const retryAfterSeconds = 30

/**
 * Whether a VM's memory is reserved for it: from its creation or start until it is stopped, paused, or given up as an
 * error.
 */
export function holdsMemory(vm: Pick<Row<'vms'>, 'status' | 'desiredStatus' | 'bootFailures' | 'startedAt'>): boolean {
  if (vm.status === 'error')
    return vm.desiredStatus === 'running' && vm.bootFailures < limits.bootTriesMax && vm.startedAt !== null // it restarts by itself
  return vm.status !== 'stopped' && vm.status !== 'paused' && vm.status !== 'deleted'
}
/** The same as an SQL condition on vms. */
const memoryIsHeld = sql<boolean>`(status not in ('stopped', 'paused', 'error', 'deleted')
  or (status = 'error' and desired_status = 'running' and boot_failures < ${sql.lit(limits.bootTriesMax)} and started_at is not null))`

/** What a running build needs: its machine, a disk for its repository's cache, and the copy that becomes a template. */
export function roomOfBuild({
  memoryMb,
  repoKey,
  outputType,
}: {
  memoryMb: number
  repoKey: string | null
  outputType: string
}): Room {
  return {
    memoryMb,
    diskMb: limits.buildDiskMb * (outputType === 'template' ? 2 : 1) + (repoKey === null ? 0 : folderSizeMb),
    vms: 0,
    folders: 0,
  }
}

/** Everything that uses capacity, one row each. */
const holders: RawBuilder<unknown> = sql`
  select node_id, organization_id, case when ${memoryIsHeld} then memory_mb else 0 end as memory_mb,
    disk_mb + case when purpose = 'database' then (select d.disk_mb from databases d where d.vm_id = vms.id)
      when folder_id is not null or wants_folder then ${sql.lit(folderSizeMb)} else 0 end as disk_mb, 1 as vms
  from vms where status <> 'deleted'
  union all select node_id, organization_id, memory_mb,
      ${sql.lit(limits.buildDiskMb)} * case when output_type = 'template' then 2 else 1 end + case when repo_key is null then 0 else ${sql.lit(folderSizeMb)} end,
      0
    from build_jobs where status = 'running'
  union all select node_id, organization_id, 0, ${sql.lit(folderSizeMb)}, 0 from build_caches where job_id is null
  union all select node_id, organization_id, 0, used_mb, 0 from folders where deleted_at is null and used_mb > 0
  union all select node_id, organization_id, 0, (size_bytes / 1048576)::int, 0 from templates where node_id is not null and size_bytes is not null`

/**
 * Reserves room for the organization on a node when the transaction commits, and returns the node.
 * @param only the node that stores the required disk (a folder's, a template's, a stopped VM's), or null for any.
 * @throws BerthError rate_limited when the organization may not have more; capacity_unavailable when no node can take
 * it.
 */
export async function reserveRoom(
  { config }: { config: Config },
  tx: Tx,
  organizationId: string,
  wanted: Partial<Room>,
  only: string | null,
): Promise<NodeAddress> {
  const room: Room = { memoryMb: 0, diskMb: 0, vms: 0, folders: 0, ...wanted }
  const nodes = await lockNodes(tx)
  const willing = willingNodes(nodes, only)
  // A statement of its own: it must see what earlier holders of the lock have committed.
  const sums = await findAll<{
    nodeId: string
    memoryMb: number
    diskMb: number
    ownMemoryMb: number
    ownDiskMb: number
    ownVms: number
  }>(
    tx,
    sql`
    select node_id, sum(memory_mb)::bigint as memory_mb, sum(disk_mb)::bigint as disk_mb,
      coalesce(sum(memory_mb) filter (where own), 0)::bigint as own_memory_mb,
      coalesce(sum(disk_mb) filter (where own), 0)::bigint as own_disk_mb, coalesce(sum(vms) filter (where own), 0)::bigint as own_vms
    from (select *, organization_id = ${organizationId} as own from (${holders}) holder) counted where node_id is not null group by node_id`,
  )
  const held = { memoryMb: total(sums, 'ownMemoryMb'), diskMb: total(sums, 'ownDiskMb'), vms: total(sums, 'ownVms') }
  const roomOf = (node: NodeRoom): { memoryMb: number; diskMb: number } => {
    const promised = sums.find(({ nodeId }) => nodeId === node.id)
    return {
      memoryMb: node.memoryMb - (promised?.memoryMb ?? 0),
      diskMb: (node.diskMb ?? Infinity) - (promised?.diskMb ?? 0),
    }
  }
  const node = chooseNode(
    willing.map((one) => ({ ...one, free: roomOf(one) })),
    room,
  )
  const open = nodes
    .filter(({ unavailableReason }) => unavailableReason === null)
    .map((one) => ({ ...one, free: roomOf(one) }))
  checkCount(config, held, room)
  if (room.folders > 0) await checkFolders(tx, organizationId, room.folders)
  checkShare('memory', config.orgMemoryMb, held.memoryMb, room.memoryMb, firstRoom.memoryMb, {
    total: total(open, 'memoryMb'),
    free: sumOf(open.map(({ free }) => free.memoryMb)),
  })
  checkShare(
    'disk',
    config.orgDiskGb === null ? null : config.orgDiskGb * 1024,
    held.diskMb,
    room.diskMb,
    firstRoom.diskMb,
    { total: sumOf(open.map(({ diskMb }) => diskMb ?? Infinity)), free: sumOf(open.map(({ free }) => free.diskMb)) },
  )
  return node
}

/** A node's capacity and its reserved part; `isUp` says whether it accepts machines. */
export type NodePromises = {
  name: string
  isUp: boolean
  memoryMb: number
  diskMb: number | null
  promisedMemoryMb: number
  promisedDiskMb: number
}

/** The nodes with their reserved capacity, for the metrics: those that were alive within a week. */
export async function readPromises(db: Db): Promise<NodePromises[]> {
  return findAll<NodePromises>(
    db,
    sql`
    select n.name, n.unavailable_reason is null and n.heartbeat_at > now() - ${nodeLostSeconds} * interval '1 second' as is_up, n.memory_mb, n.disk_mb,
      coalesce(h.memory_mb, 0)::bigint as promised_memory_mb, coalesce(h.disk_mb, 0)::bigint as promised_disk_mb
    from nodes n
    left
    join (select node_id, sum(memory_mb) as memory_mb, sum(disk_mb) as disk_mb
      from (${holders}) holder
      group by node_id) h on h.node_id = n.id
    where n.heartbeat_at > now() - ${nodeForgottenDays} * interval '1 day'
    order by n.name limit 100`,
  )
}

function checkCount({ orgVms }: Config, held: { vms: number }, { vms }: Room): void {
  if (vms === 0 || orgVms === 0 || held.vms + vms <= orgVms) return
  throw overLimit(
    `Your organization has ${counted(held.vms, 'VM')}, including stopped ones, sandboxes and those of databases and functions, and may have ${orgVms} at once (BERTH_ORG_VMS). Delete one that is not needed, then try again.`,
  )
}

/** Folders outlive their VMs, so they are counted separately. */
async function checkFolders(tx: Tx, organizationId: string, more: number): Promise<void> {
  const { count } = await getOne<{ count: number }>(
    tx,
    sql`select count(*) from folders where organization_id = ${organizationId} and deleted_at is null and purpose is null`,
  )
  if (count + more > limits.foldersMax)
    throw overLimit(
      `Your organization has ${counted(count, 'workspace folder')}, and may have ${limits.foldersMax}. Delete some that are not needed, or set skip_folder_create.`,
    )
}

const settings = { memory: 'BERTH_ORG_MEMORY_MB', disk: 'BERTH_ORG_DISK_GB' } as const
const holding = { memory: 'running VMs and builds', disk: 'VMs, builds, folders and templates' } as const
const remedies = {
  memory: 'Stop, pause or delete a VM, or request less memory',
  disk: 'Delete a VM or a folder, or request a smaller disk',
} as const

/**
 * An organization may use as much as the operator's setting says (0: no limit); without a setting, as much as leaves
 * the reserved share free. From the reserved share every organization gets as much as its first VM needs.
 */
function checkShare(
  what: 'memory' | 'disk',
  settingMb: number | null,
  heldMb: number,
  wantedMb: number,
  firstMb: number,
  nodes: { total: number; free: number },
): void {
  if (wantedMb === 0 || settingMb === 0) return
  const says = `Your organization’s ${holding[what]} use ${heldMb} MB of ${what}, and this needs ${wantedMb} MB more`
  if (settingMb !== null) {
    if (heldMb + wantedMb > settingMb)
      throw overLimit(`${says}; the limit is ${settingMb} MB (${settings[what]}). ${remedies[what]}.`)
    return
  }
  const keptMb = Math.floor(Math.max(firstMb, nodes.total * keptShare))
  if (heldMb + wantedMb <= firstMb || nodes.free - wantedMb >= keptMb) return
  throw overLimit(
    `${says}; beyond its first ${firstMb} MB it may not use any of the last ${keptMb} MB, which are reserved for others. ${remedies[what]}; the operator can raise ${settings[what]}.`,
  )
}

function overLimit(sentence: string): BerthError {
  return new BerthError('rate_limited', sentence, { retryAfterSeconds })
}

function total<Name extends string>(rows: readonly Readonly<Record<Name, number>>[], name: Name): number {
  return sumOf(rows.map((row) => row[name]))
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0)
}
