/** The certificate that the proxy shows: a given one, or one of the node's own authority for `*.db.<domain>`. */
import { readFileSync } from 'node:fs'
import { createSecureContext, type SecureContext } from 'node:tls'
import { createAuthority } from '#src/drivers/compute/egress/authority.ts'

/** What TLS needs. */
export type Certificate = { context: SecureContext }

/** Gives the certificate of the moment. */
export type Certificates = () => Promise<Certificate>

/** A certificate of the operator's, for `*.db.<domain>`; files in PEM, the chain behind the certificate. @throws Error when they do not fit together */
export function givenCertificate(certificateFile: string, keyFile: string): Certificates {
  const context = createSecureContext({
    cert: readFileSync(certificateFile),
    key: readFileSync(keyFile),
    minVersion: 'TLSv1.2',
  })
  return () => Promise.resolve({ context })
}

/** Certificates of the node's own authority; they are renewed by themselves. */
export function ownCertificate(dataDir: string, domain: string): Certificates {
  const authority = createAuthority(dataDir)
  return async () => ({ context: await authority.contextFor(`*.db.${domain}`) })
}
