/** Connecting a service, and disconnecting it. */
import { beginSignIn, finishSignIn, type SignInTokens } from '#src/drivers/mcp/sign-in.ts'
import { SignInError } from '#src/drivers/mcp/sign-in/errors.ts'
import { findSignInPlace, scopesTogether, tokenEndpointOf } from '#src/drivers/mcp/sign-in/places.ts'
import { signInReach, type SignInReach } from '#src/drivers/mcp/sign-in/reach.ts'
import { allow } from '#src/platform/access.ts'
import type { Config } from '#src/platform/config.ts'
import { BerthError, notFound, type ErrorCode } from '#src/platform/errors.ts'
import { newUuid, randomToken } from '#src/platform/ids.ts'
import { connectorLimits } from '#src/platform/limits/connectors.ts'
import { log } from '#src/platform/log.ts'
import { checkStorage } from '#src/platform/metrics/rooms.ts'
import { transaction, type Db } from '#src/platform/postgres.ts'
import type { Call, Services } from '#src/platform/services.ts'
import { beginAuthorization, takeAuthorization, type Begun, type SignInOrder } from './authorizations.ts'
import { serviceCatalog, serviceIdForm, type McpServiceEntry } from './catalog.ts'
import { clientAt, forgetClient, selfOf } from './clients.ts'
import { connectorOwner, lockPerson, type ConnectorOwner } from './people.ts'
import {
  findConnection,
  findConnectionsOf,
  openSecrets,
  putConnection,
  removeConnection,
  type McpConnection,
  type NewConnection,
} from './rows.ts'
import { getEntry, serviceOf, type McpService } from './services.ts'
import { isOtherGrant, withdrawTokens } from './tokens.ts'
import { listServiceTools } from './tools.ts'

const stateBytes = 32

/** A sign-in that has begun: where the person's browser goes, and what comes back with it. */
export type StartedConnection = { authorizationUrl: string; state: string; expiresAt: string }

/**
 * Begins to connect a service: where the caller signs in, with a state that completes this once.
 * @throws BerthError not_found; invalid_request; rate_limited; service_unavailable, timeout when the service does not answer.
 */
export async function startConnection(
  call: Call,
  { id, returnUrl }: { id: string; returnUrl: string },
): Promise<StartedConnection> {
  const owner = connectorOwner(allow(call.caller, 'connectors:write'))
  const entry = getEntry(call.config, id)
  if (entry.auth === 'none')
    throw new BerthError('invalid_request', `${entry.name} needs no connection: agents may use it as it is.`)
  if (entry.missing !== null)
    throw new BerthError(
      'invalid_request',
      `${entry.name} is not set up here. Ask the operator to set ${entry.missing}.`,
    )
  checkReturnUrl(call.config, returnUrl)
  await spendRequest(call, owner)
  const before = await findConnection(call.db, owner, id)
  if (!before) await checkRoom(call.db, owner)
  await checkStorage(call, owner.organizationId, 'definitions')
  const state = randomToken(stateBytes)
  const { order, authorizationUrl } = await signIn(
    (reach) => prepare(call, reach, entry, { state, before: before ?? null }),
    call.config,
  )
  const expiresAt = await transaction(call.db, (tx) =>
    beginAuthorization(call.sealer, tx, owner, { state, serviceId: id, returnUrl, order }),
  )
  return { authorizationUrl, state, expiresAt }
}

/**
 * Completes a sign-in with the code that came back.
 * @param input.iss the issuer that came back beside it; it is known already when the browser came by Berth.
 * @throws BerthError invalid_code for a state or code that is not good; as startConnection.
 */
export async function completeConnection(
  call: Call,
  input: { code: string; state: string; iss?: string | null },
): Promise<McpService> {
  const owner = connectorOwner(allow(call.caller, 'connectors:write'))
  const { code, state } = input
  if (code.length > connectorLimits.codeLength || !/^[\x21-\x7e]+$/.test(code))
    throw new BerthError('invalid_code', 'code must be the text that came back from the sign-in.', { field: 'code' })
  await spendRequest(call, owner)
  const begun = await takeAuthorization(call, owner, state)
  const entry = serviceCatalog(call.config).get(begun.serviceId)
  if (!entry || entry.url !== begun.order.serverUrl)
    throw new BerthError(
      'invalid_code',
      'The connector is no longer the one for which this sign-in began. Begin again.',
    )
  const iss = input.iss ?? begun.cameBackFrom
  const tokens = await signIn((reach) => exchange(call, reach, begun, { code, iss }), call.config)
  await store(call, owner, begun, tokens)
  const service = await serviceOf(call, owner, begun.serviceId)
  const listed = await listServiceTools(call, owner, service)
  if (listed.status !== 'ok') log.debug({ reason: listed.error }, 'a new connection’s tools could not be listed')
  return serviceOf(call, owner, begun.serviceId)
}

/**
 * Disconnects a service: its tokens are deleted, and withdrawn where they came from.
 * @throws BerthError not_found when it is not connected.
 */
export async function disconnectService(call: Call, id: string): Promise<{ connectionId: string }> {
  const owner = connectorOwner(allow(call.caller, 'connectors:write'))
  const gone = serviceIdForm.test(id) ? await transaction(call.db, (tx) => removeConnection(tx, owner, id)) : undefined
  if (!gone) throw notFound('connection')
  if (gone.revocationEndpoint !== null) await withdrawTokens(call, gone, openSecrets(call.sealer, gone))
  return { connectionId: gone.id }
}

