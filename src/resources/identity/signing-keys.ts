/** The built-in issuer's key pairs: the newest one signs; all that are not retired verify. */
import type { JWK } from 'jose'
import { findAll, findOne, sql, transaction, type Db } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Sealer } from '#src/platform/secrets.ts'
import type { Row } from '#src/platform/postgres/rows.ts'

/** The number of live keys: the one that signs, and the one before it, some of whose tokens have not expired. */
const liveKeysMax = 2

/** The notice of a new pair: it concerns all pairs, because adding one retires another. */
export const signingKeysNotice = { topic: 'signing_keys', key: 'all' } as const

/** The public keys, newest first. */
export async function listPublicKeys(db: Db): Promise<JWK[]> {
  const rows = await findAll<Pick<Row<'signing_keys', { publicJwk: JWK }>, 'publicJwk'>>(
    db,
    sql`select public_jwk from signing_keys where retired_at is null order by created_at desc limit ${liveKeysMax}`,
  )
  return rows.map((row) => row.publicJwk)
}

/** The private key that signs now, if there is one. */
export async function findSigningKey(db: Db, sealer: Sealer): Promise<JWK | undefined> {
  const row = await findOne<Pick<Row<'signing_keys'>, 'kid' | 'sealedPrivateJwk'>>(
    db,
    sql`select kid, sealed_private_jwk from signing_keys where retired_at is null order by created_at desc limit 1`,
  )
  return row && (JSON.parse(sealer.open(row.sealedPrivateJwk, `signing_keys.private:${row.kid}`)) as JWK) // written by addSigningKey
}

/**
 * Adds a pair, which signs from now on; the last but one is retired. With `onlyFirst`, does nothing if there already is
 * one.
 */
export async function addSigningKey(
  db: Db,
  sealer: Sealer,
  pair: { kid: string; publicJwk: JWK; privateJwk: JWK },
  { onlyFirst }: { onlyFirst: boolean },
): Promise<void> {
  await transaction(db, async (tx) => {
    await sql`lock table signing_keys in exclusive mode`.execute(tx)
    if (onlyFirst && (await findOne(tx, sql`select 1 as one from signing_keys where retired_at is null limit 1`)))
      return
    const sealed = sealer.seal(JSON.stringify(pair.privateJwk), `signing_keys.private:${pair.kid}`)
    await sql`insert into signing_keys (kid, public_jwk, sealed_private_jwk) values (${pair.kid}, ${JSON.stringify(pair.publicJwk)}, ${sealed})`.execute(
      tx,
    )
    await sql`
      update signing_keys
      set retired_at = now()
      where retired_at is null
        and kid not in (select kid from signing_keys where retired_at is null order by created_at desc limit ${liveKeysMax})`.execute(
      tx,
    )
    publish(tx, signingKeysNotice.topic, signingKeysNotice.key)
  })
}
