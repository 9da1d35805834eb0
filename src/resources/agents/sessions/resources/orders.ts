/** What callers ask to have put into the VM of a session: reading it, and writing its rows. */
import { posix } from 'node:path'
import { z } from 'zod'
import type { Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId, encodeId, newUuid } from '#src/platform/ids.ts'
import { findAll, sql, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Sealer } from '#src/platform/secrets.ts'
import { input, oneOf } from '#src/platform/shapes/inputs.ts'
import { withoutEnding } from '#src/platform/texts.ts'
import { isBranchName, readAddress } from '#src/resources/infra/git-repos.ts'
import { readShape } from '#src/platform/shapes/fields.ts'
import type { Environment } from '#src/resources/agents/environments/rows.ts'
import { isThere } from '#src/resources/agents/files/rows.ts'
import { sessionResourceLimits } from './limits.ts'
import { readResourcesOf, sealToken, type Checkout, type SessionResource } from './rows.ts'

/** A resource that is asked for. A file's id is its stored one. */
export type ResourceOrder =
  | { type: 'file'; fileId: string; mountPath: string }
  | { type: 'github_repository'; url: string; checkout: Checkout | null; token: string | null; mountPath: string }

/** Folders of the guest's system, in which nothing is put. */
const systemFolders = ['/boot', '/dev', '/proc', '/run', '/sys']

const mountPath = z.string().max(sessionResourceLimits.mountPathLength).nullish()
const checkoutShape = oneOf({ branch: input({ name: z.string() }), commit: input({ sha: z.string() }) })
const shape = oneOf({
  file: input({ file_id: z.string(), mount_path: mountPath }),
  github_repository: input({
    url: z.string(),
    authorization_token: z.string().nullish(),
    checkout: checkoutShape.nullish(),
    mount_path: mountPath,
  }),
  memory_store: z.looseObject({}), // it is refused, whatever it has
})

/** A resource as callers ask for it. */
export type ResourceInput = z.input<typeof shape>

const listShape = z
  .array(z.custom<ResourceInput>())
  .max(sessionResourceLimits.perSession, `a session has at most ${sessionResourceLimits.perSession} resources`)

/** Reads the resources of a session that is started. @throws BerthError invalid_request naming the place, never a token. */
export function readResourceOrders(given: readonly ResourceInput[] | null | undefined): ResourceOrder[] {
  const orders = readShape(listShape, given ?? [], 'resources').map((one, index) =>
    readResourceOrder(one, `resources[${index}]`),
  )
  checkPaths(orders.map(({ type, mountPath: path }) => ({ type, mountPath: path })))
  return orders
}

/** Reads one. @param place the caller's name for it; empty for a whole body. @throws BerthError invalid_request. */
export function readResourceOrder(given: ResourceInput, place: string): ResourceOrder {
  const read = readShape(shape, given, place)
  if (read.type === 'memory_store')
    throw wrong(
      place,
      'type',
      'a memory_store cannot be put into a session. Give the agent the tools remember and recall of berth_toolset_v1 instead',
    )
  if (read.type === 'file') {
    const { type, file_id: publicId, mount_path: path } = read
    const fileId = decodeId('file', publicId)
    if (fileId === undefined) throw noSuchFile(place)
    return { type, fileId, mountPath: readMountPath(path, `/mnt/session/uploads/${publicId}`, place) }
  }
  const { type, url, authorization_token: token, checkout, mount_path: path } = read
  const name = readRepository(url, Boolean(token), place)
  return {
    type,
    url: withoutEnding(url, '/'),
    checkout: readCheckout(checkout ?? null, place),
    token: readToken(token, place),
    mountPath: readMountPath(path, `/workspace/${name}`, place),
  }
}

/** Resources are put into a VM. @throws BerthError invalid_request for a session that has none. */
export function checkHasVm(environment: Pick<Environment, 'config'> | undefined): void {
  if (environment === undefined)
    throw new BerthError(
      'invalid_request',
      'resources are put into a VM, and this session has none. Start it in an environment: give environment_id.',
      { field: 'resources' },
    )
  if (environment.config.type === 'self_hosted')
    throw new BerthError(
      'invalid_request',
      'resources are put into a VM, and this environment is self-hosted: it has none here. Put them on your own machine.',
      { field: 'resources' },
    )
}

/** A token for git; null without one. @throws BerthError invalid_request, which never has it. */
export function readToken(given: string | null | undefined, place: string): string | null {
  if (given === null || given === undefined || given === '') return null
  if (given.length > sessionResourceLimits.tokenLength || !/^[\x21-\x7e]+$/.test(given))
    throw wrong(
      place,
      'authorization_token',
      `a token has 1 to ${sessionResourceLimits.tokenLength} printable ASCII characters, and no spaces`,
    )
  return given
}

/**
 * Writes resources of a session, which is locked by this transaction. The files must be its owner's.
 * @throws BerthError invalid_request, also for too many.
 */
