/** What a program asks a person for: kept until they have answered, and until the program has fetched what came of it. */
import type { ProgramScope } from '#src/platform/access/permissions.ts'
import { BerthError } from '#src/platform/errors.ts'
import { newUuid, randomToken } from '#src/platform/ids.ts'
import { change, findOne, getOne, noticesSent, sql, transaction, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { sameDigest, sha256 } from '#src/platform/secrets.ts'
import { beginAuthorization } from '../authorizations.ts'
import { lockMember } from '../memberships.ts'
import { noteClientUse } from './clients.ts'
import { authorizationLimits } from './limits.ts'
import { issueTokens, type Exchange } from './tokens.ts'

/** A request as it is shown to whoever answers it. `userCode` is null for one that came by a browser. */
export type AuthorizationRequest = Pick<
  Row<'authorization_requests', { scope: ProgramScope }>,
  | 'id'
  | 'userCode'
  | 'clientId'
  | 'clientName'
  | 'clientHost'
  | 'scope'
  | 'redirectUri'
  | 'state'
  | 'address'
  | 'createdAt'
>
/** The program that asks. `host`: whose word for its name there is; null for one that says it itself. `address`: of IPv6 the /64. */
export type AskingClient = { clientId: string; clientName: string; clientHost: string | null; address: string }
/** What a program asks for by a browser. `codeChallenge`: of PKCE, S256. */
export type AskedByBrowser = { scope: ProgramScope; redirectUri: string; state: string | null; codeChallenge: string }
/** What finds a request: the secret in the address of its page, or the code that a device shows. */
export type RequestHandle = { secret: string } | { userCode: string }
/** What the person decides; with `organizationId`, a stored id, the program is let in there. */
export type Answer = { userId: string; organizationId: string | null }

const { requestSeconds, codeSeconds, requestsMax, requestsPerAddress } = authorizationLimits
const shown = sql`id, user_code, client_id, client_name, client_host, scope, redirect_uri, state, address, created_at`

/** Keeps what a program asks for by a browser. @returns the secret that finds it. @throws BerthError rate_limited. */
export async function openRequest(db: Db, client: AskingClient, asked: AskedByBrowser): Promise<string> {
  const secret = randomToken()
  await addRequest(db, client, { ...asked, secret, userCode: null, pollSeconds: 0 })
  return secret
}

/** What is kept of a request beside its program. */
type Asked = Pick<
  Row<'authorization_requests'>,
  'redirectUri' | 'state' | 'codeChallenge' | 'userCode' | 'pollSeconds'
> & { secret: string; scope: ProgramScope }

/** Adds a row; others give way where there is no room. @throws BerthError rate_limited. */
export async function addRequest(db: Db, client: AskingClient, asked: Asked): Promise<void> {
  await transaction(db, async (tx) => {
    await change(tx, sql`select pg_advisory_xact_lock(hashtextextended('authorization_requests', 0))`) // so that they can be counted
    if (!(await makeRoom(tx, client.address)))
      throw new BerthError('rate_limited', 'Too many programs ask to be let in right now. Try again in some minutes.', {
        retryAfterSeconds: requestSeconds,
      })
    await insertRequest(tx, client, asked)
  })
}

/**
 * What waits longest at an address gives way to what comes from there. When there is no room for anybody, those give way that
 * nobody can answer any more, or the oldest of the address that has the most: whoever asks for much keeps nobody else out.
 */
async function makeRoom(tx: Tx, address: string): Promise<boolean> {
  const { ofAddress, all } = await getOne<{ ofAddress: number; all: number }>(
    tx,
    sql`
    select count(*) filter (where address = ${address} and ${open}) as of_address, count(*) as "all" from authorization_requests`,
  )
  if (ofAddress >= requestsPerAddress) return forgetOldest(tx, sql`address = ${address} and ${open}`)
  if (all < requestsMax) return true
  const late = await change(
    tx,
    sql`delete from authorization_requests where expires_at <= now() and authorization_id is null`,
  )
  const busiest = sql`(select address from authorization_requests group by address order by count(*) desc, address limit 1)`
  return late > 0 || forgetOldest(tx, sql`address = ${busiest}`)
}

/** @returns whether there was one; what somebody answers at this moment is none. */
async function forgetOldest(tx: Tx, which: ReturnType<typeof sql>): Promise<boolean> {
  const gone = await change(
    tx,
    sql`
    delete from authorization_requests where id = (
      select id from authorization_requests where ${which} order by created_at limit 1 for update skip locked)`,
  )
  return gone > 0
}

async function insertRequest(
  tx: Tx,
  { clientId, clientName, clientHost, address }: AskingClient,
  asked: Asked,
): Promise<void> {
  await change(
    tx,
    sql`
    insert into authorization_requests (id, secret_sha256, user_code, client_id, client_name, client_host, scope, redirect_uri, state,
      code_challenge, address, poll_seconds, expires_at)
    values (${newUuid()}, ${sha256(asked.secret)}, ${asked.userCode}, ${clientId}, ${clientName}, ${clientHost},
      ${asked.scope}, ${asked.redirectUri}, ${asked.state}, ${asked.codeChallenge}, ${address},
      ${asked.pollSeconds}, now() + ${requestSeconds} * interval '1 second')`,
  )
}

const open = sql<boolean>`expires_at > now() and authorization_id is null and denied_at is null`

function whichOf(handle: RequestHandle): ReturnType<typeof sql<boolean>> {
  return 'secret' in handle
    ? sql<boolean>`secret_sha256 = ${sha256(handle.secret)} and user_code is null`
    : sql<boolean>`user_code = ${handle.userCode}`
}

/** A request that nobody has answered. @throws BerthError not_found. */
export async function getOpenRequest(db: Db, handle: RequestHandle): Promise<AuthorizationRequest> {
  const found = await findOne<AuthorizationRequest>(
    db,
    sql`select ${shown} from authorization_requests where ${whichOf(handle)} and ${open}`,
  )
  if (!found) throw noLonger(handle)
  return found
}

/**
 * Answers a request, once.
 * @returns the request, and the code that its program exchanges; null when it was denied, and for a device.
 * @throws BerthError not_found; forbidden when the person does not belong to the organization.
 */
export async function answerRequest(
  db: Db,
  handle: RequestHandle,
  answer: Answer,
): Promise<{ request: AuthorizationRequest; code: string | null }> {
  const answered = await transaction(db, async (tx) => {
    const request = await findOne<AuthorizationRequest>(
      tx,
      sql`select ${shown} from authorization_requests where ${whichOf(handle)} and ${open} for update`,
    )
    if (!request) throw noLonger(handle)
    const code = answer.organizationId === null ? await deny(tx, request) : await letIn(tx, request, answer)
    return { request, code }
  })
  await noticesSent(db)
  return answered
}

async function deny(tx: Tx, { id }: AuthorizationRequest): Promise<null> {
  await change(tx, sql`update authorization_requests set denied_at = now() where id = ${id}`)
  return null
}

async function letIn(
  tx: Tx,
  request: AuthorizationRequest,
  { userId, organizationId }: Answer,
): Promise<string | null> {
  const place = { userId, organizationId: organizationId ?? '' } // not null: who denies does not come here
  const { role, isDeactivated } = await lockMember(tx, place)
  if (role === null || isDeactivated)
    throw new BerthError('forbidden', 'You do not belong to this organization. Choose one of yours.')
  const { id, clientId, clientName, scope } = request
  const authorizationId = await beginAuthorization(tx, { ...place, clientId, clientName, scope })
  await noteClientUse(tx, clientId)
  const code = request.userCode === null ? randomToken() : null
  await change(
    tx,
    sql`
    update authorization_requests
    set authorization_id = ${authorizationId}, code_sha256 = ${code === null ? null : sha256(code)}::bytea,
      code_expires_at = now() + ${codeSeconds} * interval '1 second'
    where id = ${id}`,
  )
  return code
}

function noLonger(handle: RequestHandle): BerthError {
  return 'secret' in handle
    ? new BerthError(
        'not_found',
        'This request was answered, or is older than ten minutes. Begin again in the program.',
      )
    : new BerthError(
        'not_found',
        'No device waits with this code. Compare it with what the device shows; it holds for ten minutes.',
      )
}

type CodeRow = Pick<
  Row<'authorization_requests'>,
  'id' | 'clientId' | 'redirectUri' | 'codeChallenge' | 'authorizationId' | 'exchangedAt'
> & { isLate: boolean; userId: string | null }

/** Exchanges a code for tokens, once. `redirectUri`: as the program repeats it, which it need not. */
export async function exchangeCode(
  db: Db,
  given: { code: string; clientId: string; redirectUri: string | null; verifier: string },
): Promise<Exchange> {
  const exchange = await transaction(db, async (tx): Promise<Exchange> => {
    const found = await findOne<CodeRow>(
      tx,
      sql`
      select id, client_id, redirect_uri, code_challenge, authorization_id, exchanged_at, code_expires_at <= now() as is_late,
        (select user_id from authorizations where id = authorization_id) as user_id
      from authorization_requests where code_sha256 = ${sha256(given.code)} for update`,
    )
    if (!found || found.clientId !== given.clientId) return { status: 'unknown' }
    const { authorizationId, userId } = found
    if (authorizationId === null || userId === null) return { status: 'unknown' }
    if (found.exchangedAt !== null) return { status: 'reused', authorizationId, userId }
    const fits = (given.redirectUri ?? found.redirectUri) === found.redirectUri && verifies(given.verifier, found)
    return found.isLate || !fits ? { status: 'unknown' } : exchangeRequest(tx, { ...found, authorizationId })
  })
  await noticesSent(db)
  return exchange
}

/** Whether a verifier belongs to the challenge that came first (RFC 7636, S256). */
function verifies(verifier: string, { codeChallenge }: CodeRow): boolean {
  const challenge = sha256(verifier).toString('base64url')
  return codeChallenge !== null && sameDigest(sha256(challenge), sha256(codeChallenge))
}

/** Makes the tokens of a request that is locked, and that nobody has exchanged. */
export async function exchangeRequest(
  tx: Tx,
  { id, authorizationId, clientId }: { id: string; authorizationId: string; clientId: string },
): Promise<Exchange> {
  await change(tx, sql`update authorization_requests set exchanged_at = now() where id = ${id}`)
  const tokens = await issueTokens(tx, authorizationId, clientId)
  return tokens ? { status: 'exchanged', tokens } : { status: 'unknown' }
}
