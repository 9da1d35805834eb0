/** A database that nobody uses sleeps: its VM is paused, which costs nothing but disk, and resumes when somebody comes. */
import { allow, owned } from '#src/platform/access.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { findAll, findOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Background, Call } from '#src/platform/services.ts'
import { waitUntil } from '#src/platform/streams/waits.ts'
import { findNode } from '#src/resources/infra/nodes.ts'
import { moveTowards } from '#src/resources/infra/vms/lifecycle.ts'
import { findVmRow, lockVmRow, type Vm } from '#src/resources/infra/vms/rows.ts'
import { enqueueReconcile } from './jobs.ts'
import {
  checkActive,
  databaseRows,
  findDatabaseRow,
  isOutgrown,
  lockDatabaseRow,
  notDeleted,
  type Database,
  type DatabaseStatus,
} from './rows.ts'

const batchMax = 100

/** Waits until a failed database whose VM runs again is active, or for 30 s. */
async function whenMended(call: Call, { id, vmId, folderId }: Database): Promise<void> {
  await transaction(call.db, (tx) => enqueueReconcile(call.jobs, tx, { id, vmId, folderId }))
  const look = (): Promise<Database | undefined> => findDatabaseRow(call.db, id)
  await waitUntil(call.pubsub, {
    topic: 'database',
    id,
    limitSeconds: limits.databaseWakeSeconds,
    first: look,
    again: look,
    isDone: (seen) => seen?.status !== 'error',
  })
}

/** In these the VM is to run, or may. */
const wakeable: readonly DatabaseStatus[] = ['active', 'updating', 'restoring']
/** A VM that is neither running nor one of these is on its way to one of them. */
const resting: readonly Vm['status'][] = ['paused', 'stopped', 'error']

/** Wakes a database, if it sleeps, or starts one that failed. @throws BerthError not_found, database_not_ready; as wakeDatabase. */
export async function wakeOwnDatabase(call: Call, publicId: string): Promise<Database> {
  const scope = allow(call.caller, 'databases:write')
  const database = await databaseRows.read(call.db, publicId, sql`${owned(scope)} and ${notDeleted}`)
  if (database.status !== 'error') checkActive(database)
  await wakeDatabase(call, database.id, database.status === 'error' ? [...wakeable, 'error'] : wakeable)
  if (database.status === 'error') await whenMended(call, database)
  return databaseRows.read(call.db, publicId, owned(scope))
}

/**
 * Makes the VM of a database run, and waits until it does and its server answers.
 * @param from the statuses in which that is possible.
 * @returns the VM, and the address of the worker that has it.
 * @throws BerthError database_not_ready in a status in which it has none; service_unavailable when it did not wake within
 * 30 s; as reserveRoom.
 */
export async function wakeDatabase(
  services: Background,
  databaseId: string,
  from: readonly DatabaseStatus[] = wakeable,
): Promise<{ vmId: string; nodeAgentUrl: string }> {
  const look = (): Promise<Vm | undefined> => startWaking(services, databaseId, from)
  const vm = await waitUntil(services.pubsub, {
    topic: 'database', // its VM's changes too
    id: databaseId,
    limitSeconds: limits.databaseWakeSeconds,
    first: look,
    again: look,
    isDone: (seen) => seen?.status === 'running',
  })
  if (vm?.status !== 'running')
    throw new BerthError(
      'service_unavailable',
      `The database did not wake within ${limits.databaseWakeSeconds} s. ${vm?.statusReason ? `${vm.statusReason} ` : ''}Try again in a few seconds.`,
      { retryAfterSeconds: 5 },
    )
  const node = await findNode(services.db, vm.nodeId)
  if (!node) throw new Error('the node of a VM is not there')
  return { vmId: vm.id, nodeAgentUrl: node.agentUrl }
}

/**
 * Makes the VM of a database go on, if it rests; the VM as it is then, or undefined while another takes its place.
 * @throws BerthError not_found, database_not_ready; as reserveRoom.
 */
export async function startWaking(
  services: Background,
  databaseId: string,
  from: readonly DatabaseStatus[] = wakeable,
): Promise<Vm | undefined> {
  const database = await findDatabaseRow(services.db, databaseId)
  if (!database) throw notFound('database')
  const { vmId, status } = database
  if (!vmId || !from.includes(status))
    throw new BerthError('database_not_ready', `The database is ${status}, so nobody can connect to it now.`)
  const vm = await findVmRow(services.db, vmId)
  if (vm && status === 'updating' && isOutgrown(database, vm)) return undefined
  if (!vm || !resting.includes(vm.status)) return vm
  return transaction(services.db, async (tx) => {
    const locked = (await lockVmRow(tx, vmId)) ?? vm
    return (resting.includes(locked.status) && (await moveTowards(services, tx, locked, 'running'))) || locked
  })
}

/** A database that was not used for its idle time, and its VM. */
export type IdleDatabase = Pick<Database, 'id' | 'pgDatabase'> & { vmId: string }

const isIdle = sql<boolean>`d.status = 'active' and v.status = 'running' and d.sleep_after_seconds is not null
  and greatest(d.active_at, v.started_at) < now() - d.sleep_after_seconds * interval '1 second'`

/** The idle databases of a node. */
export async function findIdleDatabases(db: Db, nodeId: string): Promise<IdleDatabase[]> {
  return findAll<IdleDatabase>(
    db,
    sql`
      select d.id, d.pg_database, d.vm_id
      from databases d
      join vms v on v.id = d.vm_id
      where v.node_id = ${nodeId} and ${isIdle}
      order by d.active_at limit ${batchMax}`,
  )
}

/** Asks the processes that let clients in to close connections to the database's server that no client needs. */
export function askForRest(db: Db, databaseId: string): void {
  publish(db, restTopic, databaseId)
}
/** The topic of that notice. */
export const restTopic = 'database_rest'

/** Puts a database to sleep, if it is still idle. */
export async function putToSleep(services: Background, databaseId: string): Promise<void> {
  await transaction(services.db, async (tx) => {
    const database = await lockDatabaseRow(tx, databaseId)
    if (!database?.vmId || !(await isStillIdle(tx, databaseId))) return
    const vm = await lockVmRow(tx, database.vmId)
    if (vm) await moveTowards(services, tx, vm, 'paused', 'Nobody uses the database.')
  })
}

async function isStillIdle(tx: Tx, databaseId: string): Promise<boolean> {
  return (
    (await findOne(
      tx,
      sql`select 1 from databases d join vms v on v.id = d.vm_id where d.id = ${databaseId} and ${isIdle}`,
    )) !== undefined
  )
}
