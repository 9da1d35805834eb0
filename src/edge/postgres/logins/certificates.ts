/** The certificate that the proxy shows: a given one, or one of the node's own authority for `*.db.<domain>`. */
import { X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { createSecureContext, type SecureContext } from 'node:tls'
import { createAuthority } from '#src/drivers/compute/egress/authority.ts'
import { momentAt, nowMs } from '#src/platform/clock.ts'
import { log } from '#src/platform/log.ts'
import { addMetricSource } from '#src/platform/metrics/sources.ts'

/** What TLS needs, and which names it is for. */
export type Certificate = { context: SecureContext; covers: (host: string) => boolean }
/** One of the operator's, which nobody renews for them: `endsAt` in milliseconds since the Unix epoch. */
export type GivenCertificate = Certificate & { endsAt: number }

/** Gives the certificate of the moment. */
export type Certificates = () => Promise<Certificate>

/** How often it is looked whether the files of a certificate are newer. */
const lookMs = 60_000

/**
 * A certificate of the operator's, for `*.db.<domain>`: files in PEM, the chain behind the certificate. Where they are
 * replaced, the new one is shown within a minute.
 * @throws Error when they cannot be read, or do not fit together
 */
export function givenCertificate(certificateFile: string, keyFile: string): () => Promise<GivenCertificate> {
  const read = (): GivenCertificate => {
    const cert = readFileSync(certificateFile)
    const certificate = new X509Certificate(cert)
    return {
      context: createSecureContext({ cert, key: readFileSync(keyFile), minVersion: 'TLSv1.2' }),
      covers: (host) => certificate.checkHost(host) !== undefined,
      endsAt: momentAt(certificate.validTo).getTime(),
    }
  }
  const age = (): number => Math.max(statSync(certificateFile).mtimeMs, statSync(keyFile).mtimeMs)
  let [shown, shownAge, lookedAtMs] = [read(), age(), performance.now()]
  return async () => {
    if (performance.now() - lookedAtMs < lookMs) return shown
    lookedAtMs = performance.now()
    try {
      if (age() !== shownAge) [shown, shownAge] = [read(), age()]
    } catch (error) {
      log.error(
        { err: error },
        'the new certificate of BERTH_TLS_CERTIFICATE cannot be used: the one before it is still shown',
      )
    }
    return shown
  }
}

/** Adds to this process's metrics how long the given certificate is still good; without one there is no value. */
export function reportGivenCertificate(given: (() => Promise<Pick<GivenCertificate, 'endsAt'>>) | null): void {
  addMetricSource(
    'given_certificate',
    {
      berth_given_certificate_left_seconds: {
        help: 'How long the certificate of BERTH_TLS_CERTIFICATE is still good.',
      },
    },
    async () => ({
      berth_given_certificate_left_seconds: given ? [{ value: ((await given()).endsAt - nowMs()) / 1000 }] : [],
    }),
  )
}

/** Certificates of the node's own authority for databases; they are renewed by themselves. */
export function ownCertificate(dataDir: string, domain: string): Certificates {
  const authority = createAuthority(dataDir, 'databases')
  const covers = (host: string): boolean => host.endsWith(`.db.${domain}`)
  return async () => ({ context: await authority.contextFor(`*.db.${domain}`), covers })
}
