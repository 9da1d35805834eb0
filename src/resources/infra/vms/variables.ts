/** A VM's environment variables as they are stored: sealed, by key and by who set them. */
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { change, findAll, getOne, sql, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Background } from '#src/platform/services.ts'
import type { Visibility } from '#src/platform/shapes/env.ts'

/** Who set a variable. */
export type EnvSource = 'user' | 'provision' | 'system' | 'session' | 'vault' | 'link'

/** A variable as it is stored. */
export type EnvRow = Pick<
  Row<'vm_env', { source: EnvSource; visibility: Visibility }>,
  'key' | 'source' | 'visibility' | 'sealedValue'
>

/** If two sources set the same key, the later in this order wins. */
const precedence: readonly EnvSource[] = ['system', 'link', 'provision', 'vault', 'session', 'user']

/** The order in which variables are put together: of two with the same key, the later one wins. */
export function byPrecedence(a: Pick<EnvRow, 'source'>, b: Pick<EnvRow, 'source'>): number {
  return precedence.indexOf(a.source) - precedence.indexOf(b.source)
}

/** Stores variables in the transaction; the caller has checked them. */
export async function writeVariables(
  { sealer }: Pick<Background, 'sealer'>,
  tx: Tx,
  vmId: string,
  source: EnvSource,
  variables: Readonly<Record<string, string>>,
  visibility: Visibility | null,
): Promise<void> {
  const entries = Object.entries(variables)
  if (entries.length === 0) return
  const sealed = entries.map(([key, value]) => sealer.seal(value, placeOf(vmId, source, key)))
  await change(
    tx,
    sql`
    insert into vm_env as held (vm_id, key, source, visibility, sealed_value)
    select ${vmId}, key, ${source}, ${visibility ?? 'sensitive'}, sealed_value
    from unnest(${entries.map(([key]) => key)}::text[], ${sealed}::bytea[]) as given (key, sealed_value)
    on conflict (vm_id, source, key) do update set sealed_value = excluded.sealed_value, updated_at = now(),
      visibility = ${visibility === null ? sql`held.visibility` : sql`excluded.visibility`}`,
  )
  const { count, bytes } = await getOne<{ count: number; bytes: number }>(
    tx,
    sql`select count(*) as count, sum(length(sealed_value) + length(key)) as bytes from vm_env where vm_id = ${vmId} and source = ${source}`,
  )
  if (count > limits.envVarsPerVm)
    throw new BerthError('invalid_env_key', `A VM has at most ${limits.envVarsPerVm} variables; delete some first.`)
  const sealingBytes = 33
  if (bytes - count * sealingBytes > limits.envTotalBytes)
    throw new BerthError(
      'invalid_env_value',
      `All variables together may have at most ${limits.envTotalBytes / 1024} KiB; delete some first.`,
    )
}

/** Deletes every variable of a deleted VM, including its secrets. */
export async function forgetVariables(tx: Tx, vmId: string): Promise<void> {
  await change(tx, sql`delete from vm_env where vm_id = ${vmId}`)
}

/** Deletes the variables of source `user`. */
export async function dropUserVariables(tx: Tx, vmId: string): Promise<void> {
  await change(tx, sql`delete from vm_env where vm_id = ${vmId} and source = 'user'`)
}

/** Deletes one of them. @returns whether it was there. */
export async function dropUserVariable(tx: Tx, vmId: string, key: string): Promise<boolean> {
  return (await change(tx, sql`delete from vm_env where vm_id = ${vmId} and key = ${key} and source = 'user'`)) > 0
}

/** The environment of a process in the VM: every source, merged. For the node only. */
export async function openEnv(
  { db, sealer }: Pick<Background, 'db' | 'sealer'>,
  vmId: string,
): Promise<Record<string, string>> {
  const rows = await findAll<EnvRow>(
    db,
    sql`select key, source, visibility, sealed_value from vm_env where vm_id = ${vmId}`,
  )
  rows.sort(byPrecedence)
  return Object.fromEntries(rows.map((row) => [row.key, openVariable(sealer, vmId, row.source, row)]))
}

/** The values of a VM's `secret` variables, so that Berth can mask them in what it stores. */
export async function openSecretVariables(
  { db, sealer }: Pick<Background, 'db' | 'sealer'>,
  vmId: string,
): Promise<string[]> {
  const rows = await findAll<EnvRow>(
    db,
    sql`select key, source, visibility, sealed_value from vm_env where vm_id = ${vmId} and visibility = 'secret' order by source, key`,
  )
  return rows.map((row) => openVariable(sealer, vmId, row.source, row))
}

/** Sets exactly these variables of source `system`: those of a connected account at the code host. @returns whether that changed any. */
export async function setSystemVariables(
  { sealer }: Pick<Background, 'sealer'>,
  tx: Tx,
  vmId: string,
  wanted: Readonly<Record<string, string>>,
): Promise<boolean> {
  const rows = await findAll<Pick<Row<'vm_env'>, 'key' | 'sealedValue'>>(
    tx,
    sql`select key, sealed_value from vm_env where vm_id = ${vmId} and source = 'system'`,
  )
  const held = new Map(rows.map((row) => [row.key, openVariable(sealer, vmId, 'system', row)]))
  const keys = Object.keys(wanted)
  if (held.size === keys.length && keys.every((key) => held.get(key) === wanted[key])) return false
  await change(tx, sql`delete from vm_env where vm_id = ${vmId} and source = 'system' and key <> all(${keys}::text[])`)
  await writeVariables({ sealer }, tx, vmId, 'system', wanted, 'plaintext')
  return true
}

/** Removes the variables of source `system` from these VMs. */
export async function dropSystemVariables(tx: Tx, vmIds: readonly string[]): Promise<void> {
  await change(tx, sql`delete from vm_env where vm_id = any(${vmIds}::uuid[]) and source = 'system'`)
}

/** The value of a stored variable. */
export function openVariable(
  sealer: Background['sealer'],
  vmId: string,
  source: EnvSource,
  { key, sealedValue }: Pick<EnvRow, 'key' | 'sealedValue'>,
): string {
  return sealer.open(sealedValue, placeOf(vmId, source, key))
}

function placeOf(vmId: string, source: EnvSource, key: string): string {
  return `vm_env.value:${vmId}:${source}:${key}`
}
