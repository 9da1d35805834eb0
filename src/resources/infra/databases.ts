/** Managed Postgres: databases, each in a VM of its own. The work itself is done by a node: workers/infra/databases.ts. */
import { changesNothing } from '#src/platform/shapes/changes.ts'
import { rootDiskMbOf } from '#src/drivers/compute/templates/database-disks.ts'
import { allow, allowAnywhere, owned, type Scope } from '#src/platform/access.ts'
import { allowInGiven } from '#src/platform/access/organizations.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { decodeId, encodeId, newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import type { ListWindow } from '#src/platform/nouns.ts'
import { isGiven, type Direction, type Page, type PagesOf, type PageWindow } from '#src/platform/pages.ts'
import { getOne, isSqlState, sql, sqlState, transaction, type Tx } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { waitUntil } from '#src/platform/streams/waits.ts'
import { hasTextOf, type TextFilter } from '#src/platform/shapes/text-filters.ts'
import { findNodeOf } from './databases/jobs.ts'
import { linkSet, makeLink, readLinkTarget, type DatabaseLink } from './databases/links.ts'
import { readDatabaseName, nameError } from './databases/names.ts'
import { insertDatabase, insertVmOf, type DatabaseOrder } from './databases/orders.ts'
import {
  checkActive,
  databaseRows,
  findDatabaseRow,
  lockDatabase,
  databaseSearch,
  notDeleted,
  type Database,
  type DatabaseStatus,
} from './databases/rows.ts'
import { changeSettings } from './databases/settings.ts'
import { readSize, readSleep, type DatabaseSize } from './databases/sizes.ts'
import { addDatabaseEvent, moveDatabase, updateAtOnce } from './databases/states.ts'
import { makeToken } from './databases/tokens.ts'
import { renewFunction } from './functions/environments.ts'
import { reserveRoom } from './organization-room.ts'
import { markDeleted } from './vms/lifecycle.ts'
import { growDatabaseVm } from './vms/databases.ts'
import { lockVmRow } from './vms/rows.ts'

/** A new token, which is shown only once, and the database that it opens. */
export type DatabaseWithToken = { database: Database; token: string }
/** Conditions of a list of databases. */
export type DatabaseFilter = TextFilter & { statuses?: readonly DatabaseStatus[] | null; projectId?: string | null }

/** How often a name that is made from an id is tried before it is given up. */
const nameTriesMax = 5

/**
 * Creates a database and waits up to 25 s until it is active; after that it is returned as it is, still `creating`.
 * @throws BerthError 400 for an invalid order, 409 when the name is taken, 429 when the organization has reached a limit,
 * 503 when no node has room, 500 when its node failed to start it.
 */
export async function createDatabase(call: Call, order: DatabaseOrder): Promise<DatabaseWithToken> {
  const scope = isGiven(order.organizationId)
    ? allow(call.caller, 'databases:write')
    : allowInGiven(call.caller, 'databases:write', null)
  if (isGiven(order.organizationId) && decodeId('organization', order.organizationId) !== scope.organizationId)
    throw new BerthError('invalid_request', `organization_id must name ${ownOrganization(scope)}.`, {
      field: 'organization_id',
    })
  const made = await makeToken()
  for (let tries = 1; ; tries++) {
    const id = newUuid()
    try {
      const database = await whenSettled(call, id, order.wait ?? true, () =>
        transaction(call.db, (tx) => insertDatabase(call, tx, scope, id, order, made)),
      )
      return { database, token: made.token }
    } catch (error) {
      if (isSqlState(error, sqlState.uniqueViolation, 'databases_pg_user_key') && tries < nameTriesMax) continue
      throw nameError(error)
    }
  }
}

/** The organization of a caller's token, for a caller who named another one, or named it by something else than its id. */
function ownOrganization({ organizationId }: Scope): string {
  return `the organization of your token by its id, which is ${encodeId('organization', organizationId)}`
}

/** The database of this id. @throws BerthError not_found. */
export async function getDatabase(call: Call, publicId: string): Promise<Database> {
  return databaseRows.read(call.db, publicId, sql`${owned(allow(call.caller, 'databases:read'))} and ${notDeleted}`)
}

/** The databases of these stored ids, of the caller's organizations. */
export async function findDatabases(call: Call, ids: readonly string[]): Promise<Database[]> {
  return databaseRows.find(call.db, ids, sql`${owned(allowAnywhere(call.caller, 'databases:read'))} and ${notDeleted}`)
}

/**
 * The organization's databases, newest first: 1000 at most at once. Deleted ones whose data is still kept only by their
 * status.
 * @param organizationId must be that of the caller's token; null: it is.
 * @throws BerthError invalid_request, org_mismatch.
 */
