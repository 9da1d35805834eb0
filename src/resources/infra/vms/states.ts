/**
 * The states of a VM, and the only place that moves one: row, event, usage session and notice change together.
 */
import type { Jobs } from '#src/platform/jobs.ts'
import { change, findOne, getOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import { hook } from '#src/platform/postgres/hooks.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Background } from '#src/platform/services.ts'
import { states, transition, type States } from '#src/platform/states.ts'
import { closeUsage, openUsage, type EndReason } from '#src/resources/infra/usage.ts'
import { emitStatus, type NotifiedStatuses } from '#src/resources/infra/webhooks/emit.ts'
import { vmTopic } from './places.ts'
import type { StartupStep, Vm, VmStatus } from './rows.ts'
import type { RawBuilder } from 'kysely'

/** A locked VM is going to be deleted: what leads to it ends. */
export const vmDeleting = hook<[tx: Tx, vmId: string]>('VM deleting')

/**
 * A VM has come to where the database or function that runs in it takes its next step: it runs, waits, has failed or is
 * gone. moveVm does not run this, because not every move is such a step: its callers do.
 */
export const hostedVmStepped =
  hook<[services: { jobs: Pick<Jobs, 'enqueue'> }, tx: Tx, vm: Pick<Vm, 'id' | 'nodeId' | 'purpose'>]>(
    'hosted VM stepped',
  )

/** Where each status may go. Every transient status may also fail, and every VM may be deleted. */
export const vmStates: States<VmStatus> = states<VmStatus>('vms', 'VM', {
  creating: ['running', 'error', 'deleting'],
  running: ['stopping', 'pausing', 'error', 'deleting'],
  stopping: ['stopped', 'error', 'deleting'],
  stopped: ['starting', 'error', 'deleting'],
  starting: ['running', 'error', 'deleting'],
  pausing: ['paused', 'error', 'deleting'],
  paused: ['resuming', 'error', 'deleting'],
  resuming: ['running', 'error', 'deleting'],
  error: ['starting', 'deleting'],
  deleting: ['deleted'],
  deleted: [],
})

/** What to do so that a VM of this status runs, as the end of a sentence that says why it must. */
export function adviceToRun(status: VmStatus): string {
  if (status === 'paused') return 'Resume it first: POST /api/v1/vms/{vm_id}/resume, or resumeVm in GraphQL.'
  if (status === 'stopped' || status === 'error')
    return 'Start it first: POST /api/v1/vms/{vm_id}/start, or startVm in GraphQL.'
  if (status === 'pausing') return 'Wait until it is paused, then resume it.'
  if (status === 'stopping') return 'Wait until it has stopped, then start it.'
  return status === 'deleting' ? 'It is being deleted: create a new one.' : 'Wait until it is running, then try again.'
}

/** The statuses that need no further work. */
export const steadyStatuses: readonly VmStatus[] = ['running', 'stopped', 'paused', 'deleted', 'error']

/**
 * A status change of a VM, and what else is stored with it.
 * @property wanted the new desired status; earlier boot failures no longer count.
 * @property endReason why it is deleted.
 * @property machine the machine it runs as.
 * @property sleeps with `wanted`: nobody asked for this, but nobody used it, or somebody came again.
 */
export type Move = {
  reason?: string | null
  usageEnd?: EndReason
  wanted?: Vm['desiredStatus']
  endReason?: EndReason
  machine?: VmMachine
  sleeps?: boolean
}

/** The address of a VM's machine, its folder, and the problems in preparing its guest, once that is done. */
export type VmMachine = { address: string; folderId: string | null; warnings?: readonly string[] }

/**
 * Moves a VM to another status if that move is allowed.
 * @returns the changed VM, or undefined when it is not allowed, because another change was first.
 */
export async function moveVm(
  db: Db,
  services: Pick<Background, 'config'>,
  id: string,
  to: VmStatus,
  move: Move = {},
  from?: readonly VmStatus[],
): Promise<Vm | undefined> {
  return transaction(db, async (tx) => {
    const set = sql`status_reason = ${move.reason ?? null}, event_position = event_position + 1, updated_at = now(), startup_step = null, startup_at = null,
      ${stamps(to)} ${assignments(to, move)}`
    const vm = await transition<Vm, VmStatus>(tx, vmStates, id, to, set, from)
    if (!vm) return undefined
    if (to === 'running') await openUsage(tx, services, vm)
    else await closeUsage(tx, id, move.usageEnd ?? usageEnds[to] ?? 'request')
    if (to === 'deleting') await vmDeleting.run(tx, id)
    await addEvent(tx, vm)
    await notifyOfVm(tx, vm)
    return vm
  })
}

const notified: NotifiedStatuses<VmStatus> = {
  creating: 'vm.created',
  running: 'vm.running',
  stopped: 'vm.stopped',
  paused: 'vm.paused',
  error: 'vm.error',
  deleted: 'vm.deleted',
}

/** Tells webhook endpoints of the status that a VM has come to. Those of databases and functions are nobody's business. */
export async function notifyOfVm(tx: Tx, vm: Pick<Vm, 'id' | 'organizationId' | 'status' | 'purpose'>): Promise<void> {
  if (vm.purpose === null) await emitStatus(tx, notified, 'vm', vm)
}

/** Tells the subscribers of a locked VM that something that belongs to it has changed. */
export async function noteChange(tx: Tx, id: string): Promise<void> {
  const vm = await getOne<Vm>(tx, sql`update vms set event_position = event_position + 1 where id = ${id} returning *`)
  await addEvent(tx, vm)
}

/**
 * Says more about the status that a VM is in, in the caller's transaction; undefined when it has changed meanwhile.
 * @param step at which it is, when it starts.
 */
export async function explainVm(
  tx: Tx,
  { id, eventPosition, startupStep }: Pick<Vm, 'id' | 'eventPosition' | 'startupStep'>,
  reason: string,
  step?: StartupStep,
): Promise<Vm | undefined> {
  const steps = step && step !== startupStep ? sql`startup_step = ${step}, startup_at = now(),` : sql``
  const vm = await findOne<Vm>(
    tx,
    sql`
      update vms
      set status_reason = ${reason}, ${steps} event_position = event_position + 1, updated_at = now()
      where id = ${id} and event_position = ${eventPosition}
      returning *`,
  )
  if (vm) await addEvent(tx, vm)
  return vm
}

/**
 * For how long a VM has given one of these reasons without another one between: its newest event, and all of them. 0 when it
 * gives none of them.
 */
export async function findSecondsOf(
  db: Db,
  { id }: Pick<Vm, 'id'>,
  reasons: readonly string[],
): Promise<{ newest: number; all: number }> {
  return getOne(
    db,
    sql`
    select coalesce(extract(epoch from now() - max(created_at)), 0)::float8 as newest, coalesce(extract(epoch from now() - min(created_at)), 0)::float8 as all
    from vm_events where vm_id = ${id} and position > coalesce(
      (select max(position) from vm_events where vm_id = ${id} and (status_reason is null or status_reason <> all(${reasons}::text[]))), 0)`,
  )
}

/** Stores at which step a VM is that starts, and since when; undefined when it is there already, or has been moved. */
export async function noteStartup(
  tx: Tx,
  { id, status }: Pick<Vm, 'id' | 'status'>,
  step: StartupStep,
  since: string,
): Promise<Vm | undefined> {
  const vm = await findOne<Vm>(
    tx,
    sql`
      update vms
      set startup_step = ${step}, startup_at = ${since}, event_position = event_position + 1, updated_at = now()
      where id = ${id} and ${status} = status and startup_step is distinct from ${step}
      returning *`,
  )
  if (vm) await addEvent(tx, vm)
  return vm
}

/** Counts a failed boot, after which the next one begins with its first step; the count is reset when the VM runs or gets another desired status. */
export async function countBootFailure(db: Db, id: string): Promise<void> {
  await change(
    db,
    sql`update vms set boot_failures = boot_failures + 1, startup_step = null, startup_at = null where id = ${id}`,
  )
}

/** Says of a VM that does not come up why, and what is tried next, as long as it is in that status; a move takes the reason away. */
export async function explainBoot(tx: Tx, { id, status }: Pick<Vm, 'id' | 'status'>, reason: string): Promise<void> {
  const vm = await findOne<Vm>(
    tx,
    sql`update vms set status_reason = ${reason}, event_position = event_position + 1, updated_at = now() where id = ${id} and ${status} = status returning *`,
  )
  if (vm) await addEvent(tx, vm)
}

const usageEnds: Partial<Record<VmStatus, EndReason>> = { error: 'error' }

/** Records the VM's status as an event, and notifies subscribers. The row must be locked by this transaction. */
export async function addEvent(
  tx: Tx,
  vm: Pick<Vm, 'id' | 'eventPosition' | 'status' | 'statusReason'>,
): Promise<void> {
  await change(
    tx,
    sql`insert into vm_events (vm_id, position, status, status_reason) values (${vm.id}, ${vm.eventPosition}, ${vm.status}, ${vm.statusReason})`,
  )
  publish(tx, vmTopic, vm.id)
}

function assignments(to: VmStatus, { wanted, endReason, machine, sleeps = false }: Move): RawBuilder<unknown> {
  const parts = [
    ...(wanted ? [sql`desired_status = ${wanted}`] : []),
    ...(wanted || to === 'running' ? [sql`boot_failures = 0, sleeps = ${sleeps}`] : []),
    ...(endReason ? [sql`end_reason = ${endReason}`] : []),
    ...(machine ? [sql`ip_address = ${machine.address}, folder_id = ${machine.folderId}, stopped_at = null`] : []),
    // By now the repositories are cloned, or never will be.
    ...(machine?.warnings ? [sql`warnings = ${JSON.stringify(machine.warnings)}, sealed_git_repos = null`] : []),
  ]
  return sql.join([sql``, ...parts], sql`, `)
}

function stamps(to: VmStatus): RawBuilder<unknown> {
  switch (to) {
    case 'running':
      return sql`started_at = now()`
    case 'stopped':
      return sql`stopped_at = now(), ip_address = null`
    case 'error':
      return sql`stopped_at = now(), ip_address = null`
    case 'paused':
      return sql`stopped_at = now()`
    case 'deleted':
      return sql`deleted_at = now(), ip_address = null, sealed_git_repos = null`
    default:
      return sql`stopped_at = stopped_at`
  }
}
