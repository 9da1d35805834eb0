/** Filters of lists by creation time. */
import { sql, type RawBuilder } from 'kysely'

/** Bounds of `created_at`, as RFC 3339 text: after, from, before, until; those of `createdAt` and the others hold together. */
export type CreatedFilter = {
  createdAt?: Bounds | null
  createdAfter?: Bound
  createdFrom?: Bound
  createdBefore?: Bound
  createdUntil?: Bound
}
type Bound = string | null | undefined
type Bounds = { after?: Bound; from?: Bound; before?: Bound; until?: Bound }

/** The condition on a row's `created_at`. Times are compared as callers see them: in whole milliseconds. */
export function createdWithin(filter: CreatedFilter): RawBuilder<boolean> {
  const { createdAt, createdAfter: after, createdFrom: from, createdBefore: before, createdUntil: until } = filter
  const others = within({ after, from, before, until })
  return createdAt ? sql<boolean>`${within(createdAt)} and ${others}` : others
}

function within({ after = null, from = null, before = null, until = null }: Bounds): RawBuilder<boolean> {
  const at = sql`date_trunc('milliseconds', created_at)`
  return sql<boolean>`(${after}::timestamptz is null or ${at} > ${after}) and (${from}::timestamptz is null or ${at} >= ${from})
    and (${before}::timestamptz is null or ${at} < ${before}) and (${until}::timestamptz is null or ${at} <= ${until})`
}
