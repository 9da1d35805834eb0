/**
 * The certificates that the edge shows, by the name that a client asks for. All are in memory, so that the edge goes on while
 * Postgres is away. Nobody is shown a certificate of a name that no organization has proven.
 */
import { createSecureContext, type SecureContext } from 'node:tls'
import { challengeContext } from '#src/drivers/acme/challenges.ts'
import { createAuthority } from '#src/drivers/compute/egress/authority.ts'
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import { momentAt } from '#src/platform/clock.ts'
import type { Config } from '#src/platform/config.ts'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { certificateLimits } from '#src/platform/limits/certificates.ts'
import { log } from '#src/platform/log.ts'
import type { Services } from '#src/platform/services.ts'
import { followRows } from '#src/platform/streams/followed-rows.ts'
import {
  certificatesTopic,
  findCertificateRows,
  findCertificatesAfter,
  findCertificatesOfDomain,
  findCertificatesOfHost,
  keyPlace,
  ownIssuer,
  type Certificate,
  type Challenge,
} from '#src/resources/infra/certificates/rows.ts'
import type { Certificates } from './postgres/logins/certificates.ts'

/** Certificates by name. Names are as clients send them. */
export type EdgeCertificates = {
  /** Resolves when all have been read for the first time. */
  ready: Promise<void>
  /** What to show a client that asks for this name; null when there is nothing for it: then TLS says `unrecognized_name`. */
  contextOf(serverName: string): Promise<SecureContext | null>
  /** The same for an ACME authority, which offers the protocol `acme-tls/1` and no other. */
  challengeContextOf(serverName: string): Promise<SecureContext | null>
  /** What to answer at `/.well-known/acme-challenge/<token>`; null when nobody asked for that. */
  challengeAnswer(host: string, token: string): Promise<string | null>
  /** The TXT records at `<label>.acme.<platform domain>`, for authorities; null when that is no domain's. */
  challengeTexts(label: string): Promise<readonly string[] | null>
  /** Whether this name is served here, from memory: for a server before the edge that obtains certificates on demand. */
  isServed(name: string): boolean
  /** Whether a certificate of this name is there that an authority has issued which everybody knows. From memory. */
  isIssued(name: string): boolean
  close(): void
}

/** What they need. `given` is the operator's certificate, if there is one; `hasRoute` whether a name leads somewhere. */
export type CertificatesOptions = {
  services: Pick<Services, 'db' | 'pubsub' | 'sealer' | 'config'>
  given: Certificates | null
  hasRoute: (host: string) => boolean
}

type Kept = Omit<Certificate, 'sealedOrderKey'>

/** Follows the certificates until `close`. */
export function openCertificates({ services, given, hasRoute }: CertificatesOptions): EdgeCertificates {
  const { db, pubsub, config } = services
  const kept = keepCertificates()
  const { ready, close } = followRows<Certificate>({
    pubsub,
    topic: certificatesTopic,
    what: 'certificates',
    readPage: (afterId) => findCertificatesAfter(db, afterId),
    readRows: (ids) => findCertificateRows(db, ids),
    replace: kept.replace,
    put: kept.put,
  })
  const findChallenge = challengeFinder(kept.of, (host) => findCertificatesOfHost(db, host))
  const findProofs = challengeFinder(kept.ofDomain, (domainId) => findCertificatesOfDomain(db, domainId))

  const contextOfKept = createContexts(services)
  const platformContext = createPlatformContexts(config, given)

  return {
    ready,
    close,
    async contextOf(serverName) {
      const name = plain(serverName)
      const certificate = best(kept.of(name)) ?? best(kept.of(wildcardOf(name)))
      return certificate ? contextOfKept(certificate) : platformContext(name)
    },
    async challengeContextOf(serverName) {
      const host = plain(serverName)
      const challenge = await findChallenge(host, ({ type }) => type === 'tls-alpn-01')
      return challenge ? challengeContext(host, challenge.answer) : null
    },
    async challengeTexts(label) {
      const domainId = decodeId('domain', `dom_${label}`)
      if (domainId === undefined) return null
      const proof = await findProofs(domainId, ({ type }) => type === 'dns-01')
      return proof ? [proof.answer] : kept.ofDomain(domainId).length > 0 ? [] : null
    },
    async challengeAnswer(host, token) {
      if (token === '' || token.length > certificateLimits.tokenLength) return null
      const challenge = await findChallenge(plain(host), (one) => one.type === 'http-01' && one.token === token)
      return challenge?.answer ?? null
    },
    isIssued(given) {
      const name = plain(given)
      const certificate = best(kept.of(name)) ?? best(kept.of(wildcardOf(name)))
      return certificate !== undefined && certificate.issuer !== ownIssuer
    },
    isServed(given) {
      const name = plain(given)
      return kept.of(name).length > 0 || kept.of(wildcardOf(name)).length > 0 || hasRoute(name)
    },
  }
}

