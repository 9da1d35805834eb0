/** Certificates as they are stored, and how they are read. */
import { certificateLimits } from '#src/platform/limits/certificates.ts'
import { job } from '#src/platform/jobs.ts'
import { findAll, findOne, sql, type Db } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'

/**
 * `pending`: there is none yet. `issued`: there is one, and `reason` says when it could not be renewed. `failed`: there is
 * none, or it has ended; it is tried again.
 */
export type CertificateStatus = 'pending' | 'issued' | 'failed'

/** What an authority asks for as proof, and what the edge answers: nothing of it is secret. */
export type Challenge = { type: 'http-01' | 'tls-alpn-01' | 'dns-01'; token: string; answer: string }

/** A certificate as it is stored. */
export type Certificate = Row<'certificates', { status: CertificateStatus; challenges: readonly Challenge[] }>

/** The topic of notices about certificates; the id is the certificate's. */
export const certificatesTopic = 'certificate'

/** The `issuer` of certificates that the node's own authority signs. */
export const ownIssuer = 'own'

/** Obtains a certificate. */
export const obtainCertificate = job<{ certificateId: string }>('certificates.obtain', {
  retryLimit: 2,
  expireInSeconds: certificateLimits.attemptSeconds + 60,
})

/** Where a certificate's key is sealed. */
export const keyPlace = ({ id }: Pick<Certificate, 'id'>): string => `certificates.key:${id}`

/** The certificate of this stored id, if there is one. */
export async function findCertificateRow(db: Db, id: string): Promise<Certificate | undefined> {
  return findOne<Certificate>(db, sql`select * from certificates where id = ${id}`)
}

/** The certificates of these stored ids that are there. */
export async function findCertificateRows(db: Db, ids: readonly string[]): Promise<Certificate[]> {
  return findAll<Certificate>(db, sql`select * from certificates where id = any(${ids}::uuid[])`)
}

/** All certificates after this id, in the order of their ids, a page at a time; an empty page is the end. */
export async function findCertificatesAfter(db: Db, afterId: string | null): Promise<Certificate[]> {
  return findAll<Certificate>(
    db,
    sql`select * from certificates where ${afterId}::uuid is null or id > ${afterId} order by id limit ${certificateLimits.pageRows}`,
  )
}

/** The certificates of this host name, of whichever organization. */
export async function findCertificatesOfHost(db: Db, host: string): Promise<Certificate[]> {
  return findAll<Certificate>(
    db,
    sql`select * from certificates where host = ${host} order by id limit ${certificateLimits.pageRows}`,
  )
}

/** The certificates that this domain ordered. */
export async function findCertificatesOfDomain(db: Db, domainId: string): Promise<Certificate[]> {
  return findAll<Certificate>(
    db,
    sql`select * from certificates where domain_id = ${domainId} order by id limit ${certificateLimits.pageRows}`,
  )
}
