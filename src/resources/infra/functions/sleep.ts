/** A function that nobody asks sleeps: its VM is paused with its program in it, and goes on at the next request. */
import type { NodeUpkeep } from '#src/platform/jobs/upkeep.ts'
import { functionLimits } from '#src/platform/limits/functions.ts'
import { change, findAll, findOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { moveTowards } from '#src/resources/infra/vms/lifecycle.ts'
import { lockVmRow } from '#src/resources/infra/vms/rows.ts'
import { retireInstance } from './instances.ts'
import { lockFunctionRow } from './rows.ts'
import { moveFunction } from './states.ts'

const batchMax = 100

/** While Postgres is away no use is recorded, so nobody sleeps right after that. */
const isIdle = sql<boolean>`f.status in ('running', 'error') and v.status = 'running'
  and greatest(f.active_at, v.started_at, pg_postmaster_start_time()) < now() - f.idle_seconds * interval '1 second'`

/** Records that these functions are in use, so that they do not sleep. */
export async function recordFunctionUse(db: Db, functionIds: readonly string[]): Promise<void> {
  await change(
    db,
    sql`
      update functions
      set active_at = now()
      where id = any(${functionIds}::uuid[]) and active_at < now() - ${functionLimits.activityMs / 2000} * interval '1 second'`,
  )
}

/** Puts the functions of a node to sleep that nobody has asked for their idle time. One that has failed gives up its VM. */
export async function sleepIdleFunctions(services: Background, nodeId: string): Promise<void> {
  const idle = await findAll<Pick<Row<'functions'>, 'id'>>(
    services.db,
    sql`select f.id from functions f join vms v on v.id = f.vm_id where v.node_id = ${nodeId} and ${isIdle} order by f.active_at limit ${batchMax}`,
  )
  for (const { id } of idle) await transaction(services.db, (tx) => putToSleep(services, tx, id))
}

async function putToSleep(services: Background, tx: Tx, id: string): Promise<void> {
  const one = await lockFunctionRow(tx, id)
  const stillIdle = await findOne(
    tx,
    sql`select 1 from functions f join vms v on v.id = f.vm_id where f.id = ${id} and ${isIdle}`,
  )
  if (!one?.vmId || !stillIdle) return
  if (one.status === 'error') {
    await change(tx, sql`update functions set vm_id = null where id = ${id}`)
    return retireInstance(services, tx, one.vmId, false)
  }
  const vm = await lockVmRow(tx, one.vmId)
  if (!vm || !(await moveFunction(tx, id, 'stopping', { reason: 'Nobody asks for it.' }))) return
  await moveTowards(services, tx, vm, 'paused', 'Nobody asks for the function.')
}

/** What a worker does for idle functions on its node. */
export const functionSleepNodeUpkeep: readonly NodeUpkeep[] = [
  { every: 5, doing: 'putting idle functions to sleep', work: sleepIdleFunctions },
]