export async function pageDatabases(
  call: Call,
  window: ListWindow,
  filter?: DatabaseFilter | null,
  direction?: Direction,
  organizationId: string | null = null,
): Promise<Page<Database>> {
  const scope = allow(call.caller, 'databases:read')
  if (organizationId !== null && decodeId('organization', organizationId) !== scope.organizationId)
    throw new BerthError('org_mismatch', `Name ${ownOrganization(scope)}.`)
  const chosen = sql.join([owned(scope), ...conditions(filter ?? {})], sql` and `)
  return databaseRows.page(call.db, { ...window, most: limits.infraListMax }, chosen, direction)
}

/** The same page of the databases of each of these projects, of the caller's organization. @throws BerthError invalid_request. */
export async function pageDatabasesOfEach(
  call: Call,
  projectIds: readonly string[],
  window: PageWindow,
  filter?: DatabaseFilter | null,
  direction?: Direction,
): Promise<PagesOf<Database>> {
  const scope = allow(call.caller, 'databases:read')
  return databaseRows.pageOfEach(call.db, window, {
    parents: sql`select id from projects where id = any(${projectIds}::uuid[]) and ${owned(scope)}`,
    parentName: 'project',
    chosen: sql.join([sql`project_id = parent.id`, ...conditions(filter ?? {})], sql` and `),
    direction,
  })
}

function conditions(filter: DatabaseFilter) {
  const { statuses, projectId } = filter
  const found = statuses
    ? sql`status = any(${statuses}::text[]) and (${notDeleted} or purge_after is not null)`
    : notDeleted
  const named = [found, hasTextOf(databaseSearch, filter)]
  return projectId ? [...named, sql`project_id = ${decodeId('project', projectId) ?? null}::uuid`] : named
}

/** The input to change a database; an absent key stays as it is. */
export type DatabaseChange = { [Part in keyof DatabaseSize]?: number | null } & {
  name?: string | null
  functionId?: string | null // null: none
  settings?: Readonly<Record<string, string | null>> | null
  sleepAfterSeconds?: number | null
}

/**
 * Changes the name, size, settings or idle time. Another size or setting is applied by its node: meanwhile it is
 * `updating`. Memory and processors need a new VM on the same data, which ends connections.
 * @throws BerthError not_found, database_not_ready, database_name_taken, invalid_request; as reserveRoom.
 */
export async function updateDatabase(call: Call, publicId: string, input: DatabaseChange): Promise<Database> {
  const scope = allow(call.caller, 'databases:write')
  try {
    return await transaction(call.db, async (tx) => {
      const before = await lockDatabase(tx, scope, publicId)
      checkActive(before)
      if (changesNothing(input)) return before
      const name = isGiven(input.name) ? readDatabaseName(input.name, 'name') : before.name
      const size = readSize(input, before)
      const settings = input.settings ? changeSettings(before.settings, input.settings) : before.settings
      const sleep = readSleep(input.sleepAfterSeconds, before.sleepAfterSeconds)
      const link = await changedLink(call, tx, scope, before, input.functionId)
      const set = sql`name = ${name}, ${linkSet(link)}, vcpu_count = ${size.vcpuCount}, memory_mb = ${size.memoryMb}, disk_mb = ${size.diskMb},
        settings = ${JSON.stringify(settings)}, sleep_after_seconds = ${sleep}`
      const isForNode =
        input.settings ||
        size.vcpuCount !== before.vcpuCount ||
        size.memoryMb !== before.memoryMb ||
        size.diskMb !== before.diskMb
      if (isForNode) await reserveMore(call, tx, before, size)
      const moved = isForNode ? await moveDatabase(tx, call, before.id, 'updating', { set }) : undefined
      const changed = moved ?? (await changeOnly(tx, before.id, set))
      await renewLinked(call, tx, before, changed)
      return changed
    })
  } catch (error) {
    throw nameError(error)
  }
}

/**
 * Makes a new token; clients that logged in with the old one are ended. A linked function gets another password too.
 * @throws BerthError not_found, database_not_ready.
 */
export async function rotateDatabaseToken(call: Call, publicId: string): Promise<DatabaseWithToken> {
  const scope = allow(call.caller, 'databases:write')
  const { token, tokenVerifier, tokenHash } = await makeToken()
  const database = await transaction(call.db, async (tx) => {
    const before = await lockDatabase(tx, scope, publicId)
    checkActive(before)
    const link = await makeLink(call.sealer, before.id, before.functionId)
    const set = sql`token_verifier = ${tokenVerifier}, token_hash = ${tokenHash}, ${linkSet(link)}`
    const rotated = await updateAtOnce(tx, call, before.id, set)
    await renewFunction(call, tx, rotated.functionId)
    return rotated
  })
  return { database, token }
}

