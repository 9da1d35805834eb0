/** VMs: made, found, listed, changed and deleted. The work itself is the node's: see workers/infra/vms.ts. */
import assert from 'node:assert'
import { z } from 'zod'
import { allow, type Scope } from '#src/platform/access.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { decodeId, encodeId, newUuid } from '#src/platform/ids.ts'
import { job, onNode } from '#src/platform/jobs.ts'
import { limits } from '#src/platform/limits.ts'
import { cursorId, listWindow, page, pageSize, wholeNumber, type Page, type PageWindow } from '#src/platform/pages.ts'
import {
  findAll,
  findOne,
  getOne,
  isSqlState,
  sql,
  sqlState,
  transaction,
  type Db,
  type Tx,
} from '#src/platform/postgres.ts'
import type { Background, Call } from '#src/platform/services.ts'
import { wrongState } from '#src/platform/states.ts'
import { folderSizeMb, readFolder, setFolderUse } from './folders.ts'
import { readGitRepos } from './git-repos.ts'
import { defaultVm, holdsMemory, reserveRoom } from './organization-room.ts'
import { readTemplate } from './templates.ts'
import type { EndReason } from './usage.ts'
import { checkEnv, writeVariables } from './vm-env.ts'
import { readNetworkPolicy } from './vms/network-policies.ts'
import { findVmRow, knownVms, lockVm, type Vm, type VmStatus } from './vms/rows.ts'
import { addEvent, moveVm, vmStates } from './vms/states.ts'

/** Brings one VM to the status its row wants. Runs on the VM's node. */
export const reconcileVm = job<{ vmId: string }>('vms-reconcile', { retryLimit: 20, expireInSeconds: 300 })

/** What a VM may be made of; absent and null mean the default. Units in the names. */
export type VmOrder = {
  name?: string | null
  templateId?: string | null
  vmId?: string | null
  env?: Readonly<Record<string, string>> | null
  folderId?: string | null
  skipFolderCreate?: boolean | null
  gitRepoUrl?: string | null
  gitBranch?: string | null
  gitRepos?: unknown
  externalRef?: string | null
  vcpuCount?: number | null
  memoryMb?: number | null
  diskMb?: number | null
  metadata?: unknown
  networkPolicy?: unknown
  ttlSeconds?: number | null
}

/** The part of a VM that the documented lists show. */
export type VmSummary = Pick<Vm, 'id' | 'name' | 'status' | 'ipAddress' | 'externalRef' | 'createdAt'>

const sizes = {
  vcpuCount: z.int().min(1).max(16),
  memoryMb: z.int().min(256).max(65_536),
  diskMb: z
    .int()
    .min(10 * 1024)
    .max(200 * 1024),
}
const sizeNames = { vcpuCount: 'vcpu_count', memoryMb: 'memory_mb', diskMb: 'disk_mb' }
const metadataShape = z
  .record(z.string().max(limits.metadataKeyLength), z.string().max(limits.metadataValueLength))
  .refine((map) => Object.keys(map).length <= limits.metadataPairs)

/**
 * Makes a VM and waits at most 30 s until it runs; later it is answered as it is, still `creating`.
 * @throws BerthError 400 for what is wrong in the order, 429 when the organization may have no more, 503 when no node can take it, 500 when its node failed to start it.
 */
