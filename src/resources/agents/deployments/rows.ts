/** Deployments' rows and the records of their runs, and their queries. Only its owner finds a deployment. */
import type { RawBuilder } from 'kysely'
import { ownedByCaller, type Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { rowsOf } from '#src/platform/nouns.ts'
import { findOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Metadata } from '#src/platform/shapes/fields.ts'
import type { EnvironmentConfig } from '#src/resources/agents/environments/configs.ts'
import type { Kickoff } from '#src/resources/agents/kickoffs.ts'
import type { StartEnvironment } from '#src/resources/agents/starts.ts'
import type { StartError, StartErrorType } from '#src/resources/agents/starts/errors.ts'

/** Archived ones are `active`, as in Anthropic's API. */
export type DeploymentStatus = 'active' | 'paused'

/** Why nothing starts by itself, in the words of Anthropic's API. */
export type PausedReason = { type: 'manual' } | { type: 'error'; error: { type: PausingErrorType } }

/** The errors that pause: a rejection is `unknown_error` there, and limits never pause. */
export type PausingErrorType = Exclude<StartErrorType, 'session_rate_limited_error' | 'session_creation_rejected_error'>

/** A deployment as it is stored; times are RFC 3339 text, ids are uuids, money is in nano-dollars. Version null: the newest. */
export type Deployment = Row<
  'deployments',
  {
    environmentType: StartEnvironment['type']
    environmentConfig: EnvironmentConfig | null
    kickoff: Kickoff
    metadata: Metadata
    status: DeploymentStatus
    pausedReason: PausedReason | null
  }
>

/** What started a run; keys as on the wire, ids public. */
export type RunTrigger =
  | { type: 'manual' }
  | { type: 'schedule'; scheduled_at: string; schedule_id: string }
  | { type: 'trigger'; trigger_id: string; delivery_id: string }

/** The record of a run: the session that started, or why none did. Positions grow by one and resume a subscription. */
export type DeploymentRun = Row<'deployment_runs', { error: StartError | null; trigger: RunTrigger }>

/** Queries for deployments. */
export const deploymentRows = rowsOf<Deployment>('deployment', 'deployments', 'deployment', sql`*`, ['kickoff'])
/** Queries for the records of runs. */
export const deploymentRunRows = rowsOf<DeploymentRun>('deploymentRun', 'deployment_runs', 'deployment run')

/** The caller's deployment. @param lock such as `for key share`. @throws BerthError not_found. */
export async function readDeployment(
  db: Db,
  scope: Scope,
  publicId: string,
  lock: RawBuilder<unknown> = sql``,
): Promise<Deployment> {
  return deploymentRows.read(db, publicId, ownedByCaller(scope), lock)
}

/** The deployment, whoever owns it: for workers. */
export async function findDeploymentRow(db: Db, id: string): Promise<Deployment | undefined> {
  return findOne<Deployment>(db, sql`select * from deployments where id = ${id}`)
}

/** The 409 for changing or using an archived deployment. */
export function deploymentArchived(): BerthError {
  return new BerthError(
    'resource_archived',
    'This deployment is archived, so it cannot be used or changed. Create another one.',
  )
}

/** Where the sessions of a deployment work. */
export function environmentOf({
  environmentType: type,
  environmentId,
  environmentConfig: config,
}: Pick<Deployment, 'environmentType' | 'environmentId' | 'environmentConfig'>): StartEnvironment {
  if (type === 'existing') return { type, environmentId: environmentId ?? '' } // the table has one for these
  return type === 'none' ? { type } : { type, config }
}

/** Whether schedules and triggers start nothing of a deployment, where there is one. */
export function startsNothing(deployment: Pick<Deployment, 'status' | 'archivedAt'> | undefined): boolean {
  return deployment !== undefined && (deployment.status === 'paused' || deployment.archivedAt !== null)
}

/** The same in SQL, of a deployment `d`. */
export const startsNothingSql = sql`(d.status = 'paused' or d.archived_at is not null)`