/** The link that a database has after a change: another function has a password of its own. */
async function changedLink(
  { sealer }: Call,
  tx: Tx,
  scope: Scope,
  before: Database,
  functionId: string | null | undefined,
): Promise<DatabaseLink> {
  if (functionId === undefined || functionId === (before.functionId && encodeId('function', before.functionId)))
    return before
  const target = functionId === null ? null : await readLinkTarget(tx, scope, functionId)
  return makeLink(sealer, before.id, target)
}

/** The functions whose variables are others after a change of a database. */
async function renewLinked(call: Call, tx: Tx, before: Database, now: Database): Promise<void> {
  if (before.functionId === now.functionId && before.name === now.name) return
  for (const id of new Set([before.functionId, now.functionId])) await renewFunction(call, tx, id)
}

/** Reserves what a larger size needs beyond what the database has. @throws BerthError as reserveRoom. */
async function reserveMore(call: Call, tx: Tx, before: Database, size: DatabaseSize): Promise<void> {
  const memoryMb = Math.max(0, size.memoryMb - before.memoryMb)
  const dataMb = Math.max(0, size.diskMb - before.diskMb)
  const diskMb = dataMb + rootDiskMbOf(size.diskMb) - rootDiskMbOf(before.diskMb)
  const nodeId = await findNodeOf(tx, before)
  if (memoryMb + diskMb > 0) await reserveRoom(call, tx, before.organizationId, { memoryMb, diskMb }, nodeId ?? null)
  if (dataMb > 0 && before.vmId) await growDatabaseVm(tx, before.vmId, size.diskMb)
}

/** Changes a locked row without a move. */
async function changeOnly(tx: Tx, id: string, set: ReturnType<typeof sql>): Promise<Database> {
  const changed = await getOne<Database>(
    tx,
    sql`update databases set ${set}, event_position = event_position + 1, updated_at = now() where id = ${id} returning *`,
  )
  await addDatabaseEvent(tx, changed)
  return changed
}

/**
 * Marks a database for deletion: clients are ended, its node deletes its VM, its data is kept for 7 days. Repeating it
 * changes nothing.
 * @throws BerthError not_found.
 */
export async function deleteDatabase(call: Call, publicId: string): Promise<void> {
  const scope = allow(call.caller, 'databases:write')
  await transaction(call.db, async (tx) => {
    const { id, vmId, functionId } = await lockDatabase(tx, scope, publicId)
    const marked = await moveDatabase(tx, call, id, 'deleting')
    if (marked) await renewFunction(call, tx, functionId)
    const vm = marked && vmId && (await lockVmRow(tx, vmId))
    if (vm) await markDeleted(call, tx, vm, 'request')
    else if (marked) await moveDatabase(tx, call, id, 'deleted')
  })
}

/**
 * Brings a deleted database back with its data and its token, and waits for it as a creation does.
 * @throws BerthError not_found once its data is gone; database_not_ready while it is being deleted; database_name_taken;
 * as reserveRoom.
 */
export async function undeleteDatabase(call: Call, publicId: string): Promise<Database> {
  const scope = allow(call.caller, 'databases:write')
  const id = decodeId('database', publicId)
  if (!id) throw notFound('database')
  try {
    return await whenSettled(call, id, true, () => transaction(call.db, (tx) => comeBack(call, tx, scope, publicId)))
  } catch (error) {
    throw nameError(error)
  }
}

async function comeBack(call: Call, tx: Tx, scope: Scope, publicId: string): Promise<Database> {
  const before = await databaseRows.read(tx, publicId, owned(scope), sql`for no key update`)
  if (before.status === 'deleted' && before.purgeAfter === null) throw notFound('database')
  if (before.status === 'deleting')
    throw new BerthError('database_not_ready', 'The database is still being deleted. Try again in a few seconds.')
  if (before.status !== 'deleted') return before
  const vm = await insertVmOf(call, tx, before)
  const moved = await moveDatabase(tx, call, before.id, 'creating', { set: sql`vm_id = ${vm.id}` })
  if (!moved) throw new Error('a deleted database that is locked could not be moved')
  return moved
}

/** Makes a change, and waits until the database is no longer `creating`, 25 s at most; the row as it is then. */
async function whenSettled(call: Call, id: string, waits: boolean, make: () => Promise<Database>): Promise<Database> {
  const database = await waitUntil(call.pubsub, {
    topic: 'database',
    id,
    limitSeconds: limits.databaseWaitSeconds,
    first: make,
    again: async (before) => (await findDatabaseRow(call.db, id)) ?? before,
    isDone: ({ status }) => !waits || status !== 'creating',
  })
  if (database.status !== 'error') return database
  throw new BerthError(
    'internal_error',
    `The database ${encodeId('database', id)} could not be started: ${database.statusReason ?? 'its node gave no reason'} Delete it and try again.`,
  )
}