/** What one person asks of services by requests to Berth is limited. @throws BerthError rate_limited. */
export async function spendRequest(
  { limiter }: Pick<Services, 'limiter'>,
  { organizationId, userId }: ConnectorOwner,
): Promise<void> {
  await limiter.spend(`connectors:${organizationId}:${userId}`, connectorLimits.requestsPerMinute)
}

/** @throws BerthError invalid_request for a person who has as many connections as may be. */
async function checkRoom(db: Db, owner: ConnectorOwner): Promise<void> {
  if ((await findConnectionsOf(db, owner)).length < connectorLimits.connectionsMax) return
  throw new BerthError(
    'invalid_request',
    `You have ${connectorLimits.connectionsMax} connections, which is the limit. Disconnect one first.`,
  )
}

async function prepare(
  call: Call,
  reach: SignInReach,
  entry: McpServiceEntry,
  { state, before }: { state: string; before: McpConnection | null },
): Promise<{ order: SignInOrder; authorizationUrl: string }> {
  const found = await findSignInPlace(reach, entry.url, entry.scopes)
  const same = before?.serverUrl === entry.url && before.issuer === found.issuer ? before : null
  const more = same?.missingScope ?? null
  // What the service asked for since, with what it gave before, so that nothing is lost by it.
  const place = more === null ? found : { ...found, scope: scopesTogether(found.scope, same?.scope ?? null, more) }
  const client = await clientAt(call, reach, entry, place)
  const { redirectUrl } = selfOf(call.config, entry)
  const { authorizationUrl, codeVerifier } = await beginSignIn(place, { clientId: client.clientId, redirectUrl, state })
  return { authorizationUrl, order: { serverUrl: entry.url, place, client, codeVerifier, redirectUrl } }
}

async function exchange(
  call: Call,
  reach: SignInReach,
  { order }: Begun,
  back: { code: string; iss: string | null },
): Promise<SignInTokens> {
  const { place, client, codeVerifier, redirectUrl } = order
  try {
    return await finishSignIn(reach, place, client, { ...back, codeVerifier, redirectUrl })
  } catch (error) {
    if (error instanceof SignInError && error.kind === 'client_unknown')
      await forgetClient(call.db, place.issuer, client.clientId)
    throw error
  }
}

async function store(
  call: Call,
  owner: ConnectorOwner,
  { serviceId, order }: Begun,
  tokens: SignInTokens,
): Promise<void> {
  const { place, client, serverUrl } = order
  const secrets = {
    access_token: tokens.accessToken,
    refresh_token: tokens.refreshToken,
    client_secret: client.clientSecret,
  }
  const revocation =
    place.metadata && 'revocation_endpoint' in place.metadata ? place.metadata['revocation_endpoint'] : null
  const made: NewConnection = {
    serviceId,
    serverUrl,
    issuer: place.issuer,
    tokenEndpoint: tokenEndpointOf(place),
    revocationEndpoint: typeof revocation === 'string' ? revocation : null,
    clientId: client.clientId,
    clientAuth: client.clientAuth,
    resource: place.resource,
    scope: tokens.scope,
    expiresAt: tokens.expiresAt,
    secrets,
  }
  let replaced: McpConnection | undefined
  try {
    replaced = await transaction(call.db, async (tx) => {
      const person = await lockPerson(tx, owner)
      const before = await findConnection(tx, owner, serviceId)
      if (!before) await checkRoom(tx, owner)
      await putConnection(call.sealer, tx, { id: before?.id ?? newUuid(), personId: person.id, owner }, made)
      return before
    })
  } catch (error) {
    await withdrawTokens(call, made, secrets) // nobody has them now
    throw error
  }
  if (replaced && isOtherGrant(replaced, made)) await withdrawTokens(call, replaced, openSecrets(call.sealer, replaced))
}

/** Does a part of a sign-in within its time and bytes, with errors as callers see them. */
async function signIn<Result>(
  work: (reach: SignInReach) => Promise<Result>,
  { privateHosts }: Config,
): Promise<Result> {
  const over = new AbortController()
  const late = AbortSignal.timeout(connectorLimits.signInSeconds * 1000)
  const signal = AbortSignal.any([late, over.signal])
  const reach = signInReach({ privateHosts }, signal, (error) => over.abort(error))
  try {
    return await work(reach)
  } catch (error) {
    if (late.aborted)
      throw new BerthError('timeout', `The service did not answer within ${connectorLimits.signInSeconds} s.`)
    if (over.signal.aborted)
      throw new BerthError('service_unavailable', 'The service answers with more than Berth reads.')
    if (error instanceof SignInError) throw new BerthError(codes[error.kind], error.message)
    throw error
  }
}

const codes: Readonly<Record<SignInError['kind'], ErrorCode>> = {
  unreachable: 'service_unavailable',
  unsuitable: 'invalid_request', // as long as its operator, or this one, changes nothing
  client_unknown: 'service_unavailable',
  refused: 'invalid_code',
  mixed_up: 'invalid_code',
}

/** Checks where the person is to come back to. @throws BerthError invalid_request. */
function checkReturnUrl({ returnOrigins, publicUrl }: Config, given: string): void {
  const url = given.length <= connectorLimits.returnUrlLength ? URL.parse(given) : null
  const isPlain = url !== null && url.username === '' && url.password === '' && url.hash === ''
  if (isPlain && (returnOrigins.includes(url.origin) || url.origin === new URL(publicUrl).origin)) return
  throw new BerthError(
    'invalid_request',
    'return_url must be an address of Berth’s own origin, or of one that the operator lists in BERTH_RETURN_ORIGINS, without a fragment.',
    { field: 'return_url' },
  )
}
