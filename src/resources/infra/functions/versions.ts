/** The versions of functions: each deployment makes one, and one of them is the current one. */
import { allow, allowAnywhere, owned } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId, newUuid } from '#src/platform/ids.ts'
import { functionLimits } from '#src/platform/limits/functions.ts'
import type { PagesOf, PageWindow } from '#src/platform/pages.ts'
import { change, findOne, getOne, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import type { Background, Call } from '#src/platform/services.ts'
import { readBinary, type Binary } from './binaries.ts'
import { replaceInstance } from './instances.ts'
import { readPort, readRevision, readStartCommand } from './orders.ts'
import { findVersion, lockFunction, versionRows, type FunctionVersion, type StoredFunction } from './rows.ts'
import { changeFunction } from './states.ts'
import { checkStorage } from '#src/platform/metrics/rooms.ts'

/** The input to deploy a version; what is absent is as in the current one. */
export type Deployment = {
  binaryUrl?: string | null
  buildId?: string | null
  startCommand?: string | null
  port?: number | null
  revision?: string | null
}

/**
 * Deploys a version: new requests go to it. One that runs finishes what it has begun.
 * @throws BerthError not_found, invalid_request.
 */
export async function deployFunction(call: Call, publicId: string, given: Deployment): Promise<StoredFunction> {
  const scope = allow(call.caller, 'functions:write')
  await checkStorage(call, scope.organizationId, 'definitions')
  return transaction(call.db, async (tx) => {
    const one = await lockFunction(tx, scope, publicId)
    const binary = await readBinary(call, tx, scope.organizationId, given)
    return addVersion(call, tx, one, scope.userId, { ...given, ...binary })
  })
}

/** Makes a version of a locked function the current one. @throws BerthError invalid_request. */
export async function addVersion(
  services: Background,
  tx: Tx,
  one: StoredFunction,
  userId: string | null,
  { objectKey, binaryUrl, buildId, ...given }: Binary & Pick<Deployment, 'startCommand' | 'port' | 'revision'>,
): Promise<StoredFunction> {
  const before = one.versionId === null ? undefined : await findVersion(tx, one.versionId)
  const startCommand = readStartCommand(given.startCommand, before?.startCommand)
  const port = readPort(given.port, before?.port)
  const revision = readRevision(given.revision)
  const version = await getOne<FunctionVersion>(
    tx,
    sql`
    insert into function_versions (id, function_id, organization_id, user_id, number, object_key, binary_url, build_id, start_command, port, revision)
    values (${newUuid()}, ${one.id}, ${one.organizationId}, ${userId}, ${one.versionsMade + 1}, ${objectKey}, ${binaryUrl},
      ${buildId}, ${startCommand}, ${port}, ${revision})
    returning *`,
  )
  const made = await makeCurrent(services, tx, one, version)
  await dropOldVersions(tx, made)
  return made
}

/**
 * Makes an earlier version the current one again.
 * @throws BerthError not_found; invalid_request when the function has no such version.
 */
export async function rollBackFunction(call: Call, publicId: string, to: string): Promise<StoredFunction> {
  const scope = allow(call.caller, 'functions:write')
  return transaction(call.db, async (tx) => {
    const one = await lockFunction(tx, scope, publicId)
    const id = decodeId('functionVersion', to)
    const version =
      id &&
      (await findOne<FunctionVersion>(
        tx,
        sql`select * from function_versions where id = ${id} and function_id = ${one.id}`,
      ))
    if (!version)
      throw new BerthError(
        'invalid_request',
        `to must be the id of one of the function's last ${functionLimits.versionsKept} versions, fnv_…: ask for versions { nodes { id number } }.`,
        { field: 'to' },
      )
    if (version.id === one.versionId) return one
    return makeCurrent(call, tx, one, version)
  })
}

/** Versions of these stored ids, of the caller's organizations. */
export async function findVersions(call: Call, ids: readonly string[]): Promise<FunctionVersion[]> {
  return versionRows.find(call.db, ids, owned(allowAnywhere(call.caller, 'functions:read')))
}

/** The same page of the versions of each of these functions, newest first. @throws BerthError invalid_request. */
export async function pageVersionsOfEach(
  call: Call,
  functionIds: readonly string[],
  window: PageWindow,
): Promise<PagesOf<FunctionVersion>> {
  const scope = allowAnywhere(call.caller, 'functions:read')
  return versionRows.pageOfEach(call.db, window, {
    parents: sql`select id from functions where id = any(${functionIds}::uuid[]) and ${owned(scope)}`,
    parentName: 'function',
    chosen: sql`function_id = parent.id`,
  })
}

async function makeCurrent(
  services: Background,
  tx: Tx,
  one: StoredFunction,
  version: FunctionVersion,
): Promise<StoredFunction> {
  const changed = await changeFunction(
    tx,
    one.id,
    sql`version_id = ${version.id}, versions_made = greatest(versions_made, ${version.number})`,
    `Version ${version.number} is the current one.`,
  )
  return replaceInstance(services, tx, changed)
}

/** Drops the oldest versions, but never the current one, nor one that still answers. */
async function dropOldVersions(tx: Tx, { id, versionId }: StoredFunction): Promise<void> {
  await change(
    tx,
    sql`
    delete from function_versions v where v.function_id = ${id} and v.id is distinct from ${versionId}::uuid
      and not exists (select from function_instances i where i.version_id = v.id)
      and v.number <= (select max(number) from function_versions where function_id = ${id}) - ${functionLimits.versionsKept}`,
  )
}
