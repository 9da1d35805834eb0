/**
 * An organization's secrets for its builds: set by name, never shown again, passed to builds whose spec names them if
 * the submitter has the role that the secret requires. A build's commands can print what they are given.
 */
import { allow, owned } from '#src/platform/access.ts'
import { isAtLeast, type Role } from '#src/platform/access/permissions.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { change, findAll, getOne, sql, transaction, type Db } from '#src/platform/postgres.ts'
import type { Background, Call } from '#src/platform/services.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Build } from './rows.ts'
import { roleOfSubmitter } from './submitters.ts'
import { checkEnv } from '#src/platform/shapes/env.ts'

/** A secret as it is shown, without its value. */
export type BuildSecret = Pick<Row<'build_secrets', { leastRole: Role }>, 'name' | 'leastRole' | 'updatedAt'>

/** The organization's secrets, ordered by name, without their values. */
export async function listBuildSecrets(call: Call): Promise<BuildSecret[]> {
  const scope = allow(call.caller, 'builds:read')
  return findAll(
    call.db,
    sql`select name, least_role, updated_at from build_secrets where ${owned(scope)} order by name limit ${limits.buildSecretsMax}`,
  )
}

/**
 * Sets a secret.
 * @param leastRole the lowest role whose builds may use it: member, admin or owner; if absent it stays as it is, or is
 * admin for a new secret.
 * @throws BerthError invalid_env_key, invalid_env_value; invalid_request for another role, and when there are too many.
 */
export async function setBuildSecret(
  call: Call,
  name: string,
  value: string,
  leastRole?: Role | null,
): Promise<BuildSecret> {
  const scope = allow(call.caller, 'build-secrets:write')
  checkEnv({ [name]: value }, 'secret')
  if (value === '') throw new BerthError('invalid_env_value', 'A secret must have a value; delete it instead.')
  if (leastRole === 'viewer')
    throw new BerthError('invalid_request', 'leastRole must be member, admin or owner: viewers cannot submit builds.')
  const sealed = call.sealer.seal(value, placeOf(scope.organizationId, name))
  return transaction(call.db, async (tx) => {
    const secret = await getOne<BuildSecret>(
      tx,
      sql`
      insert into build_secrets as held (organization_id, name, sealed_value, least_role)
      values (${scope.organizationId}, ${name}, ${sealed}, ${leastRole ?? 'admin'})
      on conflict (organization_id, name) do update set sealed_value = excluded.sealed_value, updated_at = now(),
        least_role = coalesce(${leastRole ?? null}::text, held.least_role)
      returning name, least_role, updated_at`,
    )
    const { count } = await getOne<{ count: number }>(tx, sql`select count(*) from build_secrets where ${owned(scope)}`)
    if (count > limits.buildSecretsMax)
      throw new BerthError(
        'invalid_request',
        `An organization has at most ${limits.buildSecretsMax} build secrets. Delete one first.`,
      )
    return secret
  })
}

/** Deletes a secret. @throws BerthError not_found. */
export async function deleteBuildSecret(call: Call, name: string): Promise<void> {
  const scope = allow(call.caller, 'build-secrets:write')
  if (name.includes('\0')) throw notFound('build secret')
  if ((await change(call.db, sql`delete from build_secrets where ${owned(scope)} and name = ${name}`)) === 0)
    throw notFound('build secret')
}

/**
 * Checks that a build may use these secrets.
 * @param role the submitter's role; an API key counts as a member.
 * @throws BerthError invalid_spec for an unknown secret, not_permitted_for_role.
 */
export async function checkBuildSecrets(
  db: Db,
  organizationId: string,
  role: Role,
  names: readonly string[],
): Promise<void> {
  if (names.length === 0) return
  const known = await findAll<BuildSecret>(
    db,
    sql`select name, least_role from build_secrets where organization_id = ${organizationId} and name = any(${names}) order by name`,
  )
  const missing = names.find((name) => !known.some((one) => one.name === name))
  if (missing !== undefined)
    throw new BerthError(
      'invalid_spec',
      `spec.secrets names ${missing}, which the organization does not have. Set it with the mutation setBuildSecret.`,
    )
  refuseBeyond(role, known)
}

/**
 * The values of the named secrets, for a build that starts now; a deleted one is left out.
 * @throws BerthError not_permitted_for_role when the submitter may not, or no longer, use one of them.
 */
export async function openBuildSecrets(
  { db, sealer }: Pick<Background, 'db' | 'sealer'>,
  build: Pick<Build, 'organizationId' | 'createdBy' | 'submittedRole'>,
  names: readonly string[],
): Promise<Record<string, string>> {
  if (names.length === 0) return {}
  const { organizationId } = build
  const rows = await findAll<BuildSecret & { sealedValue: Buffer }>(
    db,
    sql`select name, least_role, sealed_value from build_secrets where organization_id = ${organizationId} and name = any(${names})`,
  )
  refuseBeyond(await roleOfSubmitter(db, build), rows)
  return Object.fromEntries(
    rows.map(({ name, sealedValue }) => [name, sealer.open(sealedValue, placeOf(organizationId, name))]),
  )
}

function refuseBeyond(role: Role | null, secrets: readonly Pick<BuildSecret, 'name' | 'leastRole'>[]): void {
  const closed = secrets.find(({ leastRole }) => role === null || !isAtLeast(role, leastRole))
  if (closed)
    throw new BerthError(
      'not_permitted_for_role',
      `The build secret ${closed.name} is for builds of ${closed.leastRole === 'owner' ? 'owners' : `${closed.leastRole}s and higher`}. Leave it out, or ask an admin to submit the build or to open the secret to your role.`,
    )
}

function placeOf(organizationId: string, name: string): string {
  return `build_secrets.value:${organizationId}:${name}`
}
