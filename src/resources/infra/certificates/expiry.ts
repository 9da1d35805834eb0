/** When certificates of domains end, for the metrics. Those of Berth's own authority are made anew whenever they are shown. */
import { certificateLimits } from '#src/platform/limits/certificates.ts'
import { findAll, getOne, sql, type Db } from '#src/platform/postgres.ts'
import type { CertificateStatus } from './rows.ts'

/** How certificates of domains stand. */
export type CertificateExpiry = {
  /** How long the first of them to end is still good, in seconds; negative when it has ended; null when there is none. */
  leftSeconds: number | null
  /** For how long the renewal of one has been due; 0 when none is. */
  renewalLateSeconds: number
}

/** Reads it, of certificates that an ACME authority issued, for domains whose DNS has not been found to lead elsewhere. */
export async function readCertificateExpiry(db: Db): Promise<CertificateExpiry> {
  const left = sql`(not_after - not_before) * ${certificateLimits.renewalPart}::float8`
  return getOne<CertificateExpiry>(
    db,
    sql`
    select extract(epoch from min(not_after) - now())::float8 as left_seconds,
      greatest(0, coalesce(extract(epoch from now() - min(not_after - ${left})), 0))::float8 as renewal_late_seconds
    from certificates where not_after is not null and not exists (
      select 1 from domains d where d.id = certificates.domain_id and (d.lost_at is not null or d.next_check_at is null))`,
  )
}

/** How many certificates there are of each status. */
export async function countCertificates(db: Db): Promise<{ label: CertificateStatus; count: number }[]> {
  return findAll(db, sql`select status as label, count(*) from certificates group by status`)
}
