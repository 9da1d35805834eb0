/** The account of this installation at each ACME authority. All processes share it. */
import { change, findOne, getOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Background } from '#src/platform/services.ts'

/** An account: its private key in PEM, and its address at the authority once it is registered there. */
export type AcmeAccount = { key: string; accountUrl: string | null }

type AccountRow = Pick<Row<'acme_accounts'>, 'sealedKey' | 'accountUrl'>

const place = (directory: string): string => `acme_accounts.key:${directory}`

/**
 * The account at this authority. Its key is stored before the authority hears of it, so that nobody registers twice.
 * @param makeKey makes a private key in PEM.
 */
export async function getAcmeAccount(
  { db, sealer }: Pick<Background, 'db' | 'sealer'>,
  directory: string,
  makeKey: () => string,
): Promise<AcmeAccount> {
  const reading = sql<AccountRow>`select sealed_key, account_url from acme_accounts where directory = ${directory}`
  let row = await findOne(db, reading)
  if (!row) {
    const sealed = sealer.seal(makeKey(), place(directory))
    await change(
      db,
      sql`insert into acme_accounts (directory, sealed_key) values (${directory}, ${sealed}) on conflict do nothing`,
    )
    row = await getOne(db, reading)
  }
  return { key: sealer.open(row.sealedKey, place(directory)), accountUrl: row.accountUrl }
}

/** Records where the account is at the authority; null when the authority does not know it any more. */
export async function noteAccountUrl(db: Db, directory: string, accountUrl: string | null): Promise<void> {
  await change(db, sql`update acme_accounts set account_url = ${accountUrl} where directory = ${directory}`)
}
