/** VMs: create, find, list, update, delete. The work itself is done by a node: see workers/infra/vms.ts. */
import { changesNothing } from '#src/platform/shapes/changes.ts'
import { allow, allowAnywhere, owned } from '#src/platform/access.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { decodeId, encodeId, newUuid } from '#src/platform/ids.ts'
import type { RawBuilder } from 'kysely'
import { onNode } from '#src/platform/jobs.ts'
import { limits } from '#src/platform/limits.ts'
import { rowsOf } from '#src/platform/nouns.ts'
import {
  isGiven,
  countRows,
  pageSql,
  readOffset,
  readPage,
  type Direction,
  type Page,
  type PageReading,
  type PagesOf,
  type PageWindow,
  type SkippingWindow,
} from '#src/platform/pages.ts'
import { findAll, findOne, getOne, isSqlState, sql, sqlState, transaction, type Db } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { waitUntil } from '#src/platform/streams/waits.ts'
import { markDeleted, moveTowards, reconcileVm, type WantedStatus } from './vms/lifecycle.ts'
import { readNetworkPolicy } from './vms/network-policies.ts'
import { checkName, insertVm, readMetadata, type VmOrder } from './vms/orders.ts'
import { isWithin, reachesFurther } from './vms/reach.ts'
import { findVmRow, knownVms, lockVm, type Vm, type VmStatus } from './vms/rows.ts'
import { resize, type GivenSize } from './vms/sizes.ts'
import { keepAsleep, readIdle, type GivenIdle } from './vms/sleep.ts'
import { addEvent, adviceToRun } from './vms/states.ts'
import { checkStorage } from '#src/platform/metrics/rooms.ts'
import { hasTextOf, type Searched, type TextFilter } from '#src/platform/shapes/text-filters.ts'

/** Conditions of a list of VMs. */
export type VmFilter = TextFilter & {
  statuses?: readonly VmStatus[] | null
  projectId?: string | null
  templateId?: string | null
  createdById?: string | null
}
/** How a list of VMs is read: the `columns` to read, all by default. */
export type VmReading = { direction?: Direction | undefined; columns?: readonly string[] | undefined }

/**
 * Creates a VM and waits up to 30 s until it runs; after that it is returned as it is, still `creating`.
 * @throws BerthError 400 for an invalid order, 429 when the organization has reached a limit, 503 when no node has
 * room, 500 when its node failed to start it.
 */
export async function createVm(call: Call, order: VmOrder): Promise<Vm> {
  const scope = allow(call.caller, 'vms:write')
  await checkStorage(call, scope.organizationId, 'definitions')
  const id = await readNewId(call.db, order.vmId)
  try {
    const vm = await waitUntil(call.pubsub, {
      topic: 'vm',
      id,
      limitSeconds: limits.createWaitSeconds,
      first: () => transaction(call.db, (tx) => insertVm(call, tx, scope, id, order)),
      again: async (before) => (await findVmRow(call.db, id)) ?? before,
      isDone: ({ status }) => order.wait === false || status !== 'creating',
    })
    if (vm.status === 'error')
      throw new BerthError(
        'internal_error',
        `The VM ${encodeId('vm', id)} could not be started: ${vm.statusReason ?? 'its node gave no reason'}`,
      )
    return vm
  } catch (error) {
    if (isSqlState(error, sqlState.uniqueViolation, 'vms_pkey')) throw unusableId()
    if (isSqlState(error, sqlState.uniqueViolation, 'vms_external_ref'))
      throw new BerthError('invalid_request', 'external_ref is taken by another VM of yours; it must be unique.')
    if (isSqlState(error, sqlState.uniqueViolation, 'vms_folder'))
      throw new BerthError('invalid_request', 'Another VM has this folder mounted. Delete that VM first.')
    throw error
  }
}

/** The VM of this id. @throws BerthError not_found. */
export async function getVm(call: Call, publicId: string): Promise<Vm> {
  const scope = allow(call.caller, 'vms:read')
  const id = decodeId('vm', publicId)
  const vm =
    id &&
    (await findOne<Vm>(call.db, sql`select * from vms where id = ${id} and ${knownVms(scope)} and status <> 'deleted'`))
  if (!vm) throw notFound('VM')
  return vm
}

