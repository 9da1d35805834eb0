/** How many requests of `POST /sql` a database may have at once, so that slow ones of one database leave room for all others. */
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import type { Admission } from '../postgres/directory.ts'
import { roomOf } from '../postgres/shares.ts'

/** The requests that are being answered. */
export type SqlRequests = {
  /** Adds one, until what this answers is called. @throws BerthError rate_limited */
  enter(admission: Pick<Admission, 'databaseId' | 'kind'>): () => void
}

/** Starts without any. */
export function countRequests(): SqlRequests {
  const counts = new Map<string, number>()
  return {
    enter({ databaseId, kind }) {
      const count = counts.get(databaseId) ?? 0
      if (count >= roomOf(kind, limits.sqlRequestsPerDatabase))
        throw new BerthError(
          'rate_limited',
          'Too many statements are sent to this database at once. Wait for some of them, or use the Postgres port.',
          { retryAfterSeconds: 1 },
        )
      counts.set(databaseId, count + 1)
      return () => {
        const left = (counts.get(databaseId) ?? 1) - 1
        if (left > 0) counts.set(databaseId, left)
        else counts.delete(databaseId)
      }
    },
  }
}