export async function insertResources(
  { sealer }: { sealer: Sealer },
  tx: Tx,
  { sessionId, organizationId, userId }: { sessionId: string } & Pick<Scope, 'organizationId' | 'userId'>,
  orders: readonly ResourceOrder[],
): Promise<SessionResource[]> {
  if (orders.length === 0) return []
  const before = await readResourcesOf(tx, sessionId)
  if (before.length + orders.length > sessionResourceLimits.perSession)
    throw new BerthError(
      'invalid_request',
      `A session has at most ${sessionResourceLimits.perSession} resources. Delete one first.`,
    )
  checkPaths([...before, ...orders])
  const fileIds = orders.flatMap((order) => (order.type === 'file' ? [order.fileId] : []))
  const files = await findAll<Pick<Row<'files'>, 'id'>>(
    tx,
    sql`select id from files where id = any(${fileIds}::uuid[]) and organization_id = ${organizationId} and owner_user_id = ${userId} and ${isThere}`,
  )
  if (new Set(fileIds).size !== files.length) throw noSuchFile('')
  const ids = orders.map(() => newUuid()).toSorted() // their order is that of the resources, also within a millisecond
  const rows = orders.map((order, index) => rowOf(sealer, ids[index]!, order)) // there are as many
  return findAll<SessionResource>(
    tx,
    sql`
    with added as (
      insert into session_resources (id, session_id, type, mount_path, file_id, url, checkout, sealed_token)
      select id, ${sessionId}, type, mount_path, file_id, url, checkout, decode(sealed_token, 'base64') from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
        as r(id uuid, type text, mount_path text, file_id uuid, url text, checkout jsonb, sealed_token text) returning *)
    select * from added order by id`,
  )
}

function rowOf(sealer: Sealer, id: string, order: ResourceOrder): object {
  const row = { id, type: order.type, mount_path: order.mountPath }
  if (order.type === 'file') return { ...row, file_id: order.fileId }
  const { url, checkout, token } = order
  return {
    ...row,
    url,
    checkout,
    sealed_token: token && sealToken(sealer, id, token).toString('base64'),
  }
}

/** Each resource has a path of its own, and none is below a file. */
function checkPaths(resources: readonly Pick<SessionResource, 'type' | 'mountPath'>[]): void {
  const paths = new Set(resources.map(({ mountPath: path }) => path))
  if (paths.size < resources.length)
    throw new BerthError(
      'invalid_request',
      'Two resources of the session have the same mount_path. Give each a path of its own.',
      { field: 'mount_path' },
    )
  const files = new Set(resources.flatMap(({ type, mountPath: path }) => (type === 'file' ? [path] : [])))
  for (const path of paths)
    for (let above = posix.dirname(path); above !== '/'; above = posix.dirname(above))
      if (files.has(above))
        throw new BerthError('invalid_request', 'A mount_path is below that of a file. Choose another one.', {
          field: 'mount_path',
        })
}

function readMountPath(given: string | null | undefined, usual: string, place: string): string {
  if (given === null || given === undefined || given === '') return usual
  const path = withoutEnding(given, '/')
  if (!path.startsWith('/') || path === '' || posix.normalize(path) !== path || !isPlain(path))
    throw wrong(
      place,
      'mount_path',
      'it must be an absolute path such as /workspace/app, without . or .. or control characters',
    )
  if (systemFolders.some((folder) => path === folder || path.startsWith(`${folder}/`)))
    throw wrong(place, 'mount_path', 'it is in a folder of the system. Choose another one, such as /workspace/app')
  return path
}

function isPlain(path: string): boolean {
  return path.isWellFormed() && !/\p{Cc}/u.test(path)
}

/** @returns the name of the repository. */
function readRepository(url: string, hasToken: boolean, place: string): string {
  const { name } = readAddress(url, place === '' ? '' : `${place}: `)
  const parsed = URL.parse(url)
  if (!parsed || parsed.protocol === 'ssh:') throw wrong(place, 'url', 'it must begin with https://')
  if (parsed.username !== '' || parsed.password !== '')
    throw wrong(
      place,
      'url',
      'it has a credential, which everybody who may read the session would see. Send it as authorization_token',
    )
  if (parsed.search !== '' || parsed.hash !== '') throw wrong(place, 'url', 'it must be without ? and #')
  if (hasToken) checkMayHaveToken(url, place)
  return name
}

/** A token is sent over TLS only, and in git's requests for one repository. @throws BerthError invalid_request. */
export function checkMayHaveToken(url: string, place: string): void {
  const parsed = URL.parse(url)
  if (parsed?.protocol !== 'https:')
    throw wrong(
      place,
      'url',
      'with an authorization_token it must begin with https://, so that nobody on the way can read the token',
    )
  const names = withoutEnding(parsed.pathname, '/').slice(1).split('/')
  if (names.length < 2 || !names.every((part) => /^[\w.-]+$/.test(part)))
    throw wrong(place, 'url', 'with an authorization_token it must be like https://github.com/owner/name')
}

function readCheckout(checkout: Checkout | null, place: string): Checkout | null {
  if (checkout?.type === 'branch' && !isBranchName(checkout.name))
    throw wrong(place, 'checkout.name', 'it is not the name of a branch')
  if (checkout?.type === 'commit' && !/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(checkout.sha))
    throw wrong(place, 'checkout.sha', 'it must be the full SHA of a commit, in lower-case hexadecimal digits')
  return checkout
}

function noSuchFile(place: string): BerthError {
  return new BerthError(
    'invalid_request',
    `${place === '' ? 'A file_id' : `${place}.file_id`} is not the id of a file of yours. Upload the file first.`,
    { field: 'file_id' },
  )
}

function wrong(place: string, field: string, why: string): BerthError {
  return new BerthError('invalid_request', `${place === '' ? field : `${place}.${field}`} is not valid: ${why}.`)
}

/** The public id of a resource's file; null for a repository. */
export function publicFileId({ fileId }: Pick<SessionResource, 'fileId'>): string | null {
  return fileId && encodeId('file', fileId)
}
