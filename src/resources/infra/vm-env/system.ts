/** The variables that Berth itself sets in a VM: those of a connected account at the code host. */
import { change, findAll, sql, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Background } from '#src/platform/services.ts'
import { openVariable, writeVariables } from '#src/resources/infra/vm-env.ts'

/** Sets exactly these variables. @returns whether that changed any. */
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

/** Removes them from these VMs. */
export async function dropSystemVariables(tx: Tx, vmIds: readonly string[]): Promise<void> {
  await change(tx, sql`delete from vm_env where vm_id = any(${vmIds}::uuid[]) and source = 'system'`)
}
