/** Environments: where sessions work. Create, read, update, archive, delete. Their VMs are in environments/vms.ts. */
import { changesNothing } from '#src/platform/shapes/changes.ts'
import { allow, ownedByCaller, type Scope } from '#src/platform/access.ts'
import { checkCount } from '#src/platform/metrics/counts.ts'
import { BerthError } from '#src/platform/errors.ts'
import { newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { readsOf, unlessArchived, type ArchivedFilter } from '#src/platform/nouns.ts'
import { change, getOne, isSqlState, sql, sqlState, transaction, type Tx } from '#src/platform/postgres.ts'
import { hook } from '#src/platform/postgres/hooks.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Background, Call } from '#src/platform/services.ts'
import { readTemplate } from '#src/resources/infra/templates.ts'
import { readEnvironmentConfig, type EnvironmentConfig, type EnvironmentConfigInput } from './environments/configs.ts'
import {
  environmentArchived,
  environmentRows,
  lockEnvironmentRow,
  readEnvironment,
  type Environment,
} from './environments/rows.ts'
import { addEnvironmentEvent, inFlightTopic, moveEnvironment, notifyOfEnvironment } from './environments/states.ts'
import { applyNetworking, releaseVm } from './environments/vms.ts'
import {
  mergeMetadata,
  readDescription,
  readMetadata,
  readName,
  type MetadataInput,
} from '#src/platform/shapes/fields.ts'
import { checkStorage } from '#src/platform/metrics/rooms.ts'
import { hasTextOf, type Searched, type TextFilter } from '#src/platform/shapes/text-filters.ts'

/** An environment is about to be archived or deleted: its row is locked, and its VM is being deleted. */
export const environmentEnding = hook<[tx: Tx, environmentId: string]>('environment ending')

/** The fields of an environment as callers send them: absent means the default, or unchanged. */
export type EnvironmentFields = {
  name?: string | null
  description?: string | null
  config?: EnvironmentConfigInput | null
  metadata?: MetadataInput | null
  scope?: string | null
}

/** How environments are found. */
export const environmentSearch: Searched = {
  type: 'Environment',
  may: 'environments:read',
  table: 'environments',
  title: sql`name`,
  whose: (scope) => sql`${ownedByCaller(scope)} and archived_at is null and not ephemeral`,
}

/** How callers read environments; those of single runs are not listed. */
export const environmentReads = readsOf(environmentRows, {
  may: 'environments:read',
  whose: ownedByCaller,
  listed: (filter: ArchivedFilter & TextFilter) =>
    sql`not ephemeral and ${unlessArchived(filter)} and ${hasTextOf(environmentSearch, filter)}`,
})

/**
 * Creates an environment. Its VM is created at the first use.
 * @throws BerthError invalid_request, invalid_template, environment_name_taken.
 */
export async function createEnvironment(call: Call, fields: EnvironmentFields): Promise<Environment> {
  const scope = allow(call.caller, 'environments:write')
  await checkStorage(call, scope.organizationId, 'definitions')
  await call.limiter.spend(`environments:${scope.organizationId}`, limits.environmentsPerMinute)
  checkScope(fields)
  const config = readEnvironmentConfig(fields.config)
  const given = {
    name: readName(fields.name),
    description: readDescription(fields.description),
    metadata: readMetadata(fields.metadata),
  }
  return namesOnce(
    transaction(call.db, async (tx) => {
      await checkTemplate(tx, scope, config)
      return insertEnvironment(tx, scope, { ...given, config, ephemeral: false })
    }),
  )
}

/**
 * Creates the environment of a single run, which is not listed and is deleted with its session: see discardEnvironment.
 * @param given the config of its VM; the usual one without it.
 * @throws BerthError invalid_template.
 */
export async function createEphemeralEnvironment(
  tx: Tx,
  scope: Scope,
  given: EnvironmentConfig | null = null,
): Promise<Environment> {
  const config = given ?? readEnvironmentConfig({})
  await checkTemplate(tx, scope, config)
  return insertEnvironment(tx, scope, {
    name: `run-${newUuid()}`,
    description: null,
    metadata: {},
    config,
    ephemeral: true,
  })
}

/** Reads the configuration of such environments, for which Berth makes the VM. @throws BerthError invalid_request, invalid_template. */
export async function readEphemeralConfig(
  tx: Tx,
  scope: Scope,
  given: EnvironmentConfigInput,
): Promise<EnvironmentConfig> {
  const config = readEnvironmentConfig(given)
  await checkTemplate(tx, scope, config)
  return config
}

/**
 * Updates an environment. A new network policy and a new idle time take effect immediately, also in a running VM; the
 * rest of the config applies to the next VM, so that the state of the current one is not lost.
 * @throws BerthError not_found, resource_archived, environment_name_taken; as createEnvironment.
 */
export async function updateEnvironment(call: Call, publicId: string, fields: EnvironmentFields): Promise<Environment> {
  const scope = allow(call.caller, 'environments:write')
  await checkStorage(call, scope.organizationId, 'definitions')
  checkScope(fields)
  return namesOnce(
    environmentRows.locked(call.db, publicId, ownedByCaller(scope), async (tx, before) => {
      if (before.status === 'archived') throw environmentArchived()
      if (changesNothing(fields)) return before
      const config = readEnvironmentConfig(fields.config, before.config)
      await checkTemplate(tx, scope, config)
      const name = fields.name === undefined ? before.name : readName(fields.name)
      const description = fields.description === undefined ? before.description : readDescription(fields.description)
      const metadata = mergeMetadata(before.metadata, fields.metadata)
      if (config.type !== 'self_hosted') await applyNetworking(call, tx, before.vmId, config.networking)
      await notifyOfEnvironment(tx, before, 'environment.updated')
      return getOne<Environment>(
        tx,
        sql`
      update environments
      set name = ${name}, description = ${description}, config = ${JSON.stringify(config)},
        metadata = ${JSON.stringify(metadata)}, updated_at = now()
      where id = ${before.id}
      returning *`,
      )
    }),
  )
}

/**
 * Archives an environment and deletes its VM; its name becomes free. Repeating it changes nothing.
 * @throws BerthError not_found.
 */
export async function archiveEnvironment(call: Call, publicId: string): Promise<Environment> {
  const scope = allow(call.caller, 'environments:write')
  return environmentRows.locked(call.db, publicId, ownedByCaller(scope), async (tx, environment) => {
    if (environment.status === 'archived') return environment
    await releaseVm(call, tx, environment)
    await environmentEnding.run(tx, environment.id)
    const archived = await moveEnvironment(
      tx,
      environment.id,
      'archived',
      null,
      sql`updated_at = now(), archived_at = now(), vm_id = null, prepared_vm_id = null`,
    )
    if (!archived) throw new Error('an environment that is not archived could not be archived')
    return archived
  })
}

/** Deletes an environment and its VM. Always possible. @throws BerthError not_found. */
export async function deleteEnvironment(call: Call, publicId: string): Promise<void> {
  const scope = allow(call.caller, 'environments:write')
  await transaction(call.db, async (tx) => {
    await remove(call, tx, await readEnvironment(tx, scope, publicId, sql`for update`))
  })
}

/** Deletes the environment of a single run with the run's session; an environment that a user created stays. */
export async function discardEnvironment(services: Background, tx: Tx, id: string): Promise<void> {
  const environment = await lockEnvironmentRow(tx, id)
  if (environment?.ephemeral) await remove(services, tx, environment)
}

async function remove(services: Background, tx: Tx, environment: Environment): Promise<void> {
  await releaseVm(services, tx, environment)
  await environmentEnding.run(tx, environment.id)
  await change(tx, sql`delete from environments where id = ${environment.id}`)
  await notifyOfEnvironment(tx, environment, 'environment.deleted')
  publish(tx, 'environment', environment.id) // subscribers find it deleted
  publish(tx, inFlightTopic, environment.organizationId)
}

async function insertEnvironment(
  tx: Tx,
  { organizationId, userId }: Scope,
  given: Pick<Environment, 'name' | 'description' | 'metadata' | 'config' | 'ephemeral'>,
): Promise<Environment> {
  // Those of single runs are bounded by their sessions, which have one each.
  if (!given.ephemeral)
    await checkCount(tx, organizationId, {
      rows: sql`environments where organization_id = ${organizationId} and not ephemeral`,
      nouns: 'environments',
      most: limits.environmentsMax,
    })
  const environment = await getOne<Environment>(
    tx,
    sql`
    insert into environments (id, organization_id, owner_user_id, name, description, config, metadata, status, ephemeral, event_position)
    values (${newUuid()}, ${organizationId}, ${userId}, ${given.name}, ${given.description}, ${JSON.stringify(given.config)},
      ${JSON.stringify(given.metadata)}, 'ready', ${given.ephemeral}, 1)
    returning *`,
  )
  await addEnvironmentEvent(tx, environment)
  await notifyOfEnvironment(tx, environment, 'environment.created')
  return environment
}

async function checkTemplate(tx: Tx, scope: Scope, config: EnvironmentConfig): Promise<void> {
  if (config.type !== 'self_hosted') await readTemplate(tx, scope, config.template_id)
}

function checkScope({ scope }: EnvironmentFields): void {
  if (scope !== undefined && scope !== null && scope !== 'account')
    throw new BerthError(
      'invalid_request',
      'scope must be account: an environment belongs to one person and cannot be shared with the organization.',
    )
}

async function namesOnce<Result>(writing: Promise<Result>): Promise<Result> {
  try {
    return await writing
  } catch (error) {
    if (isSqlState(error, sqlState.uniqueViolation, 'environments_name'))
      throw new BerthError(
        'environment_name_taken',
        'You already have an environment with this name. Choose another name, or archive that one.',
      )
    throw error
  }
}
