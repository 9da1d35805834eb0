/**
 * Authorization: who is calling, and what they may do. `allow` is the first line of every resource function, also of those
 * that `readsOf` makes; it returns the scope by which tenants' rows are filtered. `owned(scope)` is the one place where that
 * filter is written.
 */
import { sql, type RawBuilder } from 'kysely'
import {
  isAtLeast,
  lesserRole,
  permissions,
  type Permission,
  type ProgramScope,
  type Role,
} from './access/permissions.ts'
import { BerthError } from './errors.ts'

/** A permission that a caller was granted, in an organization. */
export type Grant = { readonly permission: Permission; readonly organizationId: string }

/**
 * Who is calling: nobody, a person by token, an organization by key, or Berth itself. Ids are stored uuids. Roles are
 * the current ones. `vmId`: the token is the one that Berth put into that VM. `grants`: see `noting`.
 */
export type Caller =
  | { kind: 'nobody'; refusal: BerthError }
  | {
      kind: 'person'
      userId: string
      organizationId: string | null
      role: Role | null
      memberships: ReadonlyMap<string, Role>
      vmId: string | null
      tokenId: string
      /** The session in a browser whose cookie came, by its stored id; absent for a token. */
      browserSessionId?: string
      /** The program that acts for the person, by the stored id of what lets it; absent where they act themselves. */
      program?: { authorizationId: string; scope: ProgramScope }
      expiresAtSeconds: number
      grants?: Grant[]
    }
  | { kind: 'key'; keyId: string; organizationId: string; scopes: readonly string[]; grants?: Grant[] }
  | { kind: 'system' }

/** The scope of a call: one organization, the person in it, if any, and the VM, if the token is a VM's. */
export type Scope = {
  readonly organizationId: string
  readonly userId: string | null
  readonly role: Role | null
  readonly keyId: string | null
  readonly vmId: string | null
}

/** The 401 for a request without credentials. */
export function missingToken(): BerthError {
  return new BerthError(
    'unauthorized',
    'Send a token, or an API key where one is accepted: Authorization: Bearer <ACCESS_TOKEN>. On a single host, `npm run -s token` creates a token and `npm run -s key` an API key.',
    { keyCode: 'key_missing' },
  )
}

/** The 401 for an API key where only people may call. */
export function userTokenRequired(): BerthError {
  return new BerthError(
    'unauthorized',
    'This endpoint requires a user token; API keys are not accepted. On a single host, `npm run -s token` creates one.',
  )
}

/** The 403 for a program that may only read. */
export function onlyReads(): BerthError {
  return new BerthError(
    'missing_scope',
    'This program was let in to read, and this changes something. Let it in again with the scope write.',
  )
}

/** The 403 for what the token inside a VM may not do. */
export function closedToVmTokens(what: string): BerthError {
  return new BerthError(
    'forbidden',
    `The token inside a VM gives no access to ${what}, only to VMs, builds, agents and sessions of its organization. Use your own token from outside the VM.`,
  )
}

/**
 * Checks a permission of the caller in the active organization.
 * @throws BerthError 401 when there is no valid caller, 403 when the caller lacks the role, the scope, or an
 * organization.
 */
export function allow(caller: Caller, permission: Permission): Scope {
  if (caller.kind === 'nobody') throw caller.refusal
  if (caller.kind === 'system') throw new Error('the system acts by ids, not by a scope')
  const [leastRole, scope, inVms] = permissions[permission]
  if (caller.kind === 'key') {
    if (scope === null) throw userTokenRequired()
    if (scope !== 'any' && !caller.scopes.includes(scope))
      throw new BerthError('forbidden', `This key lacks the scope ${scope}. Create a key that has it.`)
    caller.grants?.push({ permission, organizationId: caller.organizationId })
    return { organizationId: caller.organizationId, userId: null, role: null, keyId: caller.keyId, vmId: null }
  }
  if (caller.vmId !== null && inVms === null) throw closedToVmTokens('this')
  if (caller.organizationId === null || caller.role === null)
    throw new BerthError(
      'forbidden',
      'Your request names no organization. Name one of yours in the header berth-organization, or use a token whose org_id is one.',
    )
  const role = caller.vmId === null ? caller.role : lesserRole(caller.role, 'member')
  if (!isAtLeast(role, leastRole))
    throw new BerthError(
      'not_permitted_for_role',
      `Your role ${role} may not do this; it requires ${leastRole} or higher. Ask an owner of the organization.`,
    )
  caller.grants?.push({ permission, organizationId: caller.organizationId })
  return { organizationId: caller.organizationId, userId: caller.userId, role, keyId: null, vmId: caller.vmId }
}

/**
 * As allow; undefined where the caller may not: for answers that leave out what they may not see.
 * @throws BerthError 401 when there is no valid caller.
 */
