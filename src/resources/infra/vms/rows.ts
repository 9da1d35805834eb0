/** A VM's row, and its queries. */
import { ownedByCaller, type Reach, type Scope } from '#src/platform/access.ts'
import { notFound } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { change, findAll, findOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { RawBuilder } from 'kysely'
import type { EndReason } from '#src/resources/infra/usage.ts'

/** Steady statuses are running, stopped, paused, deleted and error. The others lead to one of them. */
export type VmStatus =
  | 'creating'
  | 'running'
  | 'stopping'
  | 'stopped'
  | 'starting'
  | 'pausing'
  | 'paused'
  | 'resuming'
  | 'deleting'
  | 'deleted'
  | 'error'

/**
 * A VM as it is stored; times are RFC 3339 text, ids are uuids. `userId` created it. `ownerUserId`: the only person who
 * may use it; null: every member may.
 */
export type Vm = Row<
  'vms',
  {
    status: VmStatus
    desiredStatus: 'running' | 'stopped' | 'paused' | 'deleted'
    endReason: EndReason | null
    purpose: 'database' | 'function' | null
    idleAction: IdleAction
    metadata: Record<string, unknown>
    networkPolicy: NetworkPolicy
    warnings: string[]
    startupStep: StartupStep | null
  }
>

/** The steps of a VM that is being created or started, in their order. What does not apply to a VM is left out. */
export type StartupStep =
  | 'building_template'
  | 'starting_machine'
  | 'waiting_for_server'
  | 'preparing_guest'
  | 'cloning_repositories'
  | 'joining_project'

/** What becomes of a VM that nobody uses for its idle time. */
export type IdleAction = 'pause' | 'stop'

/** What a VM may connect to. */
export type NetworkPolicy =
  | { type: 'unrestricted' }
  | { type: 'none' }
  | { type: 'limited'; allowedHosts: string[]; allowPackageManagers: boolean }

/** What happened to a VM: positions grow by one and resume a subscription. */
export type VmEvent = Row<'vm_events', { status: VmStatus }>

/** The VM, whoever owns it: for workers. */
export async function findVmRow(db: Db, id: string): Promise<Vm | undefined> {
  return findOne<Vm>(db, sql`select * from vms where id = ${id}`)
}

/** The same, if it is running. */
export async function findRunningVmRow(db: Db, id: string): Promise<Vm | undefined> {
  return findOne<Vm>(db, sql`select * from vms where id = ${id} and status = 'running'`)
}

/** The same in whatever status, locked until the transaction ends. */
export async function lockVmRow(tx: Tx, id: string): Promise<Vm | undefined> {
  return findOne<Vm>(tx, sql`select * from vms where id = ${id} for no key update`)
}

/** The VMs of a node that are not deleted, whoever owns them. */
export async function vmsOfNode(db: Db, nodeId: string): Promise<Vm[]> {
  return findAll<Vm>(db, sql`select * from vms where node_id = ${nodeId} and status <> 'deleted'`)
}

/**
 * The condition for VMs that a caller may see: those shared in the organization, and their own private ones. The token
 * inside a VM sees only that one of its owner's private VMs, because others may run commands in the VM. Nobody sees the
 * VMs of databases and functions here: whoever ran a command in one would be the database's superuser, or know the
 * function's variables.
 */
export function knownVms(scope: Scope | Reach): RawBuilder<boolean> {
  return sql<boolean>`${ownedByCaller(scope)} and purpose is null and (owner_user_id is null or ${scope.vmId}::uuid is null or id = ${scope.vmId})`
}

/** Records that a VM's variables changed: its node pushes them before the next command. */
export async function noteEnvChange(tx: Tx, id: string): Promise<void> {
  await change(tx, sql`update vms set env_generation = env_generation + 1, active_at = now() where id = ${id}`)
}

/** Takes the VMs of a project out of it: the deleted ones, and those of databases that have left it. */
export async function detachVms(tx: Tx, projectId: string): Promise<void> {
  await change(tx, sql`update vms set project_id = null where project_id = ${projectId}`)
}

/** Puts the VM of a database into its project, or into none. */
export async function setProject(tx: Tx, id: string, projectId: string | null): Promise<void> {
  await change(tx, sql`update vms set project_id = ${projectId} where id = ${id}`)
}

/** The caller's VM, locked until the transaction ends. @throws BerthError not_found. */
export async function lockVm(tx: Tx, scope: Scope, publicId: string, mode: 'update' | 'share'): Promise<Vm> {
  const id = decodeId('vm', publicId)
  const vm =
    id &&
    (await findOne<Vm>(
      tx,
      sql`select * from vms where id = ${id} and ${knownVms(scope)} and status <> 'deleted' ${mode === 'update' ? sql`for no key update` : sql`for share`}`,
    ))
  if (!vm) throw notFound('VM')
  return vm
}
