/** An organization's secrets for its builds: set by name, never shown again, given to builds whose spec names them. */
import { allow, owned } from '#src/platform/access.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { change, findAll, getOne, sql, transaction, type Db } from '#src/platform/postgres.ts'
import type { Background, Call } from '#src/platform/services.ts'
import { checkEnv } from './vm-env.ts'

/** A secret as far as it is shown. */
export type BuildSecret = { name: string; updatedAt: string }

/** The organization's secrets by name, without their values. */
export async function listBuildSecrets(call: Call): Promise<BuildSecret[]> {
  const scope = allow(call.caller, 'builds:read')
  return findAll(call.db, sql`select name, updated_at from build_secrets where ${owned(scope)} order by name limit ${limits.buildSecretsMax}`)
}

/** Sets a secret. @throws BerthError invalid_env_key, invalid_env_value; invalid_request when there are too many. */
export async function setBuildSecret(call: Call, name: string, value: string): Promise<BuildSecret> {
  const scope = allow(call.caller, 'build-secrets:write')
  checkEnv({ [name]: value }, 'secret')
  if (value === '') throw new BerthError('invalid_env_value', 'A secret must have a value; delete it instead.')
  const sealed = call.sealer.seal(value, placeOf(scope.organizationId, name))
  return transaction(call.db, async (tx) => {
    const secret = await getOne<BuildSecret>(tx, sql`
      insert into build_secrets (organization_id, name, sealed_value) values (${scope.organizationId}, ${name}, ${sealed})
      on conflict (organization_id, name) do update set sealed_value = excluded.sealed_value, updated_at = now() returning name, updated_at`)
    const { count } = await getOne<{ count: number }>(tx, sql`select count(*) from build_secrets where ${owned(scope)}`)
    if (count > limits.buildSecretsMax) throw new BerthError('invalid_request', `An organization has at most ${limits.buildSecretsMax} build secrets. Delete one first.`)
    return secret
  })
}

/** Deletes a secret. @throws BerthError not_found. */
export async function deleteBuildSecret(call: Call, name: string): Promise<void> {
  const scope = allow(call.caller, 'build-secrets:write')
  if (name.includes('\0')) throw notFound('build secret')
  if ((await change(call.db, sql`delete from build_secrets where ${owned(scope)} and name = ${name}`)) === 0) throw notFound('build secret')
}

/** Those of the names that the organization has not. */
export async function missingBuildSecrets(db: Db, organizationId: string, names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return []
  const known = await findAll<{ name: string }>(db, sql`select name from build_secrets where organization_id = ${organizationId} and name = any(${names})`)
  return names.filter((name) => !known.some((one) => one.name === name))
}

/** The values of the named secrets, for the build that runs now; one that was deleted meanwhile is left out. */
export async function openBuildSecrets({ db, sealer }: Pick<Background, 'db' | 'sealer'>, organizationId: string, names: readonly string[]): Promise<Record<string, string>> {
  const rows = await findAll<{ name: string; sealedValue: Buffer }>(db, sql`select name, sealed_value from build_secrets where organization_id = ${organizationId} and name = any(${names})`)
  return Object.fromEntries(rows.map(({ name, sealedValue }) => [name, sealer.open(sealedValue, placeOf(organizationId, name))]))
}

function placeOf(organizationId: string, name: string): string {
  return `build_secrets.value:${organizationId}:${name}`
}
