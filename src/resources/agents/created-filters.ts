/** Filters of lists by creation time. */
import { sql, type RawBuilder } from 'kysely'

/** Bounds of `created_at`, as RFC 3339 text: after, from, before, until; those of `createdAt` and the others hold together. */
export type CreatedFilter = {
  createdAt?: { after?: Bound; from?: Bound; before?: Bound; until?: Bound } | null
  createdAfter?: Bound
  createdFrom?: Bound
  createdBefore?: Bound
  createdUntil?: Bound
}
type Bound = string | null | undefined

/** The condition on a row's `created_at`. Times are compared as callers see them: in whole milliseconds. */
export function createdWithin({
  createdAt,
  createdAfter = null,
  createdFrom = null,
  createdBefore = null,
  createdUntil = null,
}: CreatedFilter): RawBuilder<boolean> {
  const at = sql`date_trunc('milliseconds', created_at)`
  if (createdAt) {
    const { after, from, before, until } = createdAt
    const others = { createdAfter, createdFrom, createdBefore, createdUntil }
    const own = { createdAfter: after, createdFrom: from, createdBefore: before, createdUntil: until }
    return sql<boolean>`${createdWithin(own)} and ${createdWithin(others)}`
  }
  return sql<boolean>`(${createdAfter}::timestamptz is null or ${at} > ${createdAfter}) and (${createdFrom}::timestamptz is null or ${at} >= ${createdFrom})
    and (${createdBefore}::timestamptz is null or ${at} < ${createdBefore}) and (${createdUntil}::timestamptz is null or ${at} <= ${createdUntil})`
}