/** Makes what TLS needs of certificates, and keeps it for the next client. */
function createContexts({
  sealer,
  config,
}: CertificatesOptions['services']): (certificate: Kept) => Promise<SecureContext | null> {
  const authority = createAuthority(config.dataDir, 'databases')
  const contexts = createBoundedMap<string, { chain: string; context: SecureContext }>({
    entriesMax: certificateLimits.contextsMax,
  })
  return async (certificate) => {
    const { id, chain, sealedKey, issuer, host, domainId } = certificate
    if (issuer === ownIssuer) return authority.contextFor(host)
    if (chain === null || sealedKey === null) return null
    const known = contexts.get(id)
    if (known?.chain === chain) return known.context
    try {
      const key = sealer.open(sealedKey, keyPlace(certificate))
      const context = createSecureContext({ cert: chain, key, minVersion: 'TLSv1.2' })
      contexts.set(id, { chain, context })
      return context
    } catch (error) {
      log.error({ err: error, domain: encodeId('domain', domainId) }, 'a certificate cannot be used')
      return null
    }
  }
}

/** The platform's own names: its domain, and those one level below, which are all shown the same certificate. */
function createPlatformContexts(
  { dataDir, domain }: Pick<Config, 'dataDir' | 'domain'>,
  given: Certificates | null,
): (name: string) => Promise<SecureContext | null> {
  const authority = createAuthority(dataDir, 'databases')
  return async (name) => {
    if (name !== domain && wildcardOf(name) !== `*.${domain}`) return null
    const operators = await given?.()
    return operators?.covers(name) ? operators.context : authority.contextFor(name === domain ? name : `*.${domain}`)
  }
}

/** Finds what an authority asks for; where the notice of it is still on its way, in the table. */
function challengeFinder(
  keptOf: (key: string) => readonly Kept[],
  readOf: (key: string) => Promise<readonly Kept[]>,
): (key: string, fits: (challenge: Challenge) => boolean) => Promise<Challenge | undefined> {
  let asked = 0
  return async (key, fits) => {
    const find = (rows: readonly Kept[]) => rows.flatMap(({ challenges }) => challenges).find(fits)
    const known = find(keptOf(key))
    if (known || asked >= certificateLimits.lookupsAtOnce) return known
    asked++
    try {
      return find(await readOf(key))
    } catch (error) {
      log.warn({ err: error }, 'a challenge of a certificate authority could not be looked up')
      return undefined
    } finally {
      asked--
    }
  }
}

/** Certificates in memory, by host name and by domain. */
function keepCertificates(): {
  of: (host: string) => readonly Kept[]
  ofDomain: (domainId: string) => readonly Kept[]
  replace: (rows: readonly Certificate[]) => void
  put: (id: string, row: Certificate | undefined) => void
} {
  const byId = new Map<string, Kept>()
  const byHost = new Map<string, Kept[]>()
  const byDomain = new Map<string, Kept[]>()
  const drop = (from: Map<string, Kept[]>, key: string, id: string): void => {
    const others = (from.get(key) ?? []).filter((one) => one.id !== id)
    if (others.length > 0) from.set(key, others)
    else from.delete(key)
  }
  const put = (id: string, row: Certificate | undefined): void => {
    const before = byId.get(id)
    if (before) {
      drop(byHost, before.host, id)
      drop(byDomain, before.domainId, id)
      byId.delete(id)
    }
    if (!row) return
    const { sealedOrderKey: _, ...certificate } = row
    byId.set(id, certificate)
    byHost.set(row.host, [...(byHost.get(row.host) ?? []), certificate])
    byDomain.set(row.domainId, [...(byDomain.get(row.domainId) ?? []), certificate])
  }
  return {
    of: (host) => byHost.get(host) ?? [],
    ofDomain: (domainId) => byDomain.get(domainId) ?? [],
    put,
    replace(rows) {
      for (const map of [byId, byHost, byDomain]) map.clear()
      for (const row of rows) put(row.id, row)
    },
  }
}

/** Of several organizations' certificates of a name, the one that lasts longest; none that is still to be issued. */
function best(rows: readonly Kept[]): Kept | undefined {
  const endMs = ({ notAfter }: Kept): number => (notAfter === null ? 0 : momentAt(notAfter).getTime())
  return rows
    .filter(({ issuer }) => issuer !== null)
    .reduce<Kept | undefined>((one, other) => (one && endMs(one) >= endMs(other) ? one : other), undefined)
}

/** A name in lower case, without the dot that some write at its end. */
function plain(name: string): string {
  const lower = name.slice(0, 254).toLowerCase()
  return lower.endsWith('.') ? lower.slice(0, -1) : lower
}

/** `a.example.com` -> `*.example.com` */
function wildcardOf(name: string): string {
  return `*${name.slice(name.indexOf('.'))}`
}
