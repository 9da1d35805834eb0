/** How long programs, what they asked for, and what they were given stay. */
import type { Retention } from '#src/platform/jobs/upkeep.ts'
import { change, sql } from '#src/platform/postgres.ts'
import { isOpenAuthorization } from '../authorizations.ts'
import { authorizationLimits, clientLimits } from './limits.ts'

const { unusedDays, lifetimeDays, requestsKeptMinutes } = authorizationLimits
const { unusedDays: clientUnusedDays, usedDays } = clientLimits

/** How long they stay. */
export const authorizationRetention: readonly Retention[] = [
  {
    what: 'What programs asked for',
    until: `after ${requestsKeptMinutes} minutes`,
    forget: ({ db }) =>
      change(
        db,
        sql`delete from authorization_requests where created_at < now() - ${requestsKeptMinutes} * interval '1 minute'`,
      ),
  },
  {
    what: 'Tokens of programs',
    until: 'when they have expired',
    forget: ({ db }) => change(db, sql`delete from authorization_tokens where expires_at <= now()`),
  },
  {
    what: 'Programs that a person let in',
    until: `after ${lifetimeDays} days, ${unusedDays} days without use, or ${requestsKeptMinutes} minutes when they fetched no token`,
    forget: ({ db }) =>
      change(
        db,
        sql`
        delete from authorizations a where not (${isOpenAuthorization})
          or (created_at < now() - ${requestsKeptMinutes} * interval '1 minute'
            and not exists (select from authorization_tokens where authorization_id = a.id))`,
      ),
  },
  {
    what: 'Programs that registered themselves',
    until: `${clientUnusedDays} days later when nobody let them in, otherwise ${usedDays} days after somebody did, while they act for nobody`,
    forget: ({ db }) =>
      change(
        db,
        sql`
        delete from oauth_clients c where coalesce(used_at < now() - ${usedDays} * interval '1 day',
          created_at < now() - ${clientUnusedDays} * interval '1 day')
          and not exists (select from authorizations a where a.client_id = c.client_id)`,
      ),
  },
]
