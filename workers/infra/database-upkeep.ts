/** Periodic work on the databases of a node: measuring them, and putting those to sleep that nobody uses. */
import { setTimeout as pause } from 'node:timers/promises'
import { encodeId } from '#src/platform/ids.ts'
import { log } from '#src/platform/log.ts'
import { findUnmeasured, findWatched, storeMetrics, watchedTopic } from '#src/resources/infra/databases/metrics.ts'
import { enqueueSetup } from '#src/resources/infra/databases/jobs.ts'
import { askForFaults, faultsReason, otherVersion } from '#src/resources/infra/databases/server-faults.ts'
import { explainDatabase } from '#src/resources/infra/databases/states.ts'
import { askForRoles, readRoles, storeRoles } from '#src/resources/infra/databases/roles.ts'
import { recordActivity, type Database } from '#src/resources/infra/databases/rows.ts'
import { askForRest, findIdleDatabases, putToSleep } from '#src/resources/infra/databases/sleep.ts'
import { runSql } from '#src/drivers/compute/guest/postgres.ts'
import { machineId } from './machine-specs.ts'
import type { VmWork } from './vms.ts'

const queryTimeoutMs = 10_000
/** How long the processes that let clients in have to close connections that no client needs. */
const closingMs = 500
/** Databases that are measured, or looked at, together. */
const atOnce = 4

type Reached = Pick<Database, 'id' | 'pgDatabase' | 'vmId'>

/** Puts the idle databases of this node to sleep. One to which a client is still connected counts as used. */
export async function sleepIdleDatabases(work: VmWork): Promise<void> {
  const { db } = work.services
  const idle = await findIdleDatabases(db, work.nodeId)
  if (idle.length === 0) return
  for (const { id } of idle) askForRest(db, id)
  await pause(closingMs)
  await forEach(idle, 'put to sleep', async (database) => {
    const connected = await ask(
      work,
      database,
      "select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()",
    )
    if (connected?.[0] === 0) {
      await rememberRoles(work, database)
      await putToSleep(work.services, database.id)
    } else await recordActivity(work.services, database.id)
  })
}

/** Measures this node's databases whose last measurement is older than a minute, and looks whether their servers are as they were set up. */
export async function measureDatabases(work: VmWork): Promise<void> {
  const due = await findUnmeasured(work.services.db, work.nodeId)
  await forEach(due, 'measured', async (database) => {
    await measure(work, database)
    await checkServer(work, database)
    await rememberRoles(work, database)
  })
}

/** Stores the roles that the owner has made, by which they log in while the server sleeps. */
async function rememberRoles({ services, compute }: VmWork, { id, vmId, pgDatabase }: Reached): Promise<void> {
  const machine = vmId === null ? undefined : compute.find(machineId({ id: vmId }))
  if (!machine) return
  const order = { database: 'postgres', sql: askForRoles(pgDatabase), timeoutMs: queryTimeoutMs }
  await storeRoles(services, id, readRoles(await runSql(machine, order)))
}

/** Has a server set up again that is not as it was set up, and says so where its database is shown, until it is right. */
async function checkServer({ services, compute }: VmWork, database: Database): Promise<void> {
  const machine = database.vmId === null ? undefined : compute.find(machineId({ id: database.vmId }))
  if (!machine) return
  const printed = await runSql(machine, {
    database: 'postgres',
    sql: askForFaults(database),
    timeoutMs: queryTimeoutMs,
  })
  const found = printed.split('\n').filter(Boolean)
  if (found.length > 0) await enqueueSetup(services, database.id)
  const faults = found.filter((fault) => fault !== otherVersion)
  const reason = faults.length > 0 ? `${faultsReason}${faults.join(', ')}.` : null
  const isReported = database.statusReason?.startsWith(faultsReason) ?? false
  if (isReported ? database.statusReason !== reason : reason !== null && database.statusReason === null)
    await explainDatabase(services.db, database, reason)
}

/** Measures a database every few seconds for as long as somebody watches it. */
export function measureWatchedDatabases(work: VmWork): void {
  const { db, pubsub } = work.services
  const busy = new Set<string>()
  pubsub.listen(watchedTopic, (id) => {
    if (id === null || busy.has(id) || busy.size >= watchedMax) return
    busy.add(id)
    findWatched(db, work.nodeId, id)
      .then((database) => database && measure(work, database))
      .catch((error: Error) => log.warn({ reason: error.message }, 'a database could not be measured'))
      .finally(() => busy.delete(id))
  })
}
const watchedMax = 50

async function measure(work: VmWork, database: Reached): Promise<void> {
  const metrics = await ask(
    work,
    database,
    // Of the databases that its owner has made, too, and not of what a restore keeps for a day.
    `select sum(numbackends), sum(pg_database_size(datid)), sum(xact_commit), sum(xact_rollback), sum(tup_returned),
        sum(tup_inserted + tup_updated + tup_deleted), sum(blks_hit), sum(blks_read), sum(deadlocks)
      from pg_stat_database where datname not in ('postgres', 'template0', 'template1')
        and datname !~ '^${database.pgDatabase}_(restore|old)_[0-9]+$'`,
  )
  if (!metrics) return
  const [connections, sizeBytes, transactions, rolledBack, rowsRead, rowsWritten, blocksHit, blocksRead, deadlocks] =
    metrics as [number, number, number, number, number, number, number, number, number] // as many as are selected
  await storeMetrics(work.services.db, database.id, {
    connections,
    sizeBytes,
    transactions,
    rolledBack,
    rowsRead,
    rowsWritten,
    blocksHit,
    blocksRead,
    deadlocks,
  })
}

/** The numbers of the first row that the server answers; undefined when it does not run here. */
async function ask(work: VmWork, { vmId }: Reached, sql: string): Promise<number[] | undefined> {
  const machine = vmId === null ? undefined : work.compute.find(machineId({ id: vmId }))
  if (!machine) return undefined
  const answer = await runSql(machine, { database: 'postgres', sql, timeoutMs: queryTimeoutMs })
  const numbers = answer.trim().split('|').map(Number)
  return numbers.every(Number.isSafeInteger) ? numbers : undefined
}

/** Does this to each, several at once; one that fails is tried again next time. */
async function forEach<Each extends Reached>(
  databases: readonly Each[],
  done: string,
  work: (database: Each) => Promise<void>,
): Promise<void> {
  const left = [...databases]
  const next = async (): Promise<void> => {
    for (let database = left.shift(); database; database = left.shift()) {
      const { id } = database
      await work(database).catch((error: Error) =>
        log.warn({ database: encodeId('database', id), reason: error.message }, `a database was not ${done} this time`),
      )
    }
  }
  await Promise.all(Array.from({ length: atOnce }, next))
}
