/**
 * Brings databases to the status that their rows lead to. Their VMs are run by vms.ts; here a server gets its roles,
 * rights and settings. In this worker one run at a time works on a database; every step reads the row first and may be
 * repeated.
 */
import { isOfServer, runSql } from '#src/drivers/compute/guest/postgres.ts'
import { machineId } from './machine-specs.ts'
import { createShares } from './shares.ts'
import { createDatabaseTurns, type DatabaseTurns } from './databases/turns.ts'
import type { VmWork } from './vms.ts'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import { onNode } from '#src/platform/jobs.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { transaction, type Tx } from '#src/platform/postgres.ts'
import { isEndedByRequest } from '#src/resources/infra/databases/client-access.ts'
import { listDatabases } from '#src/resources/infra/database-restores/server-sql.ts'
import { reconcileDatabase } from '#src/resources/infra/databases/jobs.ts'
import { insertVmOf, keepSizeOf } from '#src/resources/infra/databases/orders.ts'
import { findDatabaseRow, isOutgrown, lockDatabaseRow, type Database } from '#src/resources/infra/databases/rows.ts'
import { quoteName } from '#src/resources/infra/databases/sql-text.ts'
import { databaseSetup, serverSetup } from '#src/resources/infra/databases/setup.ts'
import { startWaking, wakeDatabase } from '#src/resources/infra/databases/sleep.ts'
import { explainDatabase, keptSizeReason, moveDatabase, recoveryReason } from '#src/resources/infra/databases/states.ts'
import { isOverdue } from '#src/resources/infra/databases/upkeep.ts'
import { renewFunction } from '#src/resources/infra/functions/environments.ts'
import { holdsMemory } from '#src/resources/infra/organization-room.ts'
import { markDeleted, moveTowards } from '#src/resources/infra/vms/lifecycle.ts'
import { findVmRow, lockVmRow, type Vm } from '#src/resources/infra/vms/rows.ts'

const databasesAtOnce = 6
const ofOneOrganization = 3
const setupTimeoutMs = 60_000

/** Handles the node's reconcile jobs. @param turns those of everything that sets up the same servers. */
export async function handleDatabases(work: VmWork, turns: DatabaseTurns = createDatabaseTurns()): Promise<void> {
  const { services } = work
  const kind = onNode(reconcileDatabase, work.nodeId)
  const share = createShares(services, kind, ofOneOrganization)
  const run = turns(async (databaseId) => {
    const database = await findDatabaseRow(services.db, databaseId)
    if (!database) return
    const { organizationId } = database
    await share({ id: databaseId, organizationId, data: { databaseId } }, () => reconcileOne(work, databaseId))
  })
  await services.jobs.handle(kind, { concurrency: databasesAtOnce }, ({ data }) => run(data.databaseId))
}

/** Takes the next step of a database, if there is one. Each ends with a change that makes the job of the one after it. */
export async function reconcileOne(work: VmWork, databaseId: string): Promise<void> {
  const database = await findDatabaseRow(work.services.db, databaseId)
  if (!database) return
  const vm = database.vmId === null ? undefined : await findVmRow(work.services.db, database.vmId)
  await explain(work, database, vm)
  switch (database.status) {
    case 'creating':
      return create(work, database, vm)
    case 'updating':
      return update(work, database, vm)
    case 'active':
    case 'restoring':
      return keep(work, database, vm)
    case 'error':
      return mend(work, database, vm)
    case 'deleting':
      return remove(work, database, vm)
    case 'deleted':
      return
  }
}

async function create(work: VmWork, database: Database, vm: Vm | undefined): Promise<void> {
  if (!isThere(vm)) return replaceVm(work, database, vm)
  const machine = vm.status === 'running' ? work.compute.find(machineId(vm)) : undefined
  if (machine) return setUpInTime(work, database, machine)
  if (isGivenUp(vm)) return fail(work, database, vm.statusReason ?? 'Its VM did not start.')
  if (!isRecovering(vm) && (await isOverdue(work.services.db, database)))
    await fail(work, database, `It was not there within ${limits.databaseCreateSecondsMax / 60} minutes.`)
}

