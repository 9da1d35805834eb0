/** What is put into the VM of a session, while it lives: add, read, list, rotate a token, delete. */
import { encodeId } from '#src/platform/ids.ts'
import { type ParentId } from '#src/platform/nouns.ts'
import { allow, allowAnywhere, closedToVmTokens, type Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import type { Direction, Page, PageWindow } from '#src/platform/pages.ts'
import { checkStorage } from '#src/platform/metrics/rooms.ts'
import { change, findAll, getOne, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import type { Call } from '#src/platform/services.ts'
import { findEnvironmentRow } from '../environments/rows.ts'
import {
  checkHasVm,
  checkMayHaveToken,
  insertResources,
  readResourceOrder,
  readToken,
  type ResourceInput,
} from './resources/orders.ts'
import { ofTheirSessions, readResource, resourceRows, sealToken, type SessionResource } from './resources/rows.ts'
import { appendEvents } from './log.ts'
import { isUsedByVm, readSession, sessionOver, type Session } from './rows.ts'
import { rememberSecrets } from './secrets.ts'

/** A resource that is added, as callers ask for it: its kind, and the fields of that kind. */
export type AddedResource = {
  type: SessionResource['type']
  fileId?: string | null
  url?: string | null
  authorizationToken?: string | null
  checkout?: (ResourceInput['githubRepository'] & {})['checkout']
  mountPath?: string | null
}

/**
 * Adds a resource. It is in the VM from the next command of the agent on.
 * @throws BerthError not_found, session_archived, invalid_request.
 */
export async function addSessionResource(
  call: Call,
  sessionId: string,
  { type, ...given }: AddedResource,
): Promise<SessionResource> {
  const scope = allow(call.caller, 'sessions:write')
  await checkStorage(call, scope.organizationId, 'transcripts')
  return changeSession(call, scope, sessionId, async (tx, session) => {
    const named = type === 'file' ? { file: given } : { githubRepository: given }
    const order = readResourceOrder(named as ResourceInput, '') // which refuses what that kind lacks
    if (order.type === 'file') allow(call.caller, 'files:read')
    if (session.environmentId !== null && (await isUsedByVm(tx, session.environmentId)))
      throw new BerthError(
        'invalid_request',
        'This session was used with the token inside a VM, so it gets no resources. Start a new one.',
      )
    checkHasVm(session.environmentId === null ? undefined : await findEnvironmentRow(tx, session.environmentId))
    const owner = { organizationId: session.organizationId, userId: session.ownerUserId }
    const [resource] = await insertResources(call, tx, { sessionId: session.id, ...owner }, [order])
    if (!resource) throw new Error('a resource was not written')
    await rememberSecrets({ db: tx, sealer: call.sealer }, session) // which refuses more than can be masked
    return resource
  })
}

/** One resource of a session. @throws BerthError not_found. */
export async function getSessionResource(call: Call, sessionId: ParentId, id: string): Promise<SessionResource> {
  return readResource(call.db, allow(call.caller, 'sessions:read'), sessionId, id)
}

/** A session's resources, in the order in which they were added. @throws BerthError not_found, invalid_request. */
export async function pageSessionResources(
  call: Call,
  sessionId: string,
  window: PageWindow,
  direction: Direction = 'asc',
): Promise<Page<SessionResource>> {
  const scope = allow(call.caller, 'sessions:read')
  const session = await readSession(call.db, scope, sessionId)
  return resourceRows.page(call.db, window, sql`session_id = ${session.id}`, direction)
}

/** All resources of each of these sessions, by stored ids, in the order in which they were added. */
export async function findResourcesOfSessions(
  call: Call,
  sessionIds: readonly string[],
): Promise<{ sessionId: string; resources: SessionResource[] }[]> {
  const reach = allowAnywhere(call.caller, 'sessions:read')
  const rows = await findAll<SessionResource>(
    call.db,
    sql`select * from session_resources where session_id = any(${sessionIds}::uuid[]) and ${ofTheirSessions(reach)} order by id`,
  )
  const ofEach = Map.groupBy(rows, ({ sessionId }) => sessionId)
  return [...ofEach].map(([sessionId, resources]) => ({ sessionId, resources }))
}

/**
 * Replaces the token of a repository, from git's next request on.
 * @throws BerthError not_found, session_archived, invalid_request for a file; rate_limited when the organization may store no more.
 */
export async function updateSessionResource(
  call: Call,
  sessionId: ParentId,
  id: string,
  { authorizationToken }: { authorizationToken: string },
): Promise<SessionResource> {
  const scope = allow(call.caller, 'sessions:write')
  await checkStorage(call, scope.organizationId, 'transcripts')
  return changeSession(call, scope, await sessionOf(call, scope, sessionId, id), async (tx, session) => {
    const before = await resourceRows.read(tx, id, sql`session_id = ${session.id}`, sql`for no key update`)
    if (before.type === 'file')
      throw new BerthError('invalid_request', 'A file has no token to replace; only a github_repository has one.')
    checkMayHaveToken(before.url ?? '', '')
    const token = readToken(authorizationToken, '')
    if (token === null) throw new BerthError('invalid_request', 'authorization_token must not be empty.')
    await rememberSecrets({ db: tx, sealer: call.sealer }, session)
    return getOne<SessionResource>(
      tx,
      // Git in a clone that was made without a token does not ask for one yet, so it is put there again.
      sql`
      update session_resources
      set sealed_token = ${sealToken(call.sealer, before.id, token)},
        placed_at = case when sealed_token is null then null else placed_at end, updated_at = now()
      where id = ${before.id} returning *`,
    )
  })
}

/**
 * Deletes a resource: its token opens nothing any more, and no further VM gets it. What is in a VM already stays there.
 * @throws BerthError not_found, session_archived.
 */
export async function deleteSessionResource(call: Call, sessionId: ParentId, id: string): Promise<void> {
  const scope = allow(call.caller, 'sessions:write')
  await changeSession(call, scope, await sessionOf(call, scope, sessionId, id), async (tx, session) => {
    const before = await resourceRows.read(tx, id, sql`session_id = ${session.id}`, sql`for update`)
    await rememberSecrets({ db: tx, sealer: call.sealer }, session).catch((error: unknown) => {
      if (!(error instanceof BerthError)) throw error // a token that leaked can be taken away, however many there are
    })
    await change(tx, sql`delete from session_resources where id = ${before.id}`)
    return before
  })
}

/** The session that is given, or else that of the resource, by its public id. @throws BerthError not_found. */
async function sessionOf({ db }: Call, scope: Scope, sessionId: ParentId, id: string): Promise<string> {
  return sessionId ?? encodeId('session', (await readResource(db, scope, sessionId, id)).sessionId)
}

/** Changes the resources of a session that goes on, while it is locked, and tells its subscribers. */
async function changeSession(
  call: Call,
  scope: Scope,
  publicId: string,
  work: (tx: Tx, session: Session) => Promise<SessionResource>,
): Promise<SessionResource> {
  if (scope.vmId !== null) throw closedToVmTokens('resources of sessions, which may have secrets')
  return transaction(call.db, async (tx) => {
    const session = await readSession(tx, scope, publicId, sql`for no key update`)
    if (session.status === 'terminated') throw sessionOver(session)
    const resource = await work(tx, session)
    await appendEvents(tx, session.id, [{ type: 'session.updated', data: {} }])
    return resource
  })
}
