/** A webhook endpoint of the owner's with a failed delivery for the callers to try to reach. */
import { decodeId, encodeId, newId, newUuid } from '#src/platform/ids.ts'
import { sql } from '#src/platform/postgres.ts'
import { sealSecret } from '#src/resources/infra/webhooks/rows.ts'
import type { Berth } from '../../support/berth.ts'

/** Public ids. */
export type WebhooksTarget = { webhook: string; webhookEvent: string; delivery: string }

/** Ids of the same kinds that nothing has. */
export const absentWebhooksTarget = (): WebhooksTarget => ({
  webhook: newId('webhookEndpoint'),
  webhookEvent: newId('webhookEvent'),
  delivery: newId('webhookDelivery'),
})
/** Texts that are no ids. */
export const malformedWebhooksTarget: WebhooksTarget = { webhook: 'whk_x', webhookEvent: 'event_x', delivery: 'whd_x' }

const leftMax = 8 // of earlier targets, so that there is room for what a test makes

/** Makes an endpoint that wants nothing but tests, and an event that it refused. */
export async function makeWebhooksTarget(
  { services: { db, sealer } }: Berth,
  organizationId: string,
  canary: string,
): Promise<WebhooksTarget> {
  const [endpointId, eventId, deliveryId] = [newUuid(), newUuid(), newUuid()]
  await sql`delete from webhook_endpoints where id in (select id from webhook_endpoints where organization_id = ${organizationId} order by id desc offset ${leftMax})`.execute(
    db,
  )
  await sql`
    insert into webhook_endpoints (id, organization_id, url, description, event_types, sealed_secret, last_problem, event_position)
    values (${endpointId}, ${organizationId}, ${`https://hooks.example/${canary}`}, ${canary}, '{webhook_endpoint.test}', ${sealSecret(sealer, endpointId, canary)}, ${canary}, 1)`.execute(
    db,
  )
  await sql`insert into webhook_events (id, organization_id, type, subject_id) values (${eventId}, ${organizationId}, 'vm.created', ${canary})`.execute(
    db,
  )
  await sql`
    insert into webhook_deliveries (id, organization_id, endpoint_id, event_id, status, tries, attempts, response_status, problem, finished_at)
    values (${deliveryId}, ${organizationId}, ${endpointId}, ${eventId}, 'failed', 1, 1, 410, ${canary}, now())`.execute(
    db,
  )
  await sql`
    insert into webhook_attempts (delivery_id, number, endpoint_id, position, status, started_at, duration_ms, response_status, problem, answer)
    values (${deliveryId}, 1, ${endpointId}, 1, 'failed', now(), 1, 410, ${canary}, ${canary})`.execute(db)
  return {
    webhook: encodeId('webhookEndpoint', endpointId),
    webhookEvent: encodeId('webhookEvent', eventId),
    delivery: encodeId('webhookDelivery', deliveryId),
  }
}

/** Everything stored of it, as text. */
export async function webhooksPicture({ services: { db } }: Berth, { webhook }: WebhooksTarget): Promise<string[]> {
  const id = decodeId('webhookEndpoint', webhook)
  const { rows } = await sql<{ row: string }>`
    select 'endpoint ' || e::text as row from webhook_endpoints e where id = ${id} union all select 'delivery ' || d::text from webhook_deliveries d where endpoint_id = ${id}
    union all select 'attempt ' || a::text from webhook_attempts a where endpoint_id = ${id} order by 1`.execute(db)
  return rows.map(({ row }) => row)
}
