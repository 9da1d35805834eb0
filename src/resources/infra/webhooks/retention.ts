/** How long events and deliveries are remembered. */
import { changeInBatches } from '#src/platform/jobs/batches.ts'
import type { Retention } from '#src/platform/jobs/upkeep.ts'
import { sql, type Db } from '#src/platform/postgres.ts'
import { webhookLimits } from './limits.ts'

/**
 * Deletes events with their deliveries that are old, and the oldest of organizations that have too many; none of which a
 * delivery is still under way. For housekeeping.
 */
export async function forgetWebhookEvents(db: Db): Promise<void> {
  const { keptDays, keptPerOrganization, sweptAtOnce } = webhookLimits
  const over = sql`not exists (select from webhook_deliveries d where d.event_id = v.id and d.status = 'pending')`
  await changeInBatches(
    db,
    sweptAtOnce,
    sql`
      delete from webhook_events where id in (
        select id from webhook_events v where created_at < now() - ${keptDays} * interval '1 day' and ${over} limit ${sweptAtOnce})`,
  )
  await changeInBatches(
    db,
    sweptAtOnce,
    sql`
      delete from webhook_events where id in (
        select v.id from (select distinct organization_id as id from webhook_endpoints) organization,
          lateral (select id from webhook_events where organization_id = organization.id order by id desc offset ${keptPerOrganization} limit 1) oldest,
          lateral (select id from webhook_events where organization_id = organization.id and id <= oldest.id) v
        where ${over} limit ${sweptAtOnce})`,
  )
}

/** How long events of webhooks stay. */
export const webhookRetention: readonly Retention[] = [
  {
    what: 'Events of webhooks with their deliveries',
    until: `after ${webhookLimits.keptDays} days, or when the organization has ${webhookLimits.keptPerOrganization} newer ones`,
    forget: ({ db }) => forgetWebhookEvents(db),
  },
]
