/** An environment's row, and its queries. */
import { ownedByCaller, type Scope } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { rowsOf } from '#src/platform/nouns.ts'
import { findOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { EnvironmentConfig } from './configs.ts'
import type { Metadata } from '#src/platform/shapes/fields.ts'

/** Also `ready` before the first use, when there is no VM yet. */
export type EnvironmentStatus = 'provisioning' | 'ready' | 'error' | 'archived'

/** An environment as it is stored; times are RFC 3339 text, ids are uuids. */
export type Environment = Row<
  'environments',
  { config: EnvironmentConfig; metadata: Metadata; status: EnvironmentStatus }
>

/** What happened to an environment: positions grow by one and resume a subscription. */
export type EnvironmentEvent = Row<'environment_events', { status: EnvironmentStatus }>

/** Queries for environments. */
export const environmentRows = rowsOf<Environment>('environment', 'environments', 'environment')

/** The environment, whoever owns it: for workers. */
export async function findEnvironmentRow(db: Db, id: string): Promise<Environment | undefined> {
  return findOne<Environment>(db, sql`select * from environments where id = ${id}`)
}

/** The same, locked until the transaction ends. */
export async function lockEnvironmentRow(tx: Tx, id: string): Promise<Environment | undefined> {
  return findOne<Environment>(tx, sql`select * from environments where id = ${id} for no key update`)
}

/** Whether its sessions run their tools themselves, on a machine of the client's. */
export async function isSelfHosted(db: Db, id: string): Promise<boolean> {
  const row = await findOne<{ type: string }>(
    db,
    sql`select config ->> 'type' as type from environments where id = ${id}`,
  )
  return row?.type === 'self_hosted'
}

/** The caller's environment. @throws BerthError not_found. */
export async function readEnvironment(db: Db, scope: Scope, publicId: string, lock = sql``): Promise<Environment> {
  return environmentRows.read(db, publicId, ownedByCaller(scope), lock)
}

/** The 409 for changing or using an archived environment. */
export function environmentArchived(): BerthError {
  return new BerthError(
    'resource_archived',
    'This environment is archived, so it cannot be used or changed. Create another one.',
  )
}
