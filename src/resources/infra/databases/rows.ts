/** A database's row, and its queries. */
import { owned, type Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import { rowsOf } from '#src/platform/nouns.ts'
import { change, findOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Searched } from '#src/platform/shapes/text-filters.ts'
import type { Vm } from '#src/resources/infra/vms/rows.ts'

/** Steady statuses are active, deleted and error. The others lead to one of them. */
export type DatabaseStatus = 'creating' | 'active' | 'updating' | 'restoring' | 'deleting' | 'deleted' | 'error'

/** A database as it is stored; times are RFC 3339 text, ids are uuids. A setting that is null goes back to the server's own. */
export type Database = Row<'databases', { status: DatabaseStatus; settings: Record<string, string | null> }>

/** What happened to a database: positions grow by one and resume a subscription. */
export type DatabaseEvent = Row<'database_events', { status: DatabaseStatus }>

/** Databases as they are found. */
export const databaseRows = rowsOf<Database>('database', 'databases', 'database')

/** The condition for databases that are there. */
export const notDeleted = sql<boolean>`status <> 'deleted'`

/** How databases are found. */
export const databaseSearch: Searched = {
  type: 'Database',
  may: 'databases:read',
  table: 'databases',
  title: sql`name`,
  whose: (scope) => sql`${owned(scope)} and ${notDeleted}`,
}

/** The database, whoever owns it: for workers and the edge. */
export async function findDatabaseRow(db: Db, id: string): Promise<Database | undefined> {
  return findOne<Database>(db, sql`select * from databases where id = ${id}`)
}

/** The same, locked until the transaction ends. */
export async function lockDatabaseRow(tx: Tx, id: string): Promise<Database | undefined> {
  return findOne<Database>(tx, sql`select * from databases where id = ${id} for no key update`)
}

/** The organization's database, locked until the transaction ends. @throws BerthError not_found. */
export async function lockDatabase(tx: Tx, scope: Scope, publicId: string): Promise<Database> {
  return databaseRows.read(tx, publicId, sql`${owned(scope)} and ${notDeleted}`, sql`for no key update`)
}

/** The database of which this is the owner's user, who is unique in the whole installation. */
export async function findDatabaseForLogin(db: Db, pgUser: string): Promise<Database | undefined> {
  return findOne<Database>(
    db,
    sql`select * from databases where pg_user = ${pgUser} and status not in ('deleting', 'deleted')`,
  )
}

/** Records that a client uses the database, so that it does not sleep; written every few seconds at most. */
export async function recordActivity({ db }: { db: Db }, databaseId: string): Promise<void> {
  await change(
    db,
    sql`update databases set active_at = now() where id = ${databaseId} and active_at < now() - ${activitySeconds} * interval '1 second'`,
  )
}
const activitySeconds = 5

/** The host name at which clients reach it. */
export function hostOf({ domain }: { domain: string }, { id }: Pick<Database, 'id'>): string {
  return `${encodeId('database', id).slice('db_'.length)}.db.${domain}`
}

/** Whether its VM has another size than the database is to have: another VM takes its place. */
export function isOutgrown(
  { memoryMb, vcpuCount }: Pick<Database, 'memoryMb' | 'vcpuCount'>,
  vm: Pick<Vm, 'memoryMb' | 'vcpuCount'>,
): boolean {
  return vm.memoryMb !== memoryMb || vm.vcpuCount !== vcpuCount
}

/** @throws BerthError database_not_ready unless it is active. */
export function checkActive({ status }: Pick<Database, 'status'>): void {
  if (status === 'active') return
  throw new BerthError(
    'database_not_ready',
    `The database is ${status}; this requires an active one. ${status === 'error' ? 'See its statusReason in GraphQL.' : 'Wait until it is active, then try again.'}`,
  )
}
