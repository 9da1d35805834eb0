/** A function's row, its versions' and its instances', and their queries. */
import { owned, type Scope } from '#src/platform/access.ts'
import { notFound } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { rowsOf } from '#src/platform/nouns.ts'
import { findAll, findOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'

/** Steady statuses are stopped, running, error and deleted. The others lead to one of them. */
export type FunctionStatus = 'stopped' | 'starting' | 'running' | 'stopping' | 'error' | 'deleting' | 'deleted'

/** A function as it is stored; times are RFC 3339 text, ids are uuids. */
export type StoredFunction = Row<'functions', { status: FunctionStatus }>

/** A function as lists read it: without its variables, which are large together. */
export type ShownFunction = Omit<StoredFunction, 'sealedVariables'>

/** What was deployed; it never changes. */
export type FunctionVersion = Row<'function_versions', { startCommand: string | null }>

/** A version in a VM. */
export type FunctionInstance = Omit<Row<'function_instances', { readyAt: string | null }>, 'progress'>

/** What happened to a function: positions grow by one and resume a subscription. */
export type FunctionEvent = Row<'function_events', { status: FunctionStatus }>

/** Functions as they are found. */
export const functionRows = rowsOf<ShownFunction>(
  'function',
  'functions',
  'function',
  sql`
    id, organization_id, user_id, name, host, status, status_reason, event_position, version_id, versions_made, vm_id, generation,
    vcpu_count, memory_mb, idle_seconds, start_seconds,
    failures, retry_at, active_at, created_at, updated_at, deleted_at`,
)

/** Versions as they are found. */
export const versionRows = rowsOf<FunctionVersion>('functionVersion', 'function_versions', 'version')

/** The condition for functions that are there. */
export const notDeleted = sql<boolean>`status <> 'deleted'`

/** The function, whoever owns it: for workers and the edge. */
export async function findFunctionRow(db: Db, id: string): Promise<StoredFunction | undefined> {
  return findOne<StoredFunction>(db, sql`select * from functions where id = ${id}`)
}

/** Whether a function that is deleted had this host name, at which its visitors may still come. */
export async function wasHostOfFunction(db: Db, host: string): Promise<boolean> {
  const found = await findOne(
    db,
    sql`select 1 from functions where host = ${host} and status in ('deleting', 'deleted') limit 1`,
  )
  return found !== undefined
}

/** A function, whoever owns it, locked until the transaction ends. */
export async function lockFunctionRow(tx: Tx, id: string): Promise<StoredFunction | undefined> {
  return findOne<StoredFunction>(tx, sql`select * from functions where id = ${id} for no key update`)
}

/** The organization's function, locked until the transaction ends. @throws BerthError not_found. */
export async function lockFunction(tx: Tx, scope: Scope, publicId: string): Promise<StoredFunction> {
  const id = decodeId('function', publicId)
  const found =
    id &&
    (await findOne<StoredFunction>(
      tx,
      sql`select * from functions where id = ${id} and ${owned(scope)} and status not in ('deleting', 'deleted') for no key update`,
    ))
  if (!found) throw notFound('function')
  return found
}

/** The organization's function of this public id, for whoever links something to it; it stays until the transaction ends. */
export async function findFunctionOfOrganization(
  tx: Tx,
  organizationId: string,
  publicId: string,
): Promise<StoredFunction | undefined> {
  const id = decodeId('function', publicId)
  if (id === undefined) return undefined
  return findOne<StoredFunction>(
    tx,
    sql`
    select * from functions where id = ${id} and organization_id = ${organizationId} and status not in ('deleting', 'deleted') for share`,
  )
}

/** The version of this stored id. */
export async function findVersion(db: Db, id: string): Promise<FunctionVersion | undefined> {
  return findOne<FunctionVersion>(db, sql`select * from function_versions where id = ${id}`)
}

const instanceColumns = sql`vm_id, function_id, version_id, generation, ends_at, ready_at, failed_attempts, worker_number, created_at`

/** All instances of a function. */
export async function findInstances(db: Db, functionId: string): Promise<FunctionInstance[]> {
  return findAll<FunctionInstance>(
    db,
    sql`select ${instanceColumns} from function_instances where function_id = ${functionId} order by created_at`,
  )
}