export async function createVm(call: Call, order: VmOrder): Promise<Vm> {
  const scope = allow(call.caller, 'vms:write')
  const id = await readNewId(call.db, order.vmId)
  const heard = new AbortController()
  const notices = call.pubsub.subscribe('vm', id, heard.signal) // before the row is there: no notice can be missed
  try {
    await transaction(call.db, (tx) => insertVm(call, tx, scope, id, order))
    const vm = await waitUntil(call.db, id, notices, heard, (now) => now.status !== 'creating')
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
  } finally {
    heard.abort()
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

/** The VM that was made with this external reference. @throws BerthError not_found; invalid_request for an empty one. */
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

/** The VMs that the caller may know of, newest first, as a page. */
export async function pageVms(call: Call, { first, after }: PageWindow): Promise<Page<Vm>> {
  const scope = allow(call.caller, 'vms:read')
  const size = pageSize(first)
  const cursor = cursorId('vm', after)
  const rows = await findAll<Vm>(
    call.db,
    sql`
    select * from vms where ${knownVms(scope)} and status <> 'deleted' and (${cursor}::uuid is null or (created_at, id) < (select created_at, id from vms where id = ${cursor}))
    order by created_at desc, id desc limit ${size + 1}`,
  )
  return page('vm', rows, size, after)
}

/** The same as the documented list shows them: 1000 at most. */
export async function listVms(
  call: Call,
  input: { limit?: number | null; offset?: number | null },
): Promise<VmSummary[]> {
  const scope = allow(call.caller, 'vms:read')
  const { limit, offset } = listWindow(input.limit, input.offset)
  return findAll<VmSummary>(
    call.db,
    sql`
    select id, name, status, ip_address, external_ref, created_at from vms where ${knownVms(scope)} and status <> 'deleted'
    order by created_at desc, id desc limit ${limit} offset ${offset}`,
  )
}

/** Marks a VM for deletion; its node removes it. Deleting one that is being deleted changes nothing. @throws BerthError not_found. */
export async function deleteVm(call: Call, publicId: string): Promise<void> {
  const scope = allow(call.caller, 'vms:write')
  await transaction(call.db, async (tx) => {
    const vm = await lockVm(tx, scope, publicId, 'update')
    await spendLifecycle(call, vm.id)
    await markDeleted(call, tx, vm, 'request')
  })
}

/** Marks a locked VM for deletion, in the caller's transaction. */
export async function markDeleted(
  { jobs, config }: Pick<Background, 'jobs' | 'config'>,
  tx: Tx,
  vm: Pick<Vm, 'id' | 'nodeId'>,
  reason: EndReason,
): Promise<void> {
  const marked = await moveVm(tx, { config }, vm.id, 'deleting', {
    usageEnd: reason,
    set: sql`desired_status = 'deleted', end_reason = ${reason}`,
  })
  if (marked) await jobs.enqueue(tx, onNode(reconcileVm, vm.nodeId), { vmId: vm.id })
}

/** Asks for a VM to run, stop or pause; its node brings it there. @throws BerthError not_found; invalid_transition where it cannot go; as reserveRoom. */
export async function requestStatus(
  call: Call,
  publicId: string,
  wanted: 'running' | 'stopped' | 'paused',
): Promise<Vm> {
  const scope = allow(call.caller, 'vms:write')
  return transaction(call.db, async (tx) => {
    const vm = await lockVm(tx, scope, publicId, 'update')
    await spendLifecycle(call, vm.id)
    if (vm.status === wanted) return vm
    const moved = await moveTowards(call, tx, vm, wanted)
    if (!moved) throw wrongState(vmStates, vm.status, wanted)
    return moved
  })
}

/**
 * Moves a locked VM towards a status, in the caller's transaction; undefined where it cannot go. One that is at rest
 * gave its memory back, so a start asks for it again.
 * @throws BerthError as reserveRoom; nothing is changed then.
 */
export async function moveTowards(
  services: Background,
  tx: Tx,
  vm: Vm,
  wanted: 'running' | 'stopped' | 'paused',
): Promise<Vm | undefined> {
  const next = nextStatus(vm.status, wanted)
  if (!next) return undefined
  if (wanted === 'running' && !holdsMemory(vm))
    await reserveRoom(services, tx, vm.organizationId, { memoryMb: vm.memoryMb }, vm.nodeId)
  const moved = await moveVm(tx, services, vm.id, next, {
    usageEnd: 'request',
    set: sql`desired_status = ${wanted}, boot_failures = 0`,
  })
  if (moved) await services.jobs.enqueue(tx, onNode(reconcileVm, vm.nodeId), { vmId: vm.id })
  return moved
}

/** Sets the name, metadata or network policy; a new policy applies to a running VM at once. @throws BerthError not_found, invalid_request. */
export async function updateVm(
  call: Call,
  publicId: string,
  input: { name?: string | null; metadata?: unknown; networkPolicy?: unknown },
): Promise<Vm> {
  const scope = allow(call.caller, 'vms:write')
  return transaction(call.db, async (tx) => {
    const vm = await lockVm(tx, scope, publicId, 'update')
    const name = input.name ?? vm.name
    checkName(name)
    const metadata = input.metadata === undefined ? vm.metadata : readMetadata(input.metadata)
    const policy = input.networkPolicy === undefined ? vm.networkPolicy : readNetworkPolicy(input.networkPolicy)
    const changed = await getOne<Vm>(
      tx,
      sql`
      update vms set name = ${name}, metadata = ${JSON.stringify(metadata)}, network_policy = ${JSON.stringify(policy)}, updated_at = now(), event_position = event_position + 1
      where id = ${vm.id} returning *`,
    )
    await addEvent(tx, changed)
    await call.jobs.enqueue(tx, onNode(reconcileVm, vm.nodeId), { vmId: vm.id })
    return changed
  })
}

/** Waits until the row is as wanted, 30 s at most; answers the row as it is then. */
async function waitUntil(
  db: Db,
  id: string,
  notices: AsyncIterable<void>,
  heard: AbortController,
  done: (vm: Vm) => boolean,
): Promise<Vm> {
  const timer = setTimeout(() => heard.abort(), limits.createWaitSeconds * 1000)
  try {
    for await (const _notice of notices) {
      const vm = await findVmRow(db, id)
      if (vm && done(vm)) return vm
    }
  } finally {
    clearTimeout(timer)
  }
  const vm = await findVmRow(db, id)
  if (!vm) throw new Error('a VM that was just made is not there')
  return vm
}

/**
 * Makes a VM in the caller's transaction, and does not wait for it.
 * @param id the new stored uuid.
 * @param ownerUserId whose alone it is; null: everybody's in the organization. One that is a person's has no folder, which would be everybody's.
 * @throws BerthError as createVm, for the order and when no node can take it.
 */
export async function insertVm(
  call: Background,
  tx: Tx,
  scope: Scope,
  id: string,
  order: VmOrder,
  ownerUserId: string | null = null,
): Promise<void> {
  assert(
    ownerUserId === null || (order.skipFolderCreate && !order.folderId),
    'a folder of a person’s VM would be everybody’s',
  )
  const name = order.name ?? `vm-${encodeId('vm', id).slice(-6)}`
  checkName(name)
  const [vcpuCount, memoryMb, diskMb] = (['vcpuCount', 'memoryMb', 'diskMb'] as const).map((part) =>
    readSize(part, order[part]),
  ) as [number, number, number] // one for each of the three
  const repos = readGitRepos(order)
  const env = order.env ?? {}
  checkEnv(env, 'secret')
  const [metadata, policy] = [readMetadata(order.metadata), readNetworkPolicy(order.networkPolicy)].map((part) =>
    JSON.stringify(part),
  )
  const externalRef = readExternalRef(order.externalRef)
  if (typeof order.ttlSeconds === 'number')
    wholeNumber('ttl_seconds', order.ttlSeconds, limits.sandboxTtlSecondsMin, limits.sandboxTtlSecondsMax)
  const template = await readTemplate(tx, scope, order.templateId)
  const folder = order.folderId ? await readFolder(tx, scope, order.folderId) : null
  const wantsFolder = folder !== null || !order.skipFolderCreate
  const node = await reserveRoom(
    call,
    tx,
    scope.organizationId,
    { memoryMb, diskMb: diskMb + (wantsFolder ? folderSizeMb : 0), vms: 1, folders: wantsFolder && !folder ? 1 : 0 },
    nodeOf(folder, template),
  )
  if (folder) await setFolderUse(tx, folder.id, 0)
  const sealedRepos = repos.length > 0 ? call.sealer.seal(JSON.stringify(repos), `vms.git_repos:${id}`) : null
  const vm = await getOne<Vm>(
    tx,
    sql`
    insert into vms (id, organization_id, user_id, owner_user_id, name, status, desired_status, template_id, node_id, vcpu_count, memory_mb, disk_mb,
      external_ref, folder_id, wants_folder, metadata, network_policy, sealed_git_repos, env_generation, event_position, expires_at)
    values (${id}, ${scope.organizationId}, ${scope.userId}, ${ownerUserId}, ${name}, 'creating', 'running', ${template.id}, ${node.id}, ${vcpuCount}, ${memoryMb}, ${diskMb},
      ${externalRef}, ${folder?.id ?? null}, ${wantsFolder}, ${metadata}, ${policy},
      ${sealedRepos}, ${Object.keys(env).length > 0 ? 1 : 0}, 1, now() + ${order.ttlSeconds ?? null}::int * interval '1 second')
    returning *`,
  )
  await writeVariables(call, tx, id, 'provision', env, 'secret')
  await addEvent(tx, vm)
  await call.jobs.enqueue(tx, onNode(reconcileVm, node.id), { vmId: id })
}

/** The node that has the disks this VM needs, or null when any will do. */
function nodeOf(folder: { nodeId: string } | null, template: { nodeId: string | null }): string | null {
  if (folder && template.nodeId && folder.nodeId !== template.nodeId)
    throw new BerthError(
      'invalid_template',
      'The folder and the template are on different nodes. Use another folder, or none.',
    )
  return folder?.nodeId ?? template.nodeId
}

/** What a request for a status moves a VM to now; undefined when it must wait or cannot. */
function nextStatus(status: VmStatus, wanted: 'running' | 'stopped' | 'paused'): VmStatus | undefined {
  if (wanted === 'running')
    return status === 'stopped' || status === 'error' ? 'starting' : status === 'paused' ? 'resuming' : undefined
  if (status !== 'running') return undefined
  return wanted === 'stopped' ? 'stopping' : 'pausing'
}

async function spendLifecycle({ limiter }: Call, vmId: string): Promise<void> {
  await limiter.spend(`vm-lifecycle:${vmId}`, limits.vmLifecyclePerMinute)
}

/**
 * The id that a new VM shall have. Of one that cannot be used nothing is told, neither by words nor by time: it may be
 * no id, the caller's own, or another organization's.
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
    'vm_id cannot be used: it must be a new id, vm_ and 26 characters, that nothing had before. Leave it out to get one.',
  )
}

function checkName(name: string): void {
  if (name.length < 1 || name.length > limits.nameLength)
    throw new BerthError('invalid_request', `name must have 1 to ${limits.nameLength} characters.`)
}

function readExternalRef(given: string | null | undefined): string | null {
  if (given === null || given === undefined) return null
  if (given.trim() === '' || given.length > limits.externalRefLength)
    throw new BerthError('invalid_request', `external_ref must have 1 to ${limits.externalRefLength} characters.`)
  return given
}

function readSize(part: keyof typeof sizes, given: number | null | undefined): number {
  const outcome = sizes[part].safeParse(given ?? defaultVm[part])
  if (outcome.success) return outcome.data
  const { minValue, maxValue } = sizes[part]
  throw new BerthError('invalid_request', `${sizeNames[part]} must be a whole number from ${minValue} to ${maxValue}.`)
}

function readMetadata(given: unknown): Record<string, string> {
  const outcome = metadataShape.safeParse(given ?? {})
  if (!outcome.success)
    throw new BerthError(
      'invalid_request',
      `metadata must be a flat object: at most ${limits.metadataPairs} keys of ${limits.metadataKeyLength} characters, values of ${limits.metadataValueLength}.`,
    )
  return outcome.data
}
