/**
 * Obtains certificates from the ACME authority. One worker at a time has a certificate, by a claim with a short lease; the
 * order at the authority is in the row, so that after a worker's death another goes on with it.
 */
import { openAcme, newKey, registerAccount } from '#src/drivers/acme.ts'
import { encodeId } from '#src/platform/ids.ts'
import { certificateLimits } from '#src/platform/limits/certificates.ts'
import { log } from '#src/platform/log.ts'
import { patiently } from '#src/platform/patience.ts'
import type { Background } from '#src/platform/services.ts'
import { getAcmeAccount, noteAccountUrl } from '#src/resources/infra/certificates/accounts.ts'
import {
  adoptAuthority,
  claimCertificate,
  keepClaim,
  recordFailure,
  recordIssued,
  recordOwn,
  releaseClaim,
} from '#src/resources/infra/certificates/claims.ts'
import {
  findCertificateRow,
  obtainCertificate,
  ownIssuer,
  type Certificate,
} from '#src/resources/infra/certificates/rows.ts'
import { noteCertificateChange } from '#src/resources/infra/domains/states.ts'
import { failureOf } from './certificates/failures.ts'
import { ClaimLost, followOrder, OutOfTime } from './certificates/orders.ts'
import { createShares } from './shares.ts'

/** Handles the certificates of the installation. */
export async function handleCertificates(services: Background): Promise<void> {
  await adoptAuthority(services.db, services.config.acmeDirectory ?? ownIssuer)
  const share = createShares(services, obtainCertificate, certificateLimits.ofOneOrganizationAtOnce)
  await services.jobs.handle(
    obtainCertificate,
    { concurrency: certificateLimits.workersAtOnce },
    async ({ data, signal }) => {
      const certificate = await patiently(() => findCertificateRow(services.db, data.certificateId))
      if (certificate) await share({ ...certificate, data }, () => obtain(services, certificate.id, signal))
    },
  )
}

/** Makes one attempt, if the certificate is due and no other worker has it. */
export async function obtain(services: Background, id: string, stopping: AbortSignal): Promise<void> {
  const { db, config } = services
  const claimed = await patiently(() => claimCertificate(db, id))
  if (!claimed) return
  const { acmeDirectory } = config
  if (acmeDirectory === null) {
    await patiently(() => recordOwn(db, claimed, ownIssuer, noteCertificateChange))
    return
  }
  const ending = new AbortController()
  const beating = setInterval(() => {
    keepClaim(db, claimed).then(
      (held) => held || ending.abort(new ClaimLost()),
      (error: Error) => log.warn({ reason: error.message }, 'the lease of a certificate is renewed again soon'),
    )
  }, certificateLimits.beatSeconds * 1000)
  const late = setTimeout(() => ending.abort(new OutOfTime()), certificateLimits.attemptSeconds * 1000)
  try {
    await attempt(services, claimed, acmeDirectory, AbortSignal.any([stopping, ending.signal]))
  } catch (error) {
    if (stopping.aborted) await releaseClaim(db, claimed)
    else await noteFailure(services, claimed, error)
  } finally {
    clearInterval(beating)
    clearTimeout(late)
  }
}

async function attempt(
  services: Background,
  claimed: Certificate,
  directory: string,
  over: AbortSignal,
): Promise<void> {
  const { db, config } = services
  const account = await getAcmeAccount(services, directory, newKey)
  const client = await openAcme({
    directory,
    caFile: config.acmeCaFile,
    accountKey: account.key,
    accountUrl: account.accountUrl,
  })
  if (account.accountUrl === null) await noteAccountUrl(db, directory, await registerAccount(client))
  const issued = await followOrder({ services, client, claimed, over })
  if (!(await patiently(() => recordIssued(db, claimed, { ...issued, issuer: directory }, noteCertificateChange))))
    throw new ClaimLost()
  log.info({ domain: encodeId('domain', claimed.domainId), notAfter: issued.notAfter }, 'a certificate was issued')
}

async function noteFailure({ db, config }: Background, claimed: Certificate, error: unknown): Promise<void> {
  if (error instanceof ClaimLost) return
  const failure = failureOf(error)
  log.warn(
    { domain: encodeId('domain', claimed.domainId), reason: failure.reason },
    'a certificate was not issued this time',
  )
  if (failure.losesAccount && config.acmeDirectory !== null) await noteAccountUrl(db, config.acmeDirectory, null)
  await patiently(() => recordFailure(db, claimed, failure, noteCertificateChange))
}