/** A change of the row takes effect: a VM of another size, and whatever the setup says now. */
async function update(work: VmWork, database: Database, vm: Vm | undefined): Promise<void> {
  if (await isEndedByRequest(work.services.db, database)) return
  if (isThere(vm) && isOutgrown(database, vm)) return retire(work, vm)
  if (isThere(vm) && isGivenUp(vm)) return fail(work, database, vm.statusReason ?? 'Its VM did not start.')
  try {
    if (!isThere(vm)) return await replaceVm(work, database, vm)
    if ((await startWaking(work.services, database.id))?.status !== 'running') return
  } catch (error) {
    if (!(error instanceof BerthError)) throw error
    if (database.statusReason !== error.message) await explainDatabase(work.services.db, database, error.message)
    return // it is tried again, until there is room
  }
  const machine = work.compute.find(machineId(vm))
  if (machine) await setUpInTime(work, database, machine)
}

/**
 * A VM of another size gets the data, once the server has ended in order: what did not would first have to recover. So one
 * that sleeps is woken for that, if there is room. Each step ends with a change of the VM, which makes the job of the next.
 */
async function retire(work: VmWork, vm: Vm): Promise<void> {
  const { services } = work
  if (vm.status === 'stopped' || vm.status === 'error') return removeVm(work, vm)
  if (vm.status !== 'running' && vm.status !== 'paused') return // it is on its way
  try {
    await transaction(services.db, async (tx) => {
      const locked = await lockVmRow(tx, vm.id)
      if (locked?.status !== vm.status) return
      await moveTowards(services, tx, locked, vm.status === 'paused' ? 'running' : 'stopped', 'Its size changes.')
    })
  } catch (error) {
    if (!(error instanceof BerthError)) throw error
    log.warn({ vm: encodeId('vm', vm.id), reason: error.message }, 'a database is not woken to end in order')
    await removeVm(work, vm)
  }
}

/** A server that recovers may take minutes; the status says so. */
async function explain({ services }: VmWork, database: Database, vm: Vm | undefined): Promise<void> {
  const isReported = database.statusReason === recoveryReason
  if (isReported === isRecovering(vm)) return
  await explainDatabase(services.db, database, isReported ? null : recoveryReason)
}

function isRecovering(vm: Vm | undefined): boolean {
  return (vm?.status === 'creating' || vm?.status === 'starting') && vm.statusReason === recoveryReason
}

/** Whether a database still has its VM. */
function isThere(vm: Vm | undefined): vm is Vm {
  return vm !== undefined && vm.status !== 'deleted'
}

/** Whether a VM failed and does not start again by itself. */
function isGivenUp(vm: Vm): boolean {
  return vm.status === 'error' && !holdsMemory(vm)
}

/** A new VM for the data of a database. Where there is no room for another size, it has the size that it had. */
async function replaceVm({ services }: VmWork, database: Database, before: Vm | undefined): Promise<void> {
  const insert = (sized: (tx: Tx, locked: Database) => Promise<Database>): Promise<void> =>
    transaction(services.db, async (tx) => {
      const locked = await lockDatabaseRow(tx, database.id)
      const isSame = locked?.status === database.status && locked.vmId === database.vmId // another change may be first
      if (isSame) await insertVmOf(services, tx, await sized(tx, locked))
    })
  try {
    await insert(async (_tx, locked) => locked)
  } catch (error) {
    if (!(error instanceof BerthError) || !before) throw error
    const id = encodeId('database', database.id)
    log.warn({ database: id, reason: error.message }, 'a database keeps the size that it had')
    await insert((tx, locked) => keepSizeOf(tx, locked, before))
    if (database.status === 'updating') await explainDatabase(services.db, database, keptSizeReason)
  }
}

async function setUp(work: VmWork, database: Database, machine: Machine): Promise<void> {
  const { services } = work
  await setUpServer(work, database, machine)
  const reason = database.statusReason === keptSizeReason ? keptSizeReason : null
  const change = { folderId: machine.folderId, reason }
  await transaction(services.db, async (tx) => {
    const active = await moveDatabase(tx, services, database.id, 'active', change, [database.status])
    // From now on its address is among the variables of the function that it was made for.
    if (active && database.folderId === null) await renewFunction(services, tx, active.functionId)
  })
}

