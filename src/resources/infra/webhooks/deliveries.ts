/** The log of webhooks: events, their deliveries and attempts; replays and tests. */
import { allow, allowAnywhere, owned } from '#src/platform/access.ts'
import { momentAt, nowMs } from '#src/platform/clock.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import type { Direction, Page, PagesOf, PageWindow } from '#src/platform/pages.ts'
import { findAll, getOne, sql, transaction } from '#src/platform/postgres.ts'
import { publish } from '#src/platform/pubsub.ts'
import type { Call } from '#src/platform/services.ts'
import { transition } from '#src/platform/states.ts'
import { followRows } from '#src/platform/streams/row-events.ts'
import { emitToEndpoint, webhooksTopic } from './emit.ts'
import { webhookLimits } from './limits.ts'
import { attemptsTopic } from './queue.ts'
import {
  deliveryRows,
  deliveryStates,
  endpointRows,
  eventRows,
  lockEndpoint,
  type DeliveryStatus,
  type WebhookAttempt,
  type WebhookDelivery,
  type WebhookEvent,
} from './rows.ts'

/** Which deliveries a list shows. */
export type DeliveryFilter = { statuses?: readonly DeliveryStatus[] | null }

/** The event of this id. @throws BerthError not_found. */
export async function getWebhookEvent(call: Call, publicId: string): Promise<WebhookEvent> {
  return eventRows.read(call.db, publicId, owned(allow(call.caller, 'webhooks:read')))
}

/** The events of these stored ids that are the caller's organizations'. */
export async function findWebhookEvents(call: Call, ids: readonly string[]): Promise<WebhookEvent[]> {
  return eventRows.find(call.db, ids, owned(allowAnywhere(call.caller, 'webhooks:read')))
}

/** The organization's events of which an endpoint was told, newest first. @throws BerthError invalid_request. */
export async function pageWebhookEvents(
  call: Call,
  window: PageWindow,
  direction?: Direction,
): Promise<Page<WebhookEvent>> {
  return eventRows.page(call.db, window, owned(allow(call.caller, 'webhooks:read')), direction)
}

/** The delivery of this id. @throws BerthError not_found. */
export async function getWebhookDelivery(call: Call, publicId: string): Promise<WebhookDelivery> {
  return deliveryRows.read(call.db, publicId, owned(allow(call.caller, 'webhooks:read')))
}

/** The deliveries of these stored ids that are the caller's organizations'. */
export async function findWebhookDeliveries(call: Call, ids: readonly string[]): Promise<WebhookDelivery[]> {
  return deliveryRows.find(call.db, ids, owned(allowAnywhere(call.caller, 'webhooks:read')))
}

const parents = {
  endpoint: { table: sql`webhook_endpoints`, column: sql`endpoint_id`, name: 'webhook endpoint' },
  event: { table: sql`webhook_events`, column: sql`event_id`, name: 'webhook event' },
}

/** The deliveries to each endpoint, or of each event, of these stored ids, newest first. @throws BerthError invalid_request. */
export async function pageDeliveriesOfEach(
  call: Call,
  parent: keyof typeof parents,
  ids: readonly string[],
  window: PageWindow,
  { statuses = null, direction }: DeliveryFilter & { direction?: Direction | undefined },
): Promise<PagesOf<WebhookDelivery>> {
  const reach = allowAnywhere(call.caller, 'webhooks:read')
  const { table, column, name } = parents[parent]
  return deliveryRows.pageOfEach(call.db, window, {
    parents: sql`select id from ${table} where id = any(${ids}::uuid[]) and ${owned(reach)}`,
    parentName: name,
    chosen: sql`${column} = parent.id and (${statuses}::text[] is null or status = any(${statuses}::text[]))`,
    direction,
  })
}

