/** Months of spending, in UTC: budgets are monthly. */
import type { RawBuilder } from 'kysely'
import { timestamp } from '#src/platform/clock.ts'
import { sql } from '#src/platform/postgres.ts'

/** The UTC month of a time: its first day as text, and when it ends. */
export function monthOf(ms: number): { start: string; endsMs: number } {
  const start = `${timestamp(ms).slice(0, 7)}-01`
  const [year = 0, month = 0] = start.split('-').map(Number)
  return { start, endsMs: Date.UTC(year, month, 1) }
}

/**
 * What an organization, or one key of it, has spent since a day; nano-USD, as a subquery.
 * @param day such as 2026-04-01; null for all time.
 * @param organizationId like keyId, a column of the surrounding query.
 */
export function spentSince(
  day: string | null,
  organizationId: RawBuilder<unknown>,
  keyId?: RawBuilder<unknown>,
): RawBuilder<number> {
  return sql<number>`(
    select coalesce(sum(cost_nano_usd), 0) from inference_days d
    where d.organization_id = ${organizationId}
      ${day === null ? sql`` : sql`and d.day >= ${day}::date`} ${keyId ? sql`and d.payer = 'key:' || ${keyId}` : sql``})`
}
