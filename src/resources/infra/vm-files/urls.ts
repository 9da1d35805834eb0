/**
 * Signed URLs of files in VMs, for clients without a token. The signature covers everything that the URL opens, and who made
 * it: what they may no longer do, it no longer opens. Nothing is stored.
 */
import type { FileFormat } from '#src/drivers/node/file-transfers.ts'
import { allow, type Caller } from '#src/platform/access.ts'
import { isAtLeast, roleWithin, type Permission, type Role } from '#src/platform/access/permissions.ts'
import { nowMs, timestamp } from '#src/platform/clock.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { fileLimits } from '#src/platform/limits/files.ts'
import { findOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import { sameDigest, sha256, type Sealer } from '#src/platform/secrets.ts'
import type { Call } from '#src/platform/services.ts'
import { findOpenScope } from '#src/resources/identity/authorizations.ts'
import { checkPath } from '#src/resources/infra/vm-files.ts'
import { getVm } from '#src/resources/infra/vms.ts'
import type { FileAddress } from './streams.ts'

/** What a signed URL is for. */
export type FileUrlMethod = 'GET' | 'PUT'

/** A signed URL. */
export type FileUrl = { url: string; method: FileUrlMethod; expiresAt: string }

/** Who made a URL: a person, in a VM if the token was that VM's, by a program if one acted for them, or a key; public ids. */
type Maker = { organization: string; user: string; vm: string; key: string; program: string }

type PersonCaller = Extract<Caller, { kind: 'person' }>

const permissionOf = { GET: 'inside-vms:read', PUT: 'vms:write' } as const satisfies Record<FileUrlMethod, Permission>
const signed = ['expires', 'by', 'signature'] as const

/** The parameters that make a URL a signed one. */
export const signedParameters: readonly string[] = signed

/**
 * Makes a signed URL. One that is made with the token inside a VM ends with that token, and one that a program makes with what
 * lets it in.
 * @throws BerthError not_found, invalid_request.
 */
export async function createFileUrl(
  call: Call,
  input: { vmId: string; path: string; method: FileUrlMethod; format?: FileFormat | null; ttlSeconds?: number | null },
): Promise<FileUrl> {
  const { caller } = call
  const scope = allow(caller, permissionOf[input.method])
  const { vmId, path, method } = input
  const format = input.format ?? 'file'
  checkPath(path)
  const ttlSeconds = input.ttlSeconds ?? fileLimits.urlSecondsDefault
  if (!Number.isInteger(ttlSeconds) || ttlSeconds < 1 || ttlSeconds > fileLimits.urlSecondsMax)
    throw new BerthError(
      'invalid_request',
      `ttl_seconds must be 1 to ${fileLimits.urlSecondsMax}, which is a week; without it a URL is valid for ${fileLimits.urlSecondsDefault}.`,
      { field: 'ttlSeconds' },
    )
  await getVm(call, vmId)
  const wanted = Math.floor(nowMs() / 1000) + ttlSeconds
  const program = caller.kind === 'person' ? caller.program : undefined
  const isVmToken = caller.kind === 'person' && caller.vmId !== null
  const expires = isVmToken ? Math.min(wanted, caller.expiresAtSeconds) : wanted
  const by = textOfMaker({
    organization: encodeId('organization', scope.organizationId),
    user: scope.userId === null ? '' : encodeId('user', scope.userId),
    vm: scope.vmId === null ? '' : encodeId('vm', scope.vmId),
    key: scope.keyId ?? '',
    program: program === undefined ? '' : encodeId('authorization', program.authorizationId),
  })
  const parameters = new URLSearchParams({
    path,
    ...(format === 'tar' ? { format } : {}),
    expires: String(expires),
    by,
  })
  parameters.set('signature', signatureOf(call.sealer, method, { vmId, path, format }, expires, by))
  return {
    url: `${call.config.publicUrl}/api/v1/vms/${vmId}/files?${parameters.toString()}`,
    method,
    expiresAt: timestamp(expires * 1000),
  }
}

/**
 * The caller that a signed URL stands for: who made it, with what they may do now.
 * @throws BerthError forbidden, the same for every URL that opens nothing.
 */
export async function callerOfUrl(
  { db, sealer }: { db: Db; sealer: Sealer },
  method: FileUrlMethod,
  address: FileAddress,
  given: Readonly<Record<(typeof signed)[number], string>>,
): Promise<Caller> {
  const expires = /^\d{1,12}$/.test(given.expires) ? Number(given.expires) : 0
  const expected = signatureOf(sealer, method, address, expires, given.by)
  if (!sameDigest(sha256(given.signature), sha256(expected)) || expires * 1000 <= nowMs()) throw notSigned()
  const caller = await makerNow(db, makerIn(given.by), expires)
  if (!caller) throw notSigned()
  return caller
}

/** The error for a URL that opens nothing: it does not say why, nor whether the VM exists. */
export function notSigned(): BerthError {
  return new BerthError('forbidden', 'This URL is not signed for this request, or is no longer valid. Get a new one.')
}

function signatureOf(
  sealer: Sealer,
  method: FileUrlMethod,
  { vmId, path, format }: FileAddress,
  expires: number,
  by: string,
): string {
  return sealer.derive(`vm file url\n${JSON.stringify([method, vmId, path, format, expires, by])}`)
}

function textOfMaker({ organization, user, vm, key, program }: Maker): string {
  return [organization, user, vm, key, program].join('.')
}

function makerIn(by: string): Maker {
  const [organization = '', user = '', vm = '', key = '', program = ''] = by.split('.') // no program in one of an older Berth
  return { organization, user, vm, key, program }
}

async function makerNow(db: Db, maker: Maker, expiresAtSeconds: number): Promise<Caller | undefined> {
  const organizationId = decodeId('organization', maker.organization)
  if (!organizationId) return undefined
  if (maker.key !== '') {
    const key = await findOne<Pick<Row<'api_keys'>, 'scopes'>>(
      db,
      sql`select k.scopes from api_keys k join organizations o on o.id = k.organization_id
      where k.key_id = ${maker.key} and k.organization_id = ${organizationId} and k.revoked_at is null and o.deactivated_at is null
        and (k.expires_at is null or k.expires_at > now())`,
    )
    return key && { kind: 'key', keyId: maker.key, organizationId, scopes: key.scopes }
  }
  return personNow(db, organizationId, maker, expiresAtSeconds)
}

async function personNow(
  db: Db,
  organizationId: string,
  maker: Maker,
  expiresAtSeconds: number,
): Promise<Caller | undefined> {
  const userId = decodeId('user', maker.user)
  const member =
    userId &&
    (await findOne<Pick<Row<'memberships', { role: Role }>, 'role'>>(
      db,
      sql`select m.role from memberships m join organizations o on o.id = m.organization_id
      where m.user_id = ${userId} and m.organization_id = ${organizationId} and m.deactivated_at is null and o.deactivated_at is null`,
    ))
  if (!userId || !member) return undefined
  const program = maker.program === '' ? null : await programNow(db, maker.program)
  if (program === undefined) return undefined
  const role = program === null ? member.role : roleWithin(member.role, program.scope)
  if (!isAtLeast(role, 'member')) return undefined
  return {
    kind: 'person',
    userId,
    organizationId,
    role,
    memberships: new Map([[organizationId, role]]),
    vmId: maker.vm === '' ? null : (decodeId('vm', maker.vm) ?? null),
    tokenId: 'file url',
    ...(program === null ? {} : { program }),
    expiresAtSeconds,
  }
}

/** @returns undefined when what lets the program in has ended. */
async function programNow(db: Db, publicId: string): Promise<PersonCaller['program']> {
  const authorizationId = decodeId('authorization', publicId)
  const scope = authorizationId === undefined ? null : await findOpenScope(db, authorizationId)
  return authorizationId === undefined || scope === null ? undefined : { authorizationId, scope }
}