/** The attempts of each of these deliveries, by stored ids, oldest first. */
export async function attemptsOf(
  call: Call,
  deliveryIds: readonly string[],
): Promise<ReadonlyMap<string, WebhookAttempt[]>> {
  const reach = allowAnywhere(call.caller, 'webhooks:read')
  const attempts = await findAll<WebhookAttempt>(
    call.db,
    sql`
    select * from webhook_attempts where delivery_id in (select id from webhook_deliveries where id = any(${deliveryIds}::uuid[]) and ${owned(reach)})
    order by delivery_id, number`,
  )
  return Map.groupBy(attempts, ({ deliveryId }) => deliveryId)
}

/**
 * Delivers an event again, with the id and content that it had, and with all attempts anew.
 * @throws BerthError not_found, also when the event is forgotten; invalid_transition while it is being delivered, or its
 * endpoint is disabled; rate_limited.
 */
export async function replayWebhookDelivery(call: Call, publicId: string): Promise<WebhookDelivery> {
  const scope = allow(call.caller, 'webhooks:write')
  await call.limiter.spend(`webhook-replays:${scope.organizationId}`, webhookLimits.replaysPerMinute)
  const { endpointId } = await deliveryRows.read(call.db, publicId, owned(scope))
  return transaction(call.db, async (tx) => {
    const endpoint = await lockEndpoint(tx, scope, encodeId('webhookEndpoint', endpointId)) // before its deliveries, as everywhere
    const before = await deliveryRows.read(tx, publicId, owned(scope), sql`for no key update`)
    if (before.status === 'pending')
      throw new BerthError('invalid_transition', 'This delivery is not over yet: its next attempt is made by itself.')
    if (nowMs() - momentAt(before.createdAt).getTime() > webhookLimits.keptDays * 86_400_000)
      throw new BerthError(
        'invalid_transition',
        `This delivery is older than ${webhookLimits.keptDays} days, so it cannot be replayed.`,
      )
    checkEnabled(endpoint)
    publish(tx, webhooksTopic, endpoint.id)
    const again = await transition<WebhookDelivery, DeliveryStatus>(
      tx,
      deliveryStates,
      before.id,
      'pending',
      sql`tries = 0, claim = claim + 1, claimed_until = null, next_attempt_at = now(), finished_at = null, replayed_at = now()`,
    )
    if (!again) throw new Error('a delivery that is locked could not be replayed')
    return again
  })
}

/**
 * Sends an endpoint a test, whatever event types it wants.
 * @throws BerthError not_found; invalid_transition for one that is disabled; rate_limited.
 */
export async function sendTestWebhookEvent(call: Call, publicId: string): Promise<WebhookDelivery> {
  const scope = allow(call.caller, 'webhooks:write')
  await call.limiter.spend(`webhook-tests:${scope.organizationId}`, webhookLimits.testsPerMinute)
  return transaction(call.db, async (tx) => {
    const endpoint = await lockEndpoint(tx, scope, publicId)
    checkEnabled(endpoint)
    const id = encodeId('webhookEndpoint', endpoint.id)
    const made = await emitToEndpoint(tx, endpoint, { type: 'webhook_endpoint.test', id })
    return getOne<WebhookDelivery>(tx, sql`select * from webhook_deliveries where id = ${made}`)
  })
}

function checkEnabled({ enabled }: { enabled: boolean }): void {
  if (!enabled)
    throw new BerthError('invalid_transition', 'This endpoint is disabled. Enable it with updateWebhookEndpoint first.')
}

/**
 * The attempts to deliver to an endpoint after the cursor (without a cursor, those from now on), as they are made; ends when
 * it is deleted.
 * @throws BerthError not_found; invalid_request for a text that is not a cursor. All before the first.
 */
export async function followAttempts(
  call: Call & { signal?: AbortSignal },
  publicId: string,
  after: string | null | undefined,
): Promise<AsyncIterableIterator<WebhookAttempt>> {
  const scope = allow(call.caller, 'webhooks:read')
  const endpoint = await endpointRows.read(call.db, publicId, owned(scope))
  return followRows<WebhookAttempt>(call, endpoint.id, after, {
    topic: attemptsTopic,
    rows: sql`webhook_attempts where endpoint_id = ${endpoint.id}`,
    owner: sql`webhook_endpoints where id = ${endpoint.id}`,
    position: endpoint.eventPosition,
  })
}
