/** The rows of webhooks, and their queries. */
import { owned, type Scope } from '#src/platform/access.ts'
import { encodeId } from '#src/platform/ids.ts'
import { rowsOf } from '#src/platform/nouns.ts'
import { sql, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Sealer } from '#src/platform/secrets.ts'
import { states, type States } from '#src/platform/states.ts'
import type { WebhookEventType } from './event-types.ts'

/** Why an endpoint is disabled: by somebody; because it answered 410; because too many attempts in a row failed. */
export type DisabledReason = 'manual' | 'gone' | 'failures'

/** How far a delivery is. */
export type DeliveryStatus = 'pending' | 'succeeded' | 'failed'

/** An endpoint as it is stored; times are RFC 3339 text, ids are uuids. */
export type WebhookEndpoint = Row<
  'webhook_endpoints',
  { eventTypes: WebhookEventType[] | null; disabledReason: DisabledReason | null }
>

/** Something that happened, of which at least one endpoint is told. */
export type WebhookEvent = Row<'webhook_events', { type: WebhookEventType; details: Record<string, string> | null }>

/** The delivery of an event to an endpoint. */
export type WebhookDelivery = Row<'webhook_deliveries', { status: DeliveryStatus }>

/** One attempt of a delivery. `status`: the delivery's after it. `position`: a cursor of the endpoint's attempts. */
export type WebhookAttempt = Row<'webhook_attempts', { status: DeliveryStatus }>

/** Endpoints as they are found. */
export const endpointRows = rowsOf<WebhookEndpoint>('webhookEndpoint', 'webhook_endpoints', 'webhook endpoint')
/** Events as they are found. */
export const eventRows = rowsOf<WebhookEvent>('webhookEvent', 'webhook_events', 'webhook event')
/** Deliveries as they are found. */
export const deliveryRows = rowsOf<WebhookDelivery>('webhookDelivery', 'webhook_deliveries', 'webhook delivery')

/** The organization's endpoint, locked until the transaction ends. @throws BerthError not_found. */
export async function lockEndpoint(
  tx: Tx,
  scope: Scope,
  publicId: string,
  lock = sql`for no key update`,
): Promise<WebhookEndpoint> {
  return endpointRows.read(tx, publicId, owned(scope), lock)
}

/** Where each status may go: what waited for an endpoint that was disabled has failed, unless its request was under way. */
export const deliveryStates: States<DeliveryStatus> = states<DeliveryStatus>('webhook_deliveries', 'webhook delivery', {
  pending: ['succeeded', 'failed'],
  succeeded: ['pending'],
  failed: ['pending', 'succeeded'],
})

/** Seals the secret of an endpoint; the previous one stays where it is sealed, so both have the same place. */
export function sealSecret(sealer: Sealer, endpointId: string, secret: string): Buffer {
  return sealer.seal(secret, placeOf(endpointId))
}

/** Opens one. */
export function openSecret(sealer: Sealer, endpointId: string, sealed: Buffer): string {
  return sealer.open(sealed, placeOf(endpointId))
}

function placeOf(endpointId: string): string {
  return `webhook_endpoints.secret:${endpointId}`
}

/** The body of an event's request: what happened to what, and nothing of it. */
export function bodyOf({ id, organizationId, type, subjectId, details, createdAt }: WebhookEvent): string {
  const organization = encodeId('organization', organizationId)
  return JSON.stringify({
    type: 'event',
    id: encodeId('webhookEvent', id),
    created_at: createdAt,
    data: { type, id: subjectId, organization_id: organization, ...details },
  })
}
