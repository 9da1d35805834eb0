/** How long the events of organizations stay. */
import type { Retention } from '#src/platform/jobs/upkeep.ts'
import { changeInBatches } from '#src/platform/jobs/batches.ts'
import { change, sql, type Db } from '#src/platform/postgres.ts'
import { organizationEventLimits } from './limits.ts'
import { next } from './positions.ts'

const forgottenAtOnce = 5_000

/** Deletes old ones, and those of a database from which this one was restored, whose numbers are another server's. */
export async function forgetOrganizationEvents(db: Db): Promise<void> {
  const { keptHours } = organizationEventLimits
  await changeInBatches(
    db,
    forgottenAtOnce,
    sql`
    delete from organization_events where (transaction, id) in (
      select transaction, id from (select * from organization_events order by transaction, id limit ${forgottenAtOnce}) oldest
      where created_at < now() - ${keptHours} * interval '1 hour')`,
  )
  await change(db, sql`delete from organization_events where transaction > ${next}`)
}

/** How long the events of organizations stay. */
export const organizationEventRetention: readonly Retention[] = [
  {
    what: 'Events of organizations, for `organizationEvents`',
    until: `after ${organizationEventLimits.keptHours} hours`,
    forget: ({ db }) => forgetOrganizationEvents(db),
  },
]