/** Gives a server what its database has by Berth. @throws Error of the server's */
export async function setUpServer(work: VmWork, database: Database, machine: Machine): Promise<void> {
  const run = (name: string, sql: string): Promise<string> =>
    runSql(machine, { database: name, sql, timeoutMs: setupTimeoutMs })
  await work.compute.growFolder(machine.id, database.diskMb)
  const forServer = await serverSetup(work.services.sealer, database)
  const forDatabase = databaseSetup(database)
  if (database.folderId === null) {
    // Nobody was in it yet who could close it to everybody: one connection does for both, and each takes a new machine long.
    await run(database.pgDatabase, `${forServer}${forDatabase}`)
  } else {
    await makeMissing(run, database)
    await run('postgres', forServer)
    await run(database.pgDatabase, forDatabase)
  }
}

/** An owner that makes databases can also drop or rename its own from another one. Then it gets an empty one, which is opened with its rights. */
async function makeMissing(
  run: (name: string, sql: string) => Promise<string>,
  { pgDatabase }: Database,
): Promise<void> {
  const names = (await run('postgres', listDatabases)).split('\n')
  if (!names.includes(pgDatabase))
    await run('postgres', `create database ${quoteName(pgDatabase)} allow_connections false`)
}

/** What the owner of the data has done to its server may be in the way: that is said after five minutes. */
async function setUpInTime(work: VmWork, database: Database, machine: Machine): Promise<void> {
  const { services } = work
  try {
    await setUp(work, database, machine)
  } catch (error) {
    if (!isOfServer(error) || !(await isOverdue(services.db, database))) throw error
    const reason = `Its server could not be set up: ${error.message}`
    if (database.status === 'creating' && database.folderId === null) return fail(work, database, reason)
    await moveDatabase(services.db, services, database.id, 'active', { reason }, [database.status])
  }
}

/**
 * A VM that failed for good holds nothing of value but the disk of the data, which another VM gets. One that never ran
 * is not replaced: it is the data that does not start.
 */
async function keep(work: VmWork, database: Database, vm: Vm | undefined): Promise<void> {
  if (!isThere(vm)) return replaceVm(work, database, vm)
  if (!isGivenUp(vm)) return
  if (vm.startedAt === null) return fail(work, database, vm.statusReason ?? 'Its VM did not start.')
  log.warn({ database: encodeId('database', database.id) }, 'a database gets another VM')
  await removeVm(work, vm)
}

/** A failed database whose VM runs is there again. */
async function mend(work: VmWork, database: Database, vm: Vm | undefined): Promise<void> {
  const machine = vm?.status === 'running' ? work.compute.find(machineId(vm)) : undefined
  if (machine) await setUp(work, database, machine)
}

async function remove({ services }: VmWork, { id }: Database, vm: Vm | undefined): Promise<void> {
  if (!isThere(vm)) return void (await moveDatabase(services.db, services, id, 'deleted'))
  await removeVm({ services }, vm)
}

/** Deletes the VM of a database; the disk of its data stays. */
async function removeVm({ services }: Pick<VmWork, 'services'>, { id }: Vm): Promise<void> {
  await transaction(services.db, async (tx) => {
    const vm = await lockVmRow(tx, id)
    if (vm) await markDeleted(services, tx, vm, 'request')
  })
}

async function fail({ services }: VmWork, { id, status }: Database, reason: string): Promise<void> {
  await moveDatabase(services.db, services, id, 'error', { reason }, [status])
}

/**
 * The running machine of a database of this node; one that sleeps is woken.
 * @throws BerthError as wakeDatabase; vm_unreachable when it is on another node, or has just ended.
 */
export async function databaseMachine(
  { services, compute }: Pick<VmWork, 'services' | 'compute'>,
  databaseId: string,
): Promise<Machine> {
  const { vmId } = await wakeDatabase(services, databaseId)
  const machine = compute.find(machineId({ id: vmId }))
  if (!machine)
    throw new BerthError(
      'vm_unreachable',
      'The VM of the database does not answer right now. Try again in a few seconds.',
    )
  return machine
}
