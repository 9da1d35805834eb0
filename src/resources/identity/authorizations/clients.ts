/** Programs that have registered themselves (RFC 7591): public clients, without any secret. */
import { BerthError } from '#src/platform/errors.ts'
import { decodeId, newId } from '#src/platform/ids.ts'
import { change, findOne, getOne, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { clientLimits } from './limits.ts'

/** A registered program. */
export type RegisteredClient = Pick<Row<'oauth_clients'>, 'clientId' | 'name' | 'redirectUris' | 'createdAt'>

const { clientsMax, clientsPerAddress } = clientLimits
const retrySeconds = 3_600

/** Registers a program; what it says of itself is checked. @throws BerthError rate_limited. */
export async function registerClient(
  db: Db,
  { name, redirectUris, address }: { name: string; redirectUris: readonly string[]; address: string },
): Promise<RegisteredClient> {
  return transaction(db, async (tx) => {
    await change(tx, sql`select pg_advisory_xact_lock(hashtextextended('oauth_clients', 0))`) // one after another, so that they can be counted
    await makeRoom(tx, address)
    return getOne<RegisteredClient>(
      tx,
      sql`
      insert into oauth_clients (client_id, name, redirect_uris, address)
      values (${newId('oauthClient')}, ${name}, ${redirectUris}::text[], ${address})
      returning client_id, name, redirect_uris, created_at`,
    )
  })
}

/** Who acts for nobody gives way, also where somebody let it in before: else one person could keep all others out. */
async function makeRoom(tx: Tx, address: string): Promise<void> {
  const { ofAddress, all } = await getOne<{ ofAddress: number; all: number }>(
    tx,
    sql`
    select count(*) filter (where address = ${address} and used_at is null) as of_address, count(*) as "all" from oauth_clients`,
  )
  if (ofAddress >= clientsPerAddress)
    throw full('Too many programs were registered from your address that nobody let in.')
  if (all < clientsMax) return
  const gone = await change(
    tx,
    sql`
    delete from oauth_clients where client_id = (
      select client_id from oauth_clients c where not exists (select from authorizations a where a.client_id = c.client_id)
      order by created_at limit 1)`,
  )
  if (gone === 0) throw full('Too many programs are registered here.')
}

function full(sentence: string): BerthError {
  return new BerthError('rate_limited', `${sentence} Register later, or use the client id that you have.`, {
    retryAfterSeconds: retrySeconds,
  })
}

/** A registered program. */
export async function findRegisteredClient(db: Db, clientId: string): Promise<RegisteredClient | undefined> {
  return decodeId('oauthClient', clientId) === undefined
    ? undefined
    : findOne<RegisteredClient>(
        db,
        sql`select client_id, name, redirect_uris, created_at from oauth_clients where client_id = ${clientId}`,
      )
}

/** Notes that somebody has let a program in. One that has not registered here has no row. */
export async function noteClientUse(tx: Tx, clientId: string): Promise<void> {
  await change(tx, sql`update oauth_clients set used_at = now() where client_id = ${clientId}`)
}
