/** A VM that nobody uses for its idle time is paused or stopped, as its owner wants; whoever comes wakes it: see waking.ts. */
import { BerthError } from '#src/platform/errors.ts'
import { wholeNumber } from '#src/platform/pages.ts'
import { change, findAll, findOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import { moveTowards } from './lifecycle.ts'
import { idleVmLimits } from './limits.ts'
import { lockVmRow, type IdleAction, type Vm } from './rows.ts'
import { addEvent } from './states.ts'

const batchMax = 100

/** What is stored of a VM's idle time: null is never. Unit: seconds. */
export type Idle = Pick<Vm, 'idleSeconds' | 'idleAction'>
/** The same as it is given; what is absent stays as it was, and so does a null `idleAction`. */
export type GivenIdle = { idleSeconds?: number | null; idleAction?: IdleAction | null }

/** After how long without use a new VM is paused: never, unless somebody wants it. */
export const neverIdle: Idle = { idleSeconds: null, idleAction: 'pause' }

/** Checks what is given. @param before what holds without it. @throws BerthError invalid_request. */
export function readIdle({ idleSeconds, idleAction }: GivenIdle, before: Idle): Idle {
  const { idleSecondsMin, idleSecondsMax } = idleVmLimits
  if (typeof idleSeconds === 'number') wholeNumber('idle_seconds', idleSeconds, idleSecondsMin, idleSecondsMax)
  return {
    idleSeconds: idleSeconds === undefined ? before.idleSeconds : idleSeconds,
    idleAction: idleAction ?? before.idleAction,
  }
}

/**
 * While Postgres is away no use is recorded, so nobody sleeps right after that. A background process that has a time of its own
 * is somebody's work until it ends; one without is a server, which is used when it is asked.
 */
const isIdle = sql<boolean>`v.status = 'running' and v.purpose is null and v.idle_seconds is not null
  and greatest(v.active_at, v.started_at, pg_postmaster_start_time()) < now() - v.idle_seconds * interval '1 second'`
const timedProcesses = sql`select p.id from vm_processes p where p.vm_id = v.id and p.status = 'running' and p.ends_at > now()`

/** Records that these VMs are in use, so that they do not sleep: those that could. */
export async function recordVmUse(db: Db, vmIds: readonly string[]): Promise<void> {
  await change(
    db,
    sql`
      update vms
      set active_at = now()
      where id = any(${vmIds}::uuid[])
        and idle_seconds is not null
        and active_at < now() - ${idleVmLimits.activityMs / 2000} * interval '1 second'`,
  )
}

/** A VM that nobody has used for its idle time, and the processes with a time that run in it, as far as is known. */
export type IdleVm = { id: string; processIds: string[] }

/** The idle VMs of a node, those first that have been so for longest. */
export async function findIdleVms(db: Db, nodeId: string): Promise<IdleVm[]> {
  return findAll<IdleVm>(
    db,
    sql`select v.id, array(${timedProcesses}) as process_ids from vms v where v.node_id = ${nodeId} and ${isIdle} order by v.active_at limit ${batchMax}`,
  )
}

/** Pauses or stops a VM, if it is still idle. @returns whether it is on its way. */
export async function putVmToSleep(services: Background, id: string): Promise<boolean> {
  return transaction(services.db, async (tx) => {
    const vm = await lockVmRow(tx, id)
    if (!vm || !(await isStillIdle(tx, id))) return false
    const wanted = vm.idleAction === 'stop' ? 'stopped' : 'paused'
    return (await moveTowards(services, tx, vm, wanted, 'Nobody used it.', true)) !== undefined
  })
}

async function isStillIdle(tx: Tx, id: string): Promise<boolean> {
  const idle = sql`select 1 from vms v where v.id = ${id} and ${isIdle} and not exists (${timedProcesses})`
  return (await findOne(tx, idle)) !== undefined
}

/** Its user wants a locked VM to rest that sleeps already: from now on nobody wakes it by coming. */
export async function keepAsleep(tx: Tx, id: string): Promise<Vm> {
  const vm = await findOne<Vm>(
    tx,
    sql`update vms set sleeps = false, status_reason = null, event_position = event_position + 1, updated_at = now() where id = ${id} returning *`,
  )
  if (!vm) throw new BerthError('not_found', 'The VM does not exist, or is not yours.')
  await addEvent(tx, vm)
  return vm
}
