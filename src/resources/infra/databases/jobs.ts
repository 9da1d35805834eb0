/** The jobs of databases. */
import { job, onNode, type Jobs } from '#src/platform/jobs.ts'
import { findOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Vm } from '#src/resources/infra/vms/rows.ts'
import type { Database } from './rows.ts'

/** Brings one database to the status that its row leads to. Runs on the node that has its VM, or its data. */
export const reconcileDatabase = job<{ databaseId: string }>('databases-reconcile', {
  retryLimit: 20,
  expireInSeconds: 300,
})

/** Gives the server of an active database its roles, rights and settings again. The database stays active. */
export const setUpAgain = job<{ databaseId: string }>('databases-set-up', { retryLimit: 3, expireInSeconds: 300 })

/** The topic of the notice that the server of a database has been set up again. */
export const setUpTopic = 'database_set_up'

/** Enqueues it for an active database. One that is being changed or restored is not: the next login that is lost asks again. */
export async function enqueueSetup({ db, jobs }: { db: Db; jobs: Pick<Jobs, 'enqueue'> }, id: string): Promise<void> {
  await transaction(db, async (tx) => {
    const database = await findOne<Pick<Database, 'id' | 'vmId' | 'folderId'>>(
      tx,
      sql`select id, vm_id, folder_id from databases where id = ${id} and status = 'active'`,
    )
    const nodeId = database && (await findNodeOf(tx, database))
    if (nodeId) await jobs.enqueue(tx, onNode(setUpAgain, nodeId), { databaseId: id })
  })
}

/** Enqueues the reconciling on the database's node; without a node there is nothing to do. */
export async function enqueueReconcile(
  jobs: Pick<Jobs, 'enqueue'>,
  tx: Tx,
  database: Pick<Database, 'id' | 'vmId' | 'folderId'>,
  options: { startAfterSeconds?: number } = {},
): Promise<void> {
  const nodeId = await findNodeOf(tx, database)
  if (nodeId) await jobs.enqueue(tx, onNode(reconcileDatabase, nodeId), { databaseId: database.id }, options)
}

/** The node of a database: that of its VM, or of its data when it has none. */
export async function findNodeOf(
  tx: Tx,
  { vmId, folderId }: Pick<Database, 'vmId' | 'folderId'>,
): Promise<string | undefined> {
  const found = await findOne<Pick<Row<'vms'>, 'nodeId'>>(
    tx,
    vmId
      ? sql`select node_id from vms where id = ${vmId}`
      : sql`select node_id from folders where id = ${folderId}::uuid`,
  )
  return found?.nodeId
}

/** Brings the database that runs in a VM, if one does, on from where its VM is now. */
export async function noteVmOfDatabase(
  { jobs }: { jobs: Pick<Jobs, 'enqueue'> },
  tx: Tx,
  vm: Pick<Vm, 'id' | 'nodeId' | 'purpose'>,
): Promise<void> {
  if (vm.purpose !== 'database') return
  const database = await findOne<Pick<Database, 'id'>>(tx, sql`select id from databases where vm_id = ${vm.id}`)
  if (!database) return
  await jobs.enqueue(tx, onNode(reconcileDatabase, vm.nodeId), { databaseId: database.id })
  publish(tx, 'database', database.id) // for whoever waits until it is awake
}
