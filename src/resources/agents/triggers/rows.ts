/** Triggers, what was delivered for them, and their fires: the rows, and their queries. */
import { ownedByCaller, type Scope } from '#src/platform/access.ts'
import { rowsOf } from '#src/platform/nouns.ts'
import { findOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Routed, Sender } from './payloads.ts'

/** Which events of its kinds a trigger is for. A list that is null narrows nothing. */
export type TriggerFilters = {
  branches: string[] | null
  paths: string[] | null
  labels: string[] | null
  comment_prefix: string | null
  allow_forks: boolean
  allow_bots: boolean
  author_associations: AuthorAssociation[]
}

/** What somebody is to a repository, in GitHub's words. */
export const authorAssociations = [
  'OWNER',
  'MEMBER',
  'COLLABORATOR',
  'CONTRIBUTOR',
  'FIRST_TIME_CONTRIBUTOR',
  'FIRST_TIMER',
  'MANNEQUIN',
  'NONE',
] as const
/** One of these words. */
export type AuthorAssociation = (typeof authorAssociations)[number]

/** Why an event did not start a session, in the order in which they are looked at. */
export type SkipReason =
  | 'trigger_disabled'
  | 'deployment_paused'
  | 'ref_deleted'
  | 'filter_mismatch'
  | 'fork_pull_request'
  | 'untrusted_author'
  | 'bot_sender'
  | 'self_caused'
  | 'rate_limited'

/** What becomes of a fire. */
export type FireStatus = 'pending' | 'started' | 'skipped' | 'failed'
/** Why a fire failed. */
export type FireError = { type: string; message: string }
/** The notice that a fire of a trigger was decided, or the trigger deleted; the id is the trigger's. */
export const triggerTopic = 'trigger'

/** A trigger as it is stored; times are RFC 3339 text, ids are uuids. */
export type Trigger = Row<'triggers', { events: string[]; filters: TriggerFilters; repositoryId: number | null }>
/** A fire as it is stored. */
export type TriggerFire = Row<
  'trigger_fires',
  {
    status: FireStatus
    skipReason: SkipReason | null
    error: FireError | null
    sender: Sender | null
    position: number | null
  }
>
/** What was delivered, without the payload. */
export type Delivery = Omit<Row<'trigger_deliveries', { routed: Routed }>, 'payload'>

/** Queries for triggers. */
export const triggerRows = rowsOf<Trigger>('trigger', 'triggers', 'trigger')
/** Queries for fires. */
export const fireRows = rowsOf<TriggerFire>('triggerFire', 'trigger_fires', 'fire')

/** The condition for fires of triggers that are the caller's. */
export function ofOwnTriggers(scope: Scope): ReturnType<typeof sql> {
  return sql`trigger_id in (select id from triggers where ${ownedByCaller(scope)})`
}

/** The trigger of this stored id, whoever's it is: for Berth itself. */
export async function findTriggerRow(db: Db, id: string): Promise<Trigger | undefined> {
  return findOne(db, sql`select * from triggers where id = ${id}`)
}

/** The fire of this stored id, whoever's it is. */
export async function findFireRow(db: Db, id: string): Promise<TriggerFire | undefined> {
  return findOne(db, sql`select * from trigger_fires where id = ${id}`)
}

/** The trigger and its fire, locked until the transaction ends, if the fire is not decided yet. */
export async function lockPending(
  tx: Tx,
  fireId: string,
): Promise<{ trigger: Trigger; fire: TriggerFire } | undefined> {
  const trigger = await findOne<Trigger>(
    tx,
    sql`select t.* from triggers t join trigger_fires f on f.trigger_id = t.id where f.id = ${fireId} for no key update of t`,
  )
  const fire =
    trigger &&
    (await findOne<TriggerFire>(
      tx,
      sql`select * from trigger_fires where id = ${fireId} and status = 'pending' for no key update`,
    ))
  return fire && { trigger, fire }
}

/** What was delivered for a fire. */
export async function findDelivery(db: Db, { deliveryRowId }: Pick<TriggerFire, 'deliveryRowId'>): Promise<Delivery> {
  const found = await findOne<Delivery>(
    db,
    sql`select id, organization_id, delivery, event, action, routed, received_at from trigger_deliveries where id = ${deliveryRowId}`,
  )
  if (!found) throw new Error('a fire has no delivery')
  return found
}