/**
 * The VM that was created with this external reference.
 * @throws BerthError not_found; invalid_request for an empty one.
 */
export async function getVmByExternalRef(call: Call, externalRef: string): Promise<Vm> {
  const scope = allow(call.caller, 'vms:read')
  if (externalRef.trim() === '' || externalRef.includes('\0'))
    throw new BerthError('invalid_request', 'Name an external reference in the path.')
  const vm = await findOne<Vm>(
    call.db,
    sql`select * from vms where ${knownVms(scope)} and external_ref = ${externalRef} and status <> 'deleted'`,
  )
  if (!vm) throw notFound('VM')
  return vm
}

/** How VMs are found. */
export const vmSearch: Searched = {
  type: 'Vm',
  may: 'vms:read',
  table: 'vms',
  title: sql`name`,
  texts: [sql`external_ref`],
  whose: (scope) => sql`${knownVms(scope)} and status <> 'deleted'`,
}

/** The VMs that the caller may see, newest first: 1000 at most at once. @throws BerthError invalid_request. */
export async function pageVms(
  call: Call,
  window: SkippingWindow,
  filter?: VmFilter | null,
  { direction = 'desc', columns }: VmReading = {},
): Promise<Page<Vm>> {
  const scope = allow(call.caller, 'vms:read')
  const passed = readOffset(window.offset)
  const chosen = sql.join([knownVms(scope), sql`status <> 'deleted'`, ...conditions(filter ?? {})], sql` and `)
  const read = columns ? sql.join(['id', ...columns].map((column) => sql.ref(column))) : sql`*`
  const placeOf = (id: string): RawBuilder<unknown> =>
    sql`(select created_at, id from vms where id = ${id} and ${knownVms(scope)})`
  const sqlOf = (reading: PageReading) => pageSql([sql`created_at`, sql`id`], reading, direction, placeOf)
  return readPage(
    'vm',
    window,
    (reading) => {
      const { within, cut } = sqlOf(reading)
      return findAll<Vm>(call.db, sql`select ${read} from vms where ${chosen} and ${within} ${cut} offset ${passed}`)
    },
    (reading) => countRows(call.db, sql`vms where ${chosen} and ${sqlOf(reading).within}`),
    limits.infraListMax,
  )
}

function conditions(filter: VmFilter): RawBuilder<unknown>[] {
  const { statuses, projectId, templateId, createdById } = filter
  return [
    ...(statuses ? [sql`status = any(${statuses}::text[])`] : []),
    ...(isGiven(projectId) ? [sql`project_id = ${decodeId('project', projectId) ?? null}::uuid`] : []),
    ...(isGiven(templateId) ? [sql`template_id = ${decodeId('template', templateId) ?? null}::uuid`] : []),
    ...(isGiven(createdById) ? [sql`user_id = ${decodeId('user', createdById) ?? null}::uuid`] : []),
    hasTextOf(vmSearch, filter),
  ]
}

/** The same page of the VMs of each of these projects, of the caller's organization. @throws BerthError invalid_request. */
export async function pageVmsOfEach(
  call: Call,
  projectIds: readonly string[],
  window: PageWindow,
  direction?: Direction,
): Promise<PagesOf<Vm>> {
  const scope = allow(call.caller, 'vms:read')
  return vmRows.pageOfEach(call.db, window, {
    parents: sql`select id from projects where id = any(${projectIds}::uuid[]) and ${owned(scope)}`,
    parentName: 'project',
    chosen: sql`project_id = parent.id and ${knownVms(scope)} and status <> 'deleted'`,
    direction,
  })
}

const vmRows = rowsOf<Vm>('vm', 'vms', 'VM')

/** The VMs of these stored ids that the caller may see, in any organization of theirs. */
export async function findVms(call: Call, ids: readonly string[]): Promise<Vm[]> {
  const reach = allowAnywhere(call.caller, 'vms:read')
  return findAll<Vm>(
    call.db,
    sql`select * from vms where id = any(${ids}::uuid[]) and ${knownVms(reach)} and status <> 'deleted'`,
  )
}

/** Marks a VM for deletion; its node deletes it. Repeating it changes nothing. @throws BerthError not_found. */
export async function deleteVm(call: Call, publicId: string): Promise<void> {
  const scope = allow(call.caller, 'vms:write')
  await transaction(call.db, async (tx) => {
    const vm = await lockVm(tx, scope, publicId, 'update')
    await spendLifecycle(call, vm.id)
    await markDeleted(call, tx, vm, 'request')
  })
}

