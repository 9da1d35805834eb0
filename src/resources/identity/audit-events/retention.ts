/** How long audit events stay. */
import type { Retention } from '#src/platform/jobs/upkeep.ts'
import { changeInBatches } from '#src/platform/jobs/batches.ts'
import { sql, type Db } from '#src/platform/postgres.ts'
import { auditLimits } from './limits.ts'

/** Deletes those that are older. */
export async function forgetAuditEvents(db: Db, days: number): Promise<void> {
  const { forgottenAtOnce } = auditLimits
  await changeInBatches(
    db,
    forgottenAtOnce,
    sql`
    delete from audit_events where id in (
      select id from (select id, created_at from audit_events order by id limit ${forgottenAtOnce}) oldest
      where created_at < now() - ${days} * interval '1 day')`,
  )
}

/** How long audit events stay. */
export const auditRetention: readonly Retention[] = [
  {
    what: 'Audit events',
    until: 'after `BERTH_AUDIT_DAYS`, 400 days without it',
    forget: ({ db, config }) => forgetAuditEvents(db, config.auditDays),
  },
]
