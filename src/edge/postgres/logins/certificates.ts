/** The certificate that the proxy shows: a given one, or one of the node's own authority for `*.db.<domain>`. */
import { X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { createSecureContext, type SecureContext } from 'node:tls'
import { createAuthority } from '#src/drivers/compute/egress/authority.ts'
import { log } from '#src/platform/log.ts'

/** What TLS needs, and which names it is for. */
export type Certificate = { context: SecureContext; covers: (host: string) => boolean }

/** Gives the certificate of the moment. */
export type Certificates = () => Promise<Certificate>

/** How often it is looked whether the files of a certificate are newer. */
const lookMs = 60_000

/**
 * A certificate of the operator's, for `*.db.<domain>`: files in PEM, the chain behind the certificate. Where they are
 * replaced, the new one is shown within a minute.
 * @throws Error when they cannot be read, or do not fit together
 */
export function givenCertificate(certificateFile: string, keyFile: string): Certificates {
  const read = (): Certificate => {
    const cert = readFileSync(certificateFile)
    const certificate = new X509Certificate(cert)
    return {
      context: createSecureContext({ cert, key: readFileSync(keyFile), minVersion: 'TLSv1.2' }),
      covers: (host) => certificate.checkHost(host) !== undefined,
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

/** Certificates of the node's own authority for databases; they are renewed by themselves. */
export function ownCertificate(dataDir: string, domain: string): Certificates {
  const authority = createAuthority(dataDir, 'databases')
  const covers = (host: string): boolean => host.endsWith(`.db.${domain}`)
  return async () => ({ context: await authority.contextFor(`*.db.${domain}`), covers })
}
