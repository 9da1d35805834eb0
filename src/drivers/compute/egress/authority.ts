/**
 * The certificate authorities of a node. One signs certificates for the hosts whose TLS the egress proxy terminates, because
 * it must insert a secret into requests to them; only guests that have such a secret trust it. Another signs those of databases.
 */
import { createPrivateKey, KeyObject } from 'node:crypto'
import { existsSync } from 'node:fs'
import { isIP } from 'node:net'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { X509Certificate } from '@peculiar/x509'
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import { fromNow, nowMs } from '#src/platform/clock.ts'
import { readPrivately, storePrivately } from '#src/platform/secrets.ts'
import { authorityPlace, type AuthorityUse } from '#src/drivers/compute/places.ts'

/** Makes certificates for hosts. Nothing is read or made before the first call. */
export type EgressAuthority = {
  /** Its own certificate in PEM, for guests to trust. @throws Error when others than the owner can read its key. */
  certificate: () => Promise<string>
  /**
   * The TLS context of a server that appears to the guest as this host (a normal name or address).
   * @throws as `certificate`
   */
  contextFor: (host: string) => Promise<SecureContext>
}

const dayMs = 24 * 60 * 60_000
const authorityMs = 20 * 365 * dayMs // running guests trust it, so it is never replaced while they live
const leafMs = 7 * dayMs
/** A certificate is renewed when this much of its validity is left. */
const leafLeftMs = dayMs
/** How far a guest's clock may be behind. */
const backMs = dayMs
/** The maximum number of cached certificates; the least recently used one is evicted. */
const leavesMax = 256
const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const

type Issuer = { pem: string; certificate: X509Certificate; key: CryptoKey; leafKeys: CryptoKeyPair; leafKeyPem: string }
type Leaf = { context: SecureContext; untilMs: number }

/**
 * The authority of a node for this use. Its key and certificate stay in the data folder, so that whoever trusts it goes on
 * trusting it.
 */
export function createAuthority(dataDir: string, use: AuthorityUse = 'egress'): EgressAuthority {
  const file = authorityPlace(dataDir, use)
  let opening: Promise<Issuer> | undefined
  const leaves = createBoundedMap<string, Leaf>({ entriesMax: leavesMax })
  const open = (): Promise<Issuer> => {
    opening ??= openIssuer(file, use).catch((error: unknown) => {
      opening = undefined
      throw error
    })
    return opening
  }
  return {
    certificate: async () => (await open()).pem,
    async contextFor(host) {
      const known = leaves.get(host)
      const leaf =
        known && known.untilMs - nowMs() > leafLeftMs ? known : await makeLeaf(await open(), `Berth ${use}`, host)
      leaves.set(host, leaf)
      return leaf.context
    },
  }
}

async function openIssuer(file: string, use: AuthorityUse): Promise<Issuer> {
  const { X509Certificate } = await x509()
  if (!existsSync(file)) storePrivately(file, await makeAuthority(`Berth ${use}`))
  const text = readPrivately(file)
  const pem = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/.exec(text)?.[0]
  if (!pem)
    throw new Error(
      `${file} contains no certificate; remove it, and ${use === 'egress' ? 'restart the VMs that use secrets of a vault' : 'give the new one of npm run -s ca to your clients'}`,
    )
  const leafKeys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  return {
    pem: `${pem}\n`,
    certificate: new X509Certificate(pem),
    key: await crypto.subtle.importKey(
      'pkcs8',
      createPrivateKey(text).export({ type: 'pkcs8', format: 'der' }),
      algorithm,
      false,
      ['sign'],
    ),
    leafKeys,
    leafKeyPem: pemOf(leafKeys.privateKey),
  }
}

async function makeAuthority(name: string): Promise<string> {
  const {
    X509CertificateGenerator,
    BasicConstraintsExtension,
    KeyUsagesExtension,
    KeyUsageFlags,
    SubjectKeyIdentifierExtension,
  } = await x509()
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const identifier = await SubjectKeyIdentifierExtension.create(keys.publicKey)
  const certificate = await X509CertificateGenerator.createSelfSigned({
    // A unique name: clients that look up authorities by name must not confuse those of two nodes.
    name: `CN=${name} ${identifier.keyId.slice(0, 16)}`,
    notBefore: fromNow(-backMs),
    notAfter: fromNow(authorityMs),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      identifier,
    ],
  })
  return `${pemOf(keys.privateKey)}${certificate.toString('pem')}\n`
}

async function makeLeaf({ certificate, key, leafKeys, leafKeyPem }: Issuer, name: string, host: string): Promise<Leaf> {
  const {
    X509CertificateGenerator,
    AuthorityKeyIdentifierExtension,
    ExtendedKeyUsage,
    ExtendedKeyUsageExtension,
    KeyUsagesExtension,
    KeyUsageFlags,
    SubjectAlternativeNameExtension,
    SubjectKeyIdentifierExtension,
  } = await x509()
  const until = fromNow(leafMs)
  const leaf = await X509CertificateGenerator.create({
    subject: `CN=${name}`, // a common name has 64 characters at most, and a host may have more
    issuer: certificate.subject,
    notBefore: fromNow(-backMs),
    notAfter: until,
    signingAlgorithm: algorithm,
    publicKey: leafKeys.publicKey,
    signingKey: key,
    extensions: [
      new SubjectAlternativeNameExtension([{ type: isIP(host) ? 'ip' : 'dns', value: host }]),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      // Python's strict verification requires both.
      await AuthorityKeyIdentifierExtension.create(certificate),
      await SubjectKeyIdentifierExtension.create(leafKeys.publicKey),
    ],
  })
  return { untilMs: until.getTime(), context: createSecureContext({ key: leafKeyPem, cert: leaf.toString('pem') }) }
}

function pemOf(key: CryptoKey): string {
  return String(KeyObject.from(key).export({ type: 'pkcs8', format: 'pem' }))
}

/**
 * Imported lazily: it takes a tenth of a second, and most nodes never need it. Version 2 requires a polyfill, so this
 * is version 1.
 */
function x509(): Promise<typeof import('@peculiar/x509')> {
  return import('@peculiar/x509')
}
