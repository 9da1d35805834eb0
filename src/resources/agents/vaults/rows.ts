/** A vault's row, and its queries: only its owner finds it. */
import { ownedByCaller, type Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { rowsOf } from '#src/platform/nouns.ts'
import { change, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Metadata } from '#src/platform/shapes/fields.ts'

/** A vault as it is stored; times are RFC 3339 text, ids are uuids. */
export type Vault = Row<'vaults', { metadata: Metadata }>

/** Vaults as they are found. */
export const vaultRows = rowsOf<Vault>('vault', 'vaults', 'vault')

/** The caller's vault. @throws BerthError not_found. */
export async function readVault(db: Db, scope: Scope, publicId: string, lock = sql``): Promise<Vault> {
  return vaultRows.read(db, publicId, ownedByCaller(scope), lock)
}

/**
 * The same, locked until the transaction ends, so that changes of a vault and its credentials are serialized.
 * @throws BerthError not_found.
 */
export async function lockVault(tx: Tx, scope: Scope, publicId: string): Promise<Vault> {
  return readVault(tx, scope, publicId, sql`for no key update`)
}

/** Locks the vault, whoever owns it, until the transaction ends, as every change of its credentials does. */
export async function holdVault(tx: Tx, id: string): Promise<void> {
  await change(tx, sql`select 1 from vaults where id = ${id} for no key update`)
}

/** The 409 for changing an archived vault. */
export function vaultArchived(): BerthError {
  return new BerthError('vault_archived', 'This vault is archived, so it cannot be changed. Create another one.')
}
