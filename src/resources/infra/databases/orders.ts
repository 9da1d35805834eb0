/** Orders of databases: validated, checked against the organization's room, and inserted with the VM that they need. */
import type { Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { checkCount } from '#src/platform/metrics/counts.ts'
import { isGiven } from '#src/platform/pages.ts'
import { findOne, getOne, sql, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Background } from '#src/platform/services.ts'
import { readProject } from '#src/resources/infra/projects.ts'
import { insertDatabaseVm } from '#src/resources/infra/vms/databases.ts'
import type { Vm } from '#src/resources/infra/vms/rows.ts'
import { enqueueReconcile } from './jobs.ts'
import { makeLink, readLinkTarget } from './links.ts'
import { readDatabaseName, readNetworkName } from './names.ts'
import type { Database } from './rows.ts'
import { changeSettings } from './settings.ts'
import { readSize, readSleep, type DatabaseSize } from './sizes.ts'
import { sealNewLogins } from './setup.ts'
import { addDatabaseEvent, notifyOfDatabase } from './states.ts'
import type { makeToken } from './tokens.ts'

/** The input to create a database; absent and null mean the default. Units are in the names. */
export type DatabaseOrder = { [Part in keyof DatabaseSize]?: number | null } & {
  /** False: the answer does not wait until it is active. */
  wait?: boolean | null
  organizationId?: string | null
  name?: string | null
  functionId?: string | null
  clientModeEnabled?: boolean | null
  projectId?: string | null
  networkName?: string | null
  settings?: Readonly<Record<string, string | null>> | null
  sleepAfterSeconds?: number | null
}

/** How much of an id's end is in the names that are made from it. */
const suffixLength = 6

/**
 * Creates a database and its VM in the caller's transaction, without waiting for them.
 * @param id the new stored uuid.
 * @throws BerthError 400 for an invalid order, 429 when the organization has reached a limit, 503 when no node has room.
 */
export async function insertDatabase(
  services: Background,
  tx: Tx,
  scope: Scope,
  id: string,
  order: DatabaseOrder,
  { tokenVerifier, tokenHash }: Pick<Awaited<ReturnType<typeof makeToken>>, 'tokenVerifier' | 'tokenHash'>,
): Promise<Database> {
  const { organizationId, userId } = scope
  const suffix = encodeId('database', id).slice(-suffixLength)
  const name = readDatabaseName(order.name ?? `db-${suffix}`, 'name')
  const functionId = order.functionId ? await readLinkTarget(tx, scope, order.functionId) : null
  const link = await makeLink(services.sealer, id, functionId)
  const size = readSize(order)
  const settings = changeSettings({}, order.settings ?? {})
  const sleep = readSleep(order.sleepAfterSeconds, services.config.databaseSleepSeconds || null)
  const project = isGiven(order.projectId) ? await readProject(tx, scope, order.projectId) : null
  const networkName = readNetworkName(order.networkName, project)
  if (order.clientModeEnabled) checkSqlDoor(services.config)
  await checkCount(tx, organizationId, {
    rows: sql`databases where organization_id = ${organizationId} and status <> 'deleted'`,
    nouns: 'databases',
    most: limits.databasesMax,
  })
  const database = await getOne<Database>(
    tx,
    sql`
    insert into databases (id, organization_id, user_id, name, status, event_position, project_id, network_name, client_mode_enabled, pg_user,
      token_verifier, token_hash, function_id, link_verifier, sealed_link, sealed_logins, vcpu_count, memory_mb, disk_mb, settings, sleep_after_seconds)
    values (${id}, ${organizationId}, ${userId}, ${name}, 'creating', 1, ${project?.id ?? null}, ${networkName},
      ${order.clientModeEnabled ?? false}, ${`app_${suffix}`},
      ${tokenVerifier}, ${tokenHash}, ${link.functionId}, ${link.linkVerifier}, ${link.sealedLink},
      ${sealNewLogins(services.sealer, id)}, ${size.vcpuCount}, ${size.memoryMb}, ${size.diskMb}, ${JSON.stringify(settings)},
      ${sleep})
    returning *`,
  )
  await addDatabaseEvent(tx, database)
  await notifyOfDatabase(tx, database)
  const vm = await insertVmOf(services, tx, database)
  const made = { ...database, vmId: vm.id }
  await enqueueReconcile(services.jobs, tx, made)
  return made
}

/** @throws BerthError client_access_unavailable where clients without the token have no way in. */
export function checkSqlDoor({ opensSqlDoor }: { opensSqlDoor: boolean }): void {
  if (opensSqlDoor) return
  throw new BerthError(
    'client_access_unavailable',
    'Clients reach databases by POST /sql, which is off here (BERTH_SQL). Ask the operator to set it to on.',
  )
}

/**
 * Creates the VM that a database needs, on the disk of its data when it has one, in the caller's transaction.
 * @throws BerthError as reserveRoom.
 */
export async function insertVmOf(services: Background, tx: Tx, database: Database): Promise<Vm> {
  const { id, organizationId, userId, name, vcpuCount, memoryMb, diskMb, folderId, projectId } = database
  const folder =
    folderId === null
      ? null
      : ((await findOne<Pick<Row<'folders'>, 'id' | 'nodeId'>>(
          tx,
          sql`select id, node_id from folders where id = ${folderId}`,
        )) ?? null)
  const vm = await insertDatabaseVm(services, tx, {
    organizationId,
    userId,
    name,
    vcpuCount,
    memoryMb,
    dataDiskMb: diskMb,
    folder,
    projectId,
  })
  await getOne(tx, sql`update databases set vm_id = ${vm.id} where id = ${id} returning id`)
  return vm
}

/** Gives a locked database the size of the VM that it had. */
export async function keepSizeOf(
  tx: Tx,
  { id }: Pick<Database, 'id'>,
  { vcpuCount, memoryMb }: Pick<Vm, 'vcpuCount' | 'memoryMb'>,
): Promise<Database> {
  return getOne<Database>(
    tx,
    sql`update databases set vcpu_count = ${vcpuCount}, memory_mb = ${memoryMb} where id = ${id} returning *`,
  )
}
