/**
 * Functions: programs that the edge starts in a VM of their own at the first request, and that sleep when nobody asks. The
 * work itself is done by nodes: workers/infra/functions.ts.
 */
import { changesNothing } from '#src/platform/shapes/changes.ts'
import { allow, allowAnywhere, allowIn, owned, type Scope } from '#src/platform/access.ts'
import type { Config } from '#src/platform/config.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { encodeId, newUuid } from '#src/platform/ids.ts'
import { functionLimits } from '#src/platform/limits/functions.ts'
import { checkCount } from '#src/platform/metrics/counts.ts'
import { isGiven, type Direction, type Loaded, type Page, type PageWindow } from '#src/platform/pages.ts'
import { change, findOne, getOne, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import { hook } from '#src/platform/postgres/hooks.ts'
import type { Background, Call } from '#src/platform/services.ts'
import { readBinary } from './functions/binaries.ts'
import { removeInstances, replaceInstance } from './functions/instances.ts'
import { enqueueFunction } from './functions/jobs.ts'
import { beginFunctionLog, removeFunctionLog } from './functions/logs.ts'
import {
  hostOfFunction,
  readFunctionName,
  readFunctionSize,
  readIdleSeconds,
  readStartSeconds,
  functionNameError,
  type FunctionSize,
} from './functions/orders.ts'
import {
  functionRows,
  lockFunction,
  notDeleted,
  type FunctionStatus,
  type ShownFunction,
  type StoredFunction,
} from './functions/rows.ts'
import { addFunctionEvent, changeFunction, moveFunction } from './functions/states.ts'
import { changeVariables, shownVariables, type FunctionVariable } from './functions/variables.ts'
import { addVersion, type Deployment } from './functions/versions.ts'
import { removeRepository } from './functions/repositories/removal.ts'
import { externalUrl } from './routes/urls.ts'
import { putRoute, removeRoute } from './routes.ts'
import { checkStorage } from '#src/platform/metrics/rooms.ts'
import { hasTextOf, type Searched, type TextFilter } from '#src/platform/shapes/text-filters.ts'

/** A locked function is going to be deleted: what is linked to it is linked to nothing then. */
export const functionDeleting = hook<[tx: Tx, functionId: string]>('function deleting')

/** How much of an id's end is in a name that is made from it. */
const suffixLength = 6

/** What may be said of a function at its creation and later; absent and null mean the default, or as it is. */
export type FunctionSettings = { [Part in keyof FunctionSize]?: number | null } & {
  name?: string | null
  variables?: Readonly<Record<string, string | null>> | null
  idleSeconds?: number | null
  startSeconds?: number | null
}

/** The input to create a function: with a binary it is deployed at once. */
export type FunctionOrder = FunctionSettings & Deployment

/** Conditions of a list of functions. */
export type FunctionFilter = TextFilter & { statuses?: readonly FunctionStatus[] | null }

/**
 * Creates a function. It starts at its first request.
 * @throws BerthError invalid_request, invalid_env_key, invalid_env_value; rate_limited when the organization may have no more.
 */
export async function createFunction(call: Call, order: FunctionOrder): Promise<StoredFunction> {
  const scope = allow(call.caller, 'functions:write')
  await checkStorage(call, scope.organizationId, 'definitions')
  const { organizationId, userId } = scope
  try {
    return await transaction(call.db, async (tx) => {
      const one = await insertFunction(call, tx, { organizationId, userId }, order)
      if (!isGiven(order.binaryUrl) && !isGiven(order.buildId)) {
        checkNothingDeployed(order)
        return one
      }
      const binary = await readBinary(call, tx, organizationId, order)
      return addVersion(call, tx, one, userId, { ...order, ...binary })
    })
  } catch (error) {
    throw functionNameError(error)
  }
}

/** What is said of a version makes no sense without one, and would be forgotten. @throws BerthError invalid_request. */
function checkNothingDeployed(order: Deployment): void {
  const { startCommand: start_command, port, revision } = order
  for (const [field, given] of Object.entries({ start_command, port, revision }))
    if (isGiven(given))
      throw new BerthError(
        'invalid_request',
        `${field} belongs to a version, and nothing is deployed yet. Give binary_url or build_id too, or ${field} when you deploy.`,
        { field },
      )
}

/** Creates a function without a version in the caller's transaction. @throws as createFunction; the unique violation of its name. */
export async function insertFunction(
  services: Background,
  tx: Tx,
  { organizationId, userId }: Pick<Scope, 'organizationId' | 'userId'>,
  order: FunctionSettings,
): Promise<StoredFunction> {
  const id = newUuid()
  const name = readFunctionName(order.name ?? `fn-${encodeId('function', id).slice(-suffixLength)}`)
  const size = readFunctionSize(order)
  const idle = readIdleSeconds(order.idleSeconds, functionLimits.idleSecondsDefault)
  const start = readStartSeconds(order.startSeconds, functionLimits.startSecondsDefault)
  const variables = changeVariables(services.sealer, { id, sealedVariables: null }, order.variables ?? {})
  await checkCount(tx, organizationId, {
    rows: sql`functions where organization_id = ${organizationId} and status <> 'deleted'`,
    nouns: 'functions',
    most: functionLimits.functionsMax,
  })
  const host = hostOfFunction(services.config, { id, name })
  const one = await getOne<StoredFunction>(
    tx,
    sql`
    insert into functions (id, organization_id, user_id, name, host, status, event_position, sealed_variables, vcpu_count,
      memory_mb, idle_seconds, start_seconds)
    values (${id}, ${organizationId}, ${userId}, ${name}, ${host}, 'stopped', 1, ${variables}, ${size.vcpuCount},
      ${size.memoryMb}, ${idle}, ${start})
    returning *`,
  )
  await addFunctionEvent(tx, one)
  await beginFunctionLog(tx, id)
  const route = { id, organizationId, kind: 'function', host, path: '/', access: 'public', functionId: id } as const
  const isRouted = await putRoute(tx, { ...route, vmId: null, vmPort: null })
  if (!isRouted) throw new Error('the host name of a new function is taken')
  return one
}

/** The function of this id. @throws BerthError not_found. */
export async function getFunction(call: Call, publicId: string): Promise<ShownFunction> {
  return functionRows.read(call.db, publicId, sql`${owned(allow(call.caller, 'functions:read'))} and ${notDeleted}`)
}

/** The functions of these stored ids, of the caller's organizations. */
export async function findFunctions(call: Call, ids: readonly string[]): Promise<ShownFunction[]> {
  return functionRows.find(call.db, ids, sql`${owned(allowAnywhere(call.caller, 'functions:read'))} and ${notDeleted}`)
}

/** How functions are found. */
export const functionSearch: Searched = {
  type: 'Function',
  may: 'functions:read',
  table: 'functions',
  title: sql`name`,
  whose: (scope) => sql`${owned(scope)} and ${notDeleted}`,
}

/** The organization's functions, newest first. @throws BerthError invalid_request. */
export async function pageFunctions(
  call: Call,
  window: PageWindow,
  filter?: FunctionFilter | null,
  direction?: Direction,
): Promise<Page<ShownFunction>> {
  const scope = allow(call.caller, 'functions:read')
  const statuses = filter?.statuses ?? null
  const chosen = sql`${owned(scope)} and ${notDeleted} and (${statuses}::text[] is null or status = any(${statuses}::text[]))
    and ${hasTextOf(functionSearch, filter)}`
  return functionRows.page(call.db, window, chosen, direction)
}

/** The variables of a function, as the caller may see them. @throws BerthError not_found. */
export async function readVariables(
  call: Call,
  { id, organizationId }: Pick<StoredFunction, 'id' | 'organizationId'>,
): Promise<Loaded<FunctionVariable[]>> {
  const scope = allowIn(call.caller, 'functions:read', organizationId)
  const one = await findOne<Pick<StoredFunction, 'id' | 'sealedVariables'>>(
    call.db,
    sql`select id, sealed_variables from functions where id = ${id} and ${owned(scope)}`,
  )
  if (!one) throw notFound('function')
  return { loaded: shownVariables(call.sealer, scope, one), bytes: one.sealedVariables?.length ?? 0 }
}

/**
 * Changes a function. Other variables, memory or processors need another instance, which takes the place of one that runs.
 * @throws BerthError not_found, invalid_request, invalid_env_key, invalid_env_value.
 */
export async function updateFunction(call: Call, publicId: string, input: FunctionSettings): Promise<StoredFunction> {
  const scope = allow(call.caller, 'functions:write')
  await checkStorage(call, scope.organizationId, 'definitions')
  try {
    return await transaction(call.db, async (tx) => {
      const before = await lockFunction(tx, scope, publicId)
      if (changesNothing(input)) return before
      const name = isGiven(input.name) ? readFunctionName(input.name) : before.name
      const size = readFunctionSize(input, before)
      const idle = readIdleSeconds(input.idleSeconds, before.idleSeconds)
      const start = readStartSeconds(input.startSeconds, before.startSeconds)
      const variables = input.variables ? changeVariables(call.sealer, before, input.variables) : before.sealedVariables
      const needsAnother =
        isGiven(input.variables) || size.vcpuCount !== before.vcpuCount || size.memoryMb !== before.memoryMb
      const changed = await changeFunction(
        tx,
        before.id,
        sql`name = ${name}, vcpu_count = ${size.vcpuCount}, memory_mb = ${size.memoryMb}, idle_seconds = ${idle}, start_seconds = ${start},
          sealed_variables = ${variables}, generation = generation + ${needsAnother ? 1 : 0}`,
      )
      return needsAnother ? replaceInstance(call, tx, changed) : changed
    })
  } catch (error) {
    throw functionNameError(error)
  }
}

/** Deletes a function: it is unreachable at once, then its VMs, versions and log go. Domains lead nowhere then, and databases are linked to nothing. @throws BerthError not_found. */
export async function deleteFunction(call: Call, publicId: string): Promise<void> {
  const scope = allow(call.caller, 'functions:write')
  await transaction(call.db, async (tx) => {
    const { id } = await functionRows.read(tx, publicId, sql`${owned(scope)} and ${notDeleted}`, sql`for no key update`)
    if (!(await moveFunction(tx, id, 'deleting'))) return // it is on its way
    await removeRoute(tx, id)
    await functionDeleting.run(tx, id)
    await removeRepository(call, tx, id)
    const hasInstances = await removeInstances(call, tx, id)
    if (hasInstances) await enqueueFunction(call.jobs, tx, id)
    else await endFunction(tx, id)
  })
}

/** Forgets a deleted function whose instances are gone: its versions and its log. Its row and events stay for the history. */
export async function endFunction(tx: Tx, id: string): Promise<void> {
  if (!(await moveFunction(tx, id, 'deleted', { set: sql`vm_id = null` }))) return
  await change(tx, sql`delete from function_versions where function_id = ${id}`)
  await removeFunctionLog(tx, id)
}

/** Where a function is reached without a domain. */
export function urlOf(config: Pick<Config, 'httpsPort'>, { host }: Pick<StoredFunction, 'host'>): string {
  return externalUrl(config, host, '/')
}
