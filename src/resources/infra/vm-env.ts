/** A VM's environment variables, as callers read and change them: by key and source, with the visibility of each. */
import { allow, mayWrite, type Scope } from '#src/platform/access.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import type { Loaded } from '#src/platform/pages.ts'
import { findAll, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Background, Call } from '#src/platform/services.ts'
import { checkEnv, keyShape, readEnv, readVisibility, type Visibility } from '#src/platform/shapes/env.ts'
import { refuseWiderReach } from './vms/reach.ts'
import { knownVms, lockVm, noteEnvChange } from './vms/rows.ts'
import {
  byPrecedence,
  dropUserVariable,
  dropUserVariables,
  openVariable,
  writeVariables,
  type EnvRow,
  type EnvSource,
} from './vms/variables.ts'
import { checkStorage } from '#src/platform/metrics/rooms.ts'

/** One variable as its reader may see it. */
export type EnvVariable = { key: string; value: string; visibility: Visibility; source: EnvSource }
/** All variables after a change, and a warning if it does not take effect immediately. */
export type EnvChange = { env: Record<string, string>; warning: string | null }

const hidden = '********'
const readableSources: readonly EnvSource[] = ['user', 'system', 'session', 'vault', 'link']

/**
 * The readable variables of VMs by the VMs' stored ids, or those of one source; none for a VM that is not there.
 * `provision` is write-only, so it and unknown sources match nothing.
 * @throws BerthError invalid_request when they have more than `bytesMax` together.
 */
export async function findEnvs(
  call: Call,
  vmIds: readonly string[],
  which: { source?: string | null | undefined; bytesMax: number },
): Promise<Loaded<Map<string, EnvVariable[]>>> {
  return readVariables(call, allow(call.caller, 'env:read'), call.db, vmIds, which)
}

/** The variable of a key; where several sources set it, the one that wins in the VM. @throws BerthError not_found. */
export function variableOf(variables: readonly EnvVariable[], key: string): EnvVariable {
  const found = variables.findLast((one) => one.key === key)
  if (!found) throw notFound('variable')
  return found
}

/** Sets variables and keeps the others. Without a visibility, existing keys keep theirs and new ones are sensitive. */
export async function patchEnv(
  call: Call,
  vmId: string,
  given: unknown,
  visibility: string | null | undefined,
): Promise<EnvChange> {
  const scope = allow(call.caller, 'env:write') // before the body is read: 401 and 403 go before 400
  await checkStorage(call, scope.organizationId, 'definitions')
  const variables = readEnv(given)
  const seenAs = readVisibility(visibility)
  checkEnv(variables, seenAs ?? 'sensitive')
  return changeEnv(call, scope, vmId, (tx, id) => writeVariables(call, tx, id, 'user', variables, seenAs))
}

/** Sets exactly these variables of source `user`; other sources stay. Without a visibility they are sensitive. */
export async function replaceEnv(
  call: Call,
  vmId: string,
  given: unknown,
  visibility: string | null | undefined,
): Promise<EnvChange> {
  const scope = allow(call.caller, 'env:write') // as above
  await checkStorage(call, scope.organizationId, 'definitions')
  const variables = readEnv(given)
  const seenAs = readVisibility(visibility) ?? 'sensitive'
  checkEnv(variables, seenAs)
  return changeEnv(call, scope, vmId, async (tx, id) => {
    await dropUserVariables(tx, id)
    await writeVariables(call, tx, id, 'user', variables, seenAs)
  })
}

/** Deletes a variable of source `user`. @throws BerthError not_found. */
export async function deleteEnv(call: Call, vmId: string, key: string): Promise<EnvChange> {
  return changeEnv(call, allow(call.caller, 'env:write'), vmId, async (tx, id) => {
    // A text that is not a valid key is not looked up: Postgres refuses NUL with an error of its own.
    const isGone = keyShape.test(key) && (await dropUserVariable(tx, id, key))
    if (!isGone) throw notFound('variable')
  })
}

async function changeEnv(
  call: Call,
  scope: Scope,
  publicId: string,
  write: (tx: Tx, vmId: string) => Promise<void>,
): Promise<EnvChange> {
  return transaction(call.db, async (tx) => {
    const vm = await lockVm(tx, scope, publicId, 'update')
    if (scope.vmId !== vm.id) await refuseWiderReach(tx, scope, vm.networkPolicy) // a shell runs what some variables say
    await write(tx, vm.id)
    await noteEnvChange(tx, vm.id)
    const env = asMap((await readVariables(call, scope, tx, [vm.id])).loaded.get(vm.id) ?? [])
    const warning =
      vm.status === 'running'
        ? 'running processes keep their old environment'
        : 'VM is not running; changes apply at next start'
    return { env, warning }
  })
}

async function readVariables(
  { sealer }: Pick<Background, 'sealer'>,
  scope: Scope,
  db: Db,
  vmIds: readonly string[],
  { source, bytesMax = Infinity }: { source?: string | null | undefined; bytesMax?: number } = {},
): Promise<Loaded<Map<string, EnvVariable[]>>> {
  const sources =
    source === null || source === undefined ? readableSources : readableSources.filter((one) => one === source)
  const most = Number.isFinite(bytesMax) ? sql`held.bytes <= ${bytesMax}` : sql`true`
  type Read = EnvRow & { vmId: string; bytes: number | null }
  // A VM without variables has one row too, which is empty but for its id.
  const rows = await findAll<Read>(
    db,
    sql`
    select vms.id as vm_id, key, source, visibility, bytes, case when ${most} then sealed_value end as sealed_value
    from vms left join (select vm_id, key, source, visibility, sealed_value, sum(length(sealed_value)) over () as bytes
      from vm_env where vm_id = any(${vmIds}::uuid[]) and source = any(${sources})) held on held.vm_id = vms.id
    where id = any(${vmIds}::uuid[]) and ${knownVms(scope)} and status <> 'deleted' order by key`,
  )
  const bytes = rows.find((row) => row.bytes !== null)?.bytes ?? 0
  if (bytes > bytesMax)
    throw new BerthError(
      'invalid_request',
      'The variables asked for are too large together. Ask for fewer VMs at once.',
    )
  rows.sort(byPrecedence)
  const clear = (row: EnvRow): boolean =>
    row.visibility === 'plaintext' || (row.visibility === 'sensitive' && mayWrite(scope))
  const loaded = new Map<string, EnvVariable[]>(rows.map((row) => [row.vmId, []]))
  for (const row of rows)
    if (row.bytes !== null)
      loaded.get(row.vmId)?.push({
        key: row.key,
        source: row.source,
        visibility: row.visibility,
        value: clear(row) ? openVariable(sealer, row.vmId, row.source, row) : hidden,
      })
  return { loaded, bytes }
}

/** The variables as the documented object; if two sources set a key, the one that wins in the VM. */
export function asMap(variables: readonly EnvVariable[]): Record<string, string> {
  return Object.fromEntries(variables.map(({ key, value }) => [key, value]))
}