/**
 * Requests that a VM runs, stops or pauses; its node does it.
 * @throws BerthError not_found; invalid_transition when that is not possible from its status; as reserveRoom.
 */
export async function requestStatus(call: Call, publicId: string, wanted: WantedStatus): Promise<Vm> {
  const scope = allow(call.caller, 'vms:write')
  return transaction(call.db, async (tx) => {
    const vm = await lockVm(tx, scope, publicId, 'update')
    await spendLifecycle(call, vm.id)
    if (vm.status === wanted) return vm.sleeps ? keepAsleep(tx, vm.id) : vm
    const moved = await moveTowards(call, tx, vm, wanted)
    if (!moved) throw wrongStatus(vm, wanted)
    return moved
  })
}

const participles: Readonly<Record<WantedStatus, string>> = { running: 'started', stopped: 'stopped', paused: 'paused' }

function wrongStatus({ status }: Vm, wanted: WantedStatus): BerthError {
  const advice = wanted === 'running' ? 'Wait until its status has settled, then try again.' : adviceToRun(status)
  return new BerthError(
    'invalid_transition',
    `This VM is ${status}, so it cannot be ${participles[wanted]} now. ${advice}`,
  )
}

/**
 * Sets the name, metadata, idle time, size or network policy. A new policy applies to a running VM immediately; a size to the
 * next start of a stopped one.
 * @throws BerthError not_found, invalid_request; forbidden for the token inside a VM that would open more; for a size as resize.
 */
export async function updateVm(
  call: Call,
  publicId: string,
  input: { name?: string | null; metadata?: unknown; networkPolicy?: unknown } & GivenIdle & GivenSize,
): Promise<Vm> {
  const scope = allow(call.caller, 'vms:write')
  await checkStorage(call, scope.organizationId, 'definitions')
  return transaction(call.db, async (tx) => {
    const vm = await lockVm(tx, scope, publicId, 'update')
    if (changesNothing(input)) return vm
    const name = input.name ?? vm.name
    checkName(name)
    const metadata = input.metadata === undefined ? vm.metadata : readMetadata(input.metadata)
    const policy = input.networkPolicy === undefined ? vm.networkPolicy : readNetworkPolicy(input.networkPolicy)
    const { idleSeconds, idleAction } = readIdle(input, vm)
    if (scope.vmId !== null && !isWithin(policy, vm.networkPolicy)) throw reachesFurther()
    const { vcpuCount, memoryMb, diskMb } = await resize(call, tx, vm, input)
    const changed = await getOne<Vm>(
      tx,
      sql`
      update vms
      set name = ${name}, metadata = ${JSON.stringify(metadata)}, network_policy = ${JSON.stringify(policy)},
        idle_seconds = ${idleSeconds}, idle_action = ${idleAction}, vcpu_count = ${vcpuCount}, memory_mb = ${memoryMb}, disk_mb = ${diskMb},
        active_at = now(), updated_at = now(), event_position = event_position + 1
      where id = ${vm.id} returning *`,
    )
    await addEvent(tx, changed)
    await call.jobs.enqueue(tx, onNode(reconcileVm, vm.nodeId), { vmId: vm.id })
    return changed
  })
}

async function spendLifecycle({ limiter }: Call, vmId: string): Promise<void> {
  await limiter.spend(`vm-lifecycle:${vmId}`, limits.vmLifecyclePerMinute)
}

/**
 * The id for a new VM. The refusal of an unusable id reveals nothing, neither in its words nor in its timing: it may be
 * malformed, the caller's own, or another organization's.
 */
async function readNewId(db: Db, given: string | null | undefined): Promise<string> {
  if (!given) return newUuid()
  const named = decodeId('vm', given)
  const id = named ?? newUuid()
  const taken = await findOne(db, sql`select 1 from vms where id = ${id}`)
  if (!named || taken) throw unusableId()
  return id
}

function unusableId(): BerthError {
  return new BerthError(
    'invalid_request',
    'vm_id cannot be used: it must be a new id, vm_ and 26 characters, that was never used before. Leave it out to get one.',
  )
}
