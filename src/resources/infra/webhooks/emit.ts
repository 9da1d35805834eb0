/**
 * Notifies webhook endpoints of what happened. It is called where a state moves, in that transaction: event and deliveries
 * are there if and only if the change is.
 */
import type { RawBuilder } from 'kysely'
import { encodeId, newUuid, type IdKind } from '#src/platform/ids.ts'
import { change, findAll, findOne, sql, type Tx } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { WebhookEventType } from './event-types.ts'
import { webhookLimits } from './limits.ts'

/** The notice that something is to be delivered; the id is the endpoint's. */
export const webhooksTopic = 'webhook'

/**
 * What happened.
 * @property id the public id of what it happened to.
 * @property details further ids that are needed to find it. Never put anything else here: payloads have no content.
 */
export type Happening = {
  type: WebhookEventType
  id: string
  details?: Readonly<Record<string, string>>
}

/** Notifies the organization's endpoints that want this. */
export async function emitWebhookEvent(tx: Tx, organizationId: string, happening: Happening): Promise<void> {
  await emitWebhookEvents(tx, organizationId, [happening])
}

/**
 * The same for what happened together, in an organization that may be an expression. Without an endpoint, this is one look
 * by an index and writes nothing: the statement that writes takes several times as long, even where it finds none.
 * Endpoints are locked against deletion only, so that none of two changes waits for the other.
 */
export async function emitWebhookEvents(
  tx: Tx,
  organizationId: string | RawBuilder<unknown>,
  happenings: readonly Happening[],
): Promise<void> {
  if (happenings.length === 0) return
  const types = happenings.map(({ type }) => type)
  const chosen = sql`organization_id = ${organizationId} and enabled and (event_types is null or event_types && ${types}::text[])`
  if (!(await findOne(tx, sql`select 1 from webhook_endpoints where ${chosen} limit 1`))) return
  const details = happenings.map((one) => (one.details ? JSON.stringify(one.details) : null))
  const made = await findAll<{ endpointId: string }>(
    tx,
    sql`
    with wanting as materialized (
      select id, organization_id, event_types,
        (select count(*)
        from (select from webhook_deliveries waiting where waiting.endpoint_id = e.id and waiting.status = 'pending'
        limit ${webhookLimits.pendingMax}) counted) < ${webhookLimits.pendingMax} as has_room
      from webhook_endpoints e where ${chosen} for key share),
    matched as materialized (
      select happened.*, organization_id, wanting.id as endpoint_id, has_room from wanting, unnest(${happenings.map(() => newUuid())}::uuid[], ${types}::text[],
        ${happenings.map(({ id }) => id)}::text[], ${details}::text[]) as happened (event_id, type, subject_id, details)
      where event_types is null or type = any(event_types)),
    events as (
      insert into webhook_events (id, organization_id, type, subject_id, details)
      select distinct event_id, organization_id, type, subject_id, details::jsonb from matched)
    insert into webhook_deliveries (id, organization_id, endpoint_id, event_id, status, next_attempt_at, problem, finished_at)
    select ${deliveryId(sql`event_id`)}, organization_id, endpoint_id, event_id,
      case when has_room then 'pending' else 'failed' end, case when has_room then now() end,
      case when not has_room then ${fullSentence} end, case when not has_room then now() end
    from matched returning endpoint_id`,
  )
  for (const endpointId of new Set(made.map((one) => one.endpointId))) publish(tx, webhooksTopic, endpointId)
}

/** Which statuses endpoints are notified of, and as what. */
export type NotifiedStatuses<Status extends string> = Readonly<Partial<Record<Status, WebhookEventType>>>

/** Notifies of the status that something has come to, if endpoints are notified of that one. */
export async function emitStatus<Status extends string>(
  tx: Tx,
  notified: NotifiedStatuses<Status>,
  kind: IdKind,
  { id, organizationId, status }: { id: string; organizationId: string; status: Status },
): Promise<void> {
  const type = notified[status]
  if (type) await emitWebhookEvent(tx, organizationId, { type, id: encodeId(kind, id) })
}

/** Adds an event for one endpoint only, whatever that wants. @returns the delivery's stored id. */
export async function emitToEndpoint(
  tx: Tx,
  endpoint: { id: string; organizationId: string },
  { type, id }: Happening,
): Promise<string> {
  const [eventId, made, { organizationId }] = [newUuid(), newUuid(), endpoint]
  await change(
    tx,
    sql`insert into webhook_events (id, organization_id, type, subject_id) values (${eventId}, ${organizationId}, ${type}, ${id})`,
  )
  await change(
    tx,
    sql`
    insert into webhook_deliveries (id, organization_id, endpoint_id, event_id, status, next_attempt_at)
    values (${made}, ${organizationId}, ${endpoint.id}, ${eventId}, 'pending', now())`,
  )
  publish(tx, webhooksTopic, endpoint.id)
  return made
}

const fullSentence = `${webhookLimits.pendingMax} deliveries were waiting for this endpoint already. Replay it once they are done.`

/** A UUIDv7 of the same moment as this one: Postgres makes only random ones. */
function deliveryId(ofEvent: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(left(${ofEvent}::text, 15) || substr(gen_random_uuid()::text, 16))::uuid`
}
