/** Follows an order at the authority to its certificate: from the beginning, or from where another worker left it. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Authorization, Client, Order } from 'acme-client'
import { certificateRequest, newKey } from '#src/drivers/acme.ts'
import { AcmeRefusal } from '#src/drivers/acme/requests.ts'
import { certificateLimits } from '#src/platform/limits/certificates.ts'
import type { Background } from '#src/platform/services.ts'
import {
  noteChallenges,
  noteOrder,
  noteOrderKey,
  reserveOrder,
  type Issued,
} from '#src/resources/infra/certificates/claims.ts'
import { keyPlace, type Certificate, type Challenge } from '#src/resources/infra/certificates/rows.ts'

/** Another worker has the certificate now, or it is gone. */
export class ClaimLost extends Error {}
/** The authority has not decided within the time of an attempt. */
export class OutOfTime extends Error {}
/** The authority sent something else than the certificate that was ordered. */
export class UnusableCertificate extends Error {}
/** More orders would be unfair. */
export class TooManyOrders extends Error {
  readonly retrySeconds: number
  /** @param retrySeconds after how long it may be tried again. */
  constructor(reason: string, retrySeconds: number) {
    super(reason)
    this.retrySeconds = retrySeconds
  }
}

/** What following an order needs. */
export type Following = { services: Background; client: Client; claimed: Certificate; over: AbortSignal }

const pollMs = [250, 500, 1_000, 2_000, 3_000] as const
const webTypes = ['http-01', 'tls-alpn-01'] as const

/** @throws ClaimLost, OutOfTime, TooManyOrders, UnusableCertificate, AcmeRefusal, AcmeUnreachable. */
export async function followOrder(following: Following): Promise<Omit<Issued, 'issuer'>> {
  const { client, over } = following
  let order = await openOrder(following)
  for (let polls = 0; ; polls++) {
    over.throwIfAborted()
    if (order.status === 'valid') return download(following, order)
    if (order.status === 'invalid') throw refusalOf(order.error)
    if (order.status === 'pending') await prove(following, order)
    if (order.status === 'ready') order = await finalize(following, order)
    else {
      if (order.status === 'processing') await poll(polls, over)
      order = await client.getOrder(order)
      if (order.status === 'pending') await poll(polls, over) // its proofs are valid: it is ready in a moment
    }
  }
}

/** The order that is under way, or a new one. */
async function openOrder({ services: { db }, client, claimed }: Following): Promise<Order> {
  if (claimed.orderUrl !== null) {
    try {
      const order = await client.getOrder({ url: claimed.orderUrl } as Order) // only its address is read
      if (order.status !== 'invalid') return order
    } catch (error) {
      if (!(error instanceof AcmeRefusal && (error.status === 404 || error.type === 'malformed'))) throw error
    }
    await held(noteOrder(db, claimed, null))
    claimed.sealedOrderKey = null
  }
  const refusal = await reserveOrder(db, claimed)
  if (refusal) throw new TooManyOrders(refusal.reason, refusal.retrySeconds)
  const order = await client.createOrder({ identifiers: [{ type: 'dns', value: claimed.host }] })
  await held(noteOrder(db, claimed, order.url))
  return order
}

/** Answers the challenges of all names that are not proven yet, and waits until the authority has looked. */
async function prove({ services: { db }, client, claimed, over }: Following, order: Order): Promise<void> {
  if (order.authorizations.length > certificateLimits.authorizationsMax)
    throw new AcmeRefusal('unsupported', `it asks for ${order.authorizations.length} proofs of one name.`, 200)
  const open = (await client.getAuthorizations(order)).filter(({ status }) => status !== 'valid')
  for (const authorization of open) {
    const offered = chosen(authorization, claimed)
    const answer = await client.getChallengeKeyAuthorization(offered)
    const type = offered.type as Challenge['type'] // one of `webTypes`, or dns-01
    await held(noteChallenges(db, claimed, [{ type, token: offered.token, answer }]))
    if (offered.status === 'pending') await client.completeChallenge(offered)
    for (let polls = 0; ; polls++) {
      await poll(polls, over)
      const [now] = await client.getAuthorizations({ ...order, authorizations: [authorization.url] })
      if (now?.status === 'valid') break
      if (now?.status !== 'pending') throw refusalOf(now?.challenges.find(({ error }) => error !== undefined)?.error)
    }
  }
}

/** The challenge that is answered: the one that was begun, or the other kind than in the attempt before. */
function chosen(
  { challenges, wildcard }: Authorization,
  { attempts }: Certificate,
): Authorization['challenges'][number] {
  const wanted = wildcard ? (['dns-01'] as const) : attempts % 2 === 0 ? webTypes : [...webTypes].reverse()
  const fitting = wanted.flatMap((type) => challenges.filter((one) => one.type === type))
  const found = fitting.find(({ status }) => status !== 'pending') ?? fitting[0]
  if (found) return found
  throw new AcmeRefusal('unsupported', `it offers no proof that is known here (${wanted.join(', ')}).`, 200)
}

/** Asks for the certificate of a proven order. The key is stored first, so that a later worker has it. */
async function finalize({ services, client, claimed }: Following, order: Order): Promise<Order> {
  const { db, sealer } = services
  const key = newKey()
  claimed.sealedOrderKey = sealer.seal(key, keyPlace(claimed))
  await held(noteOrderKey(db, claimed, claimed.sealedOrderKey))
  return client.finalizeOrder(order, await certificateRequest(claimed.host, key))
}

/** Fetches a certificate, and checks that it is the one that was ordered. */
async function download({ services, client, claimed }: Following, order: Order): Promise<Omit<Issued, 'issuer'>> {
  const chain = await client.getCertificate(order)
  const { sealedOrderKey, host } = claimed
  if (sealedOrderKey === null) throw new UnusableCertificate('The key of the order was lost, so it is ordered again.')
  const key = createPrivateKey(services.sealer.open(sealedOrderKey, keyPlace(claimed)))
  const certificate = new X509Certificate(chain)
  const names = certificate.subjectAltName?.split(', ') ?? []
  if (!certificate.checkPrivateKey(key) || !names.includes(`DNS:${host}`))
    throw new UnusableCertificate('The certificate authority sent the certificate of another name or key.')
  return {
    chain,
    sealedKey: sealedOrderKey,
    notBefore: certificate.validFromDate,
    notAfter: certificate.validToDate,
  }
}

async function held(noting: Promise<boolean>): Promise<void> {
  if (!(await noting)) throw new ClaimLost()
}

async function poll(polls: number, over: AbortSignal): Promise<void> {
  await pause(pollMs[Math.min(polls, pollMs.length - 1)], undefined, { signal: over }).catch(() =>
    over.throwIfAborted(),
  )
}

/** What the authority says of an order or a proof that it does not accept. */
function refusalOf(problem: unknown): AcmeRefusal {
  const { type, detail } = (typeof problem === 'object' && problem !== null ? problem : {}) as {
    type?: unknown
    detail?: unknown
  }
  return new AcmeRefusal(
    typeof type === 'string' ? (type.split(':').at(-1) ?? '') : '',
    typeof detail === 'string' ? detail : 'it gave no reason.',
    200,
  )
}
