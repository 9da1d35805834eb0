/** What an authority is shown that proves a name by TLS (RFC 8737): a certificate that only answers its question. */
import { createPrivateKey } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'
import { fromNow } from '#src/platform/clock.ts'
import { sha256 } from '#src/platform/secrets.ts'

const acmeIdentifier = '1.3.6.1.5.5.7.1.31'
const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const dayMs = 86_400_000

/** The context of a server that proves this host name. @param answer the key authorization of the challenge. */
export async function challengeContext(host: string, answer: string): Promise<SecureContext> {
  const { Extension, SubjectAlternativeNameExtension, X509CertificateGenerator } = await import('@peculiar/x509')
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const digest = sha256(answer)
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=Berth ACME challenge',
    notBefore: fromNow(-dayMs),
    notAfter: fromNow(dayMs),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new SubjectAlternativeNameExtension([{ type: 'dns', value: host }]),
      new Extension(acmeIdentifier, true, Buffer.concat([Buffer.of(4, digest.length), digest])), // an octet string in DER
    ],
  })
  const der = Buffer.from(await crypto.subtle.exportKey('pkcs8', keys.privateKey))
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }).export({ type: 'pkcs8', format: 'pem' })
  return createSecureContext({ key, cert: certificate.toString('pem') })
}
