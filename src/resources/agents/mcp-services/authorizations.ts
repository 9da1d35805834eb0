/** Sign-ins that a person has begun: their state comes back through the browser, and is good once, and for them alone. */
import type { SignInClient } from '#src/drivers/mcp/sign-in/clients.ts'
import type { SignInPlace } from '#src/drivers/mcp/sign-in/places.ts'
import { BerthError } from '#src/platform/errors.ts'
import { connectorLimits } from '#src/platform/limits/connectors.ts'
import { change, findOne, getOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { sha256, type Sealer } from '#src/platform/secrets.ts'
import { lockPerson, type ConnectorOwner } from './people.ts'

/** What the way back needs: where and as whom the code is exchanged, and the secret that proves who began. */
export type SignInOrder = {
  serverUrl: string
  place: SignInPlace
  client: SignInClient
  codeVerifier: string
  redirectUrl: string
}

/** A sign-in that was begun. `cameBackFrom`: the issuer that the browser brought, if any. */
export type Begun = { serviceId: string; order: SignInOrder; cameBackFrom: string | null }

type Authorization = Pick<
  Row<'mcp_authorizations'>,
  'digest' | 'serviceId' | 'returnUrl' | 'issuer' | 'sealedOrder' | 'cameBackFrom' | 'expiresAt'
>

/** Stores a sign-in. @returns when it ends. */
export async function beginAuthorization(
  sealer: Sealer,
  tx: Tx,
  owner: ConnectorOwner,
  begun: { state: string; serviceId: string; returnUrl: string; order: SignInOrder },
): Promise<string> {
  const { id } = await lockPerson(tx, owner)
  await change(
    tx,
    sql`
    delete from mcp_authorizations where person_id = ${id} and (expires_at < now() or digest not in (
      select digest from mcp_authorizations where person_id = ${id} order by expires_at desc limit ${connectorLimits.statesPerPersonMax - 1}))`,
  )
  const digest = sha256(begun.state)
  const { expiresAt } = await getOne<Pick<Authorization, 'expiresAt'>>(
    tx,
    sql`
    insert into mcp_authorizations (digest, person_id, service_id, return_url, issuer, sealed_order, expires_at)
    values (${digest}, ${id}, ${begun.serviceId}, ${begun.returnUrl}, ${begun.order.place.issuer},
      ${sealer.seal(JSON.stringify(begun.order), placeOf(digest))},
      now() + ${connectorLimits.stateSeconds}::int * interval '1 second')
    returning expires_at`,
  )
  return expiresAt
}

/** Uses a state up. @throws BerthError invalid_code when it is not one of this person's that is still good; then it stays as it is. */
export async function takeAuthorization(
  { db, sealer }: { db: Db; sealer: Sealer },
  { organizationId, userId }: ConnectorOwner,
  state: string,
): Promise<Begun> {
  const taken = isState(state)
    ? await findOne<Authorization>(
        db,
        sql`
        delete from mcp_authorizations a using mcp_people p
        where a.digest = ${sha256(state)}
          and a.expires_at > now()
          and p.id = a.person_id
          and p.organization_id = ${organizationId}
          and p.owner_user_id = ${userId}
        returning a.*`,
      )
    : undefined
  if (!taken) throw badState()
  const { serviceId, cameBackFrom } = taken
  const order = JSON.parse(sealer.open(taken.sealedOrder, placeOf(taken.digest))) as SignInOrder // sealed above
  return { serviceId, order, cameBackFrom }
}

/** Where a browser that came back goes on to, and whether it came from where it was sent. */
export type CameBack = { returnUrl: string; isExpected: boolean }

/**
 * Records from which authorization server a browser came back. One that came from another than was asked, or to another
 * service's address, is not completed: its state is used up.
 * @param back.issuer null when the server does not say; then the address is what tells servers apart.
 * @throws BerthError invalid_code for a state that is not good.
 */
export async function noteCameBack(
  db: Db,
  { state, serviceId, issuer }: { state: string; serviceId: string; issuer: string | null },
): Promise<CameBack> {
  const found = isState(state)
    ? await findOne<Pick<Authorization, 'returnUrl' | 'issuer' | 'serviceId'>>(
        db,
        sql`
        update mcp_authorizations set came_back_from = coalesce(${issuer}::text, came_back_from) where digest = ${sha256(state)} and expires_at > now()
        returning return_url, issuer, service_id`,
      )
    : undefined
  if (!found) throw badState()
  const isExpected = serviceId === found.serviceId && (issuer === null || issuer === found.issuer)
  if (!isExpected) await change(db, sql`delete from mcp_authorizations where digest = ${sha256(state)}`)
  return { returnUrl: found.returnUrl, isExpected }
}

function isState(state: string): boolean {
  return /^[\w-]{43}$/.test(state)
}

function badState(): BerthError {
  return new BerthError(
    'invalid_code',
    'state belongs to no sign-in that you began: it was used before, is older than ten minutes, or is somebody else’s. Begin again.',
    { field: 'state' },
  )
}

function placeOf(digest: Buffer): string {
  return `mcp_authorizations.sealed_order:${digest.toString('hex')}`
}
