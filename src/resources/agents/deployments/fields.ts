/** The fields of a deployment as callers send them. */
import type { Scope } from '#src/platform/access.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { readCron, type Cron } from '#src/platform/jobs/cron.ts'
import { isGiven } from '#src/platform/pages.ts'
import { sql, type Tx } from '#src/platform/postgres.ts'
import { z } from 'zod'
import { readShape } from '#src/platform/shapes/fields.ts'
import { input, oneOf } from '#src/platform/shapes/inputs.ts'
import { readEphemeralConfig } from '#src/resources/agents/environments.ts'
import { resolveEnvironment } from '#src/resources/agents/sessions/plans.ts'
import type { EnvironmentConfigInput } from '#src/resources/agents/environments/configs.ts'
import type { StartEnvironment } from '#src/resources/agents/starts.ts'
import { deploymentArchived, readDeployment, type Deployment } from './rows.ts'

const environment = oneOf({
  none: true,
  existing: input({ environment_id: z.string() }),
  ephemeral: input({ config: z.custom<EnvironmentConfigInput>().nullish() }),
})

/** Refuses resources, of which deployments have none. @throws BerthError invalid_request. */
export function refuseResources(given: readonly unknown[] | null | undefined): void {
  if (!given || given.length === 0) return
  throw new BerthError(
    'invalid_request',
    'resources must be empty: a deployment has none to mount. Clone a repository in the environment’s config, or send documents in the kickoff.',
  )
}

/** What says where sessions work: `environment`, or `environmentId`, as Anthropic's clients send it. */
export type EnvironmentGiven = { environment?: z.input<typeof environment> | null; environmentId?: string | null }

/**
 * Reads where sessions work. A new configuration is checked, and an environment must be there now.
 * @returns undefined when nothing is said.
 * @throws BerthError invalid_request, invalid_template, not_found, resource_archived.
 */
export async function readStartEnvironment(
  tx: Tx,
  scope: Scope,
  { environment: given, environmentId }: EnvironmentGiven,
): Promise<StartEnvironment | undefined> {
  if (isGiven(given) && isGiven(environmentId))
    throw new BerthError('invalid_request', 'Give either environment or environment_id, not both.')
  if (given === undefined && environmentId === undefined) return undefined
  if (!isGiven(given) && !isGiven(environmentId)) return { type: 'none' }
  const named = given ?? { existing: { environmentId: environmentId ?? '' } } // one of the two is given
  const read = readShape(environment, named, 'environment')
  if (read.type === 'none') return read
  if (read.type === 'ephemeral') return { type: 'ephemeral', config: await readOwnConfig(tx, scope, read.config) }
  const found = await resolveEnvironment(tx, scope, read.environment_id)
  if (!found) throw notFound('environment')
  return { type: 'existing', environmentId: found.id }
}

async function readOwnConfig(
  tx: Tx,
  scope: Scope,
  given: EnvironmentConfigInput | null | undefined,
): Promise<(StartEnvironment & { type: 'ephemeral' })['config']> {
  if (!isGiven(given)) return null
  const config = await readEphemeralConfig(tx, scope, given)
  if (config.type === 'self_hosted')
    throw new BerthError(
      'invalid_request',
      'environment.config.type must be vm or cloud: Berth makes a VM for each run. Name a self-hosted environment by its id.',
    )
  return config
}

/** A deployment as a request names it. */
export type StartDeploymentInput = { id: string }

/**
 * The caller's deployment that a request names, locked so that it cannot be deleted meanwhile.
 * @throws BerthError not_found, resource_archived.
 */
export async function readStartDeployment(tx: Tx, scope: Scope, { id }: StartDeploymentInput): Promise<Deployment> {
  const found = await readDeployment(tx, scope, id, sql`for key share`)
  if (found.archivedAt) throw deploymentArchived()
  return found
}

/** When a deployment starts by itself, as callers say it. */
export type DeploymentScheduleInput = { cron?: { expression: string; timezone: string } | null }

/**
 * Reads `schedule`.
 * @returns null when nothing is to start it by itself; undefined when nothing is said.
 * @throws BerthError invalid_cron, invalid_timezone.
 */
export function readDeploymentSchedule(given: DeploymentScheduleInput | null | undefined): Cron | null | undefined {
  return given?.cron ? readCron(given.cron.expression, given.cron.timezone) : given && null
}
