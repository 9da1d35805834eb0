/** Filters of lists by creation time. */
import { sql, type RawBuilder } from 'kysely'

/** Bounds of `created_at`, as RFC 3339 text: after, from, before, until. */
export type CreatedFilter = {
  createdAfter?: string | null
  createdFrom?: string | null
  createdBefore?: string | null
  createdUntil?: string | null
}

/** The condition on a row's `created_at`. Times are compared as callers see them: in whole milliseconds. */
export function createdWithin({
  createdAfter = null,
  createdFrom = null,
  createdBefore = null,
  createdUntil = null,
}: CreatedFilter): RawBuilder<boolean> {
  const at = sql`date_trunc('milliseconds', created_at)`
  return sql<boolean>`(${createdAfter}::timestamptz is null or ${at} > ${createdAfter}) and (${createdFrom}::timestamptz is null or ${at} >= ${createdFrom})
    and (${createdBefore}::timestamptz is null or ${at} < ${createdBefore}) and (${createdUntil}::timestamptz is null or ${at} <= ${createdUntil})`
}