export function findScope(caller: Caller, permission: Permission): Scope | undefined {
  if (caller.kind === 'nobody') throw caller.refusal
  try {
    return allow(caller, permission)
  } catch (error) {
    if (error instanceof BerthError) return undefined
    throw error
  }
}

/**
 * Checks a permission in an organization that the caller names, which need not be the active one of their token.
 * @param organizationId a stored uuid, or undefined for a malformed id, which counts as an organization they do not
 * belong to.
 * @throws BerthError 401 when there is no valid caller, 403 forbidden when they do not belong to it, 403 when their
 * role there is too low.
 */
export function allowIn(caller: Caller, permission: Permission, organizationId: string | undefined): Scope {
  if (caller.kind === 'person') {
    const role = caller.memberships.get(organizationId ?? '')
    if (!role || !organizationId) throw notAMember()
    return allow({ ...caller, organizationId, role }, permission)
  }
  const scope = allow(caller, permission)
  if (scope.organizationId !== organizationId) throw notAMember()
  return scope
}

/** The same caller, which from now on records every permission that it is granted: for streams and stored responses, which outlive the call. */
export function noting(caller: Caller): { caller: Caller; grants: readonly Grant[] } {
  if (caller.kind === 'nobody' || caller.kind === 'system') return { caller, grants: [] }
  const grants: Grant[] = []
  return { caller: { ...caller, grants }, grants }
}

/** Checks again, with the caller's current rights, every permission that was granted before. @throws BerthError as allowIn. */
export function allowAgain(caller: Caller, grants: readonly Grant[]): void {
  if (caller.kind === 'nobody') throw caller.refusal
  for (const { permission, organizationId } of grants) allowIn(caller, permission, organizationId)
}

/** A scope of several organizations: for rows that are found by their ids, whichever of the caller's organizations has them. */
export type Reach = Scope & { readonly organizationIds: readonly string[] }

/**
 * Finds all organizations in which the caller has a permission: the active one of their token, and every other that
 * they belong to. The token inside a VM only has its own organization.
 * @throws BerthError as allow, when they have it nowhere.
 */
export function allowAnywhere(caller: Caller, permission: Permission): Reach {
  const [leastRole] = permissions[permission]
  const elsewhere =
    caller.kind !== 'person' || caller.vmId !== null
      ? []
      : [...caller.memberships].filter(([id, role]) => id !== caller.organizationId && isAtLeast(role, leastRole))
  const scopes = elsewhere.map(([id]) => allowIn(caller, permission, id))
  const isShutOut =
    caller.kind === 'person' && (caller.role === null || !isAtLeast(caller.role, leastRole)) && scopes.length > 0
  if (!isShutOut) scopes.unshift(allow(caller, permission))
  const [first] = scopes
  if (!first) throw new Error('a caller was not authorized before this')
  return { ...first, organizationIds: scopes.map(({ organizationId }) => organizationId) }
}

/**
 * The same caller, acting in an organization that they belong to, which need not be the active one of their token.
 * @throws BerthError 401 when there is no valid caller, 403 forbidden when they do not belong to it.
 */
export function actingIn(caller: Caller, organizationId: string | undefined): Caller {
  if (caller.kind === 'nobody') throw caller.refusal
  if (caller.kind === 'system' || organizationId === caller.organizationId) return caller
  const role = caller.kind === 'person' ? caller.memberships.get(organizationId ?? '') : undefined
  if (caller.kind !== 'person' || !role || !organizationId) throw notAMember()
  return { ...caller, organizationId, role }
}

function notAMember(): BerthError {
  return new BerthError(
    'forbidden',
    'You do not belong to this organization. Name one of yours, or ask one of its owners to add you.',
  )
}

/** The condition in every query of tenants' rows. */
export function owned(scope: Scope | Reach): RawBuilder<boolean> {
  return 'organizationIds' in scope
    ? sql<boolean>`organization_id = any(${scope.organizationIds}::uuid[])`
    : sql<boolean>`organization_id = ${scope.organizationId}`
}

/**
 * The condition for rows that have an owner, in the agents service: (organization_id, owner_user_id) is the caller. A
 * row without `owner_user_id` was created with an API key, belongs to the organization, and every member may use it; an
 * API key sees only those.
 */
export function ownedByCaller(scope: Scope | Reach): RawBuilder<boolean> {
  return sql<boolean>`${owned(scope)} and (owner_user_id is null or owner_user_id = ${scope.userId}::uuid)`
}

/** Whether this scope may see values that only writers may see: members and above, and keys that may write. */
export function mayWrite(scope: Scope): boolean {
  return scope.role === null || isAtLeast(scope.role, 'member')
}
