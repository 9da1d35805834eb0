/**
 * SCRAM-SHA-256 (RFC 5802, 7677), both sides: the server's, which knows a verifier only, and the client's. With a verifier
 * nobody can log in; with what the server hears, nobody can log in elsewhere. Verifiers are in src/platform/secrets/scram-verifiers.ts.
 */
import { randomToken } from '#src/platform/ids.ts'
import { scramKeys, usualIterations, type ScramKeys, type Verifier } from '#src/platform/secrets/scram-verifiers.ts'
import { hmacSha256, sameDigest, sha256 } from '#src/platform/secrets.ts'
import { PostgresRefusal, violation } from '../refusals.ts'

/** Names of the two mechanisms; the second one is bound to the TLS connection. */
export const mechanisms = { plain: 'SCRAM-SHA-256', bound: 'SCRAM-SHA-256-PLUS' } as const

const iterationsMax = 1_000_000 // of a server that we log in to
const nonceBytes = 18
const bindingName = 'tls-server-end-point'

/** A verifier for a user that is not there: the same at every attempt that is alike, and fitting no password. */
export function mockVerifier(derive: (purpose: string) => string, alike: string): Verifier {
  const bytes = sha256(derive(`postgres mock verifier ${alike}`))
  return { iterations: usualIterations, salt: bytes.subarray(0, 16), storedKey: sha256(bytes), serverKey: bytes }
}

/** The parts of a SCRAM message by their letters, in their order. @throws PostgresRefusal */
function attributes(text: string): [letter: string, value: string][] {
  return text.split(',').map((part) => {
    if (!/^[A-Za-z]=/.test(part)) throw violation('malformed SCRAM message')
    return [part[0] ?? '', part.slice(2)]
  })
}

/** The server's side of one login. */
export type ScramServer = {
  /** Answers the client's first message. @throws PostgresRefusal */
  first(mechanism: string, text: string): string
  /** Whether the client's second message proves that it knows the password; the answer that proves who we are, or null. @throws PostgresRefusal */
  final(text: string): string | null
  /** The key by which the client has proved that: with it, and the verifier, one can log in to a server that has the same verifier. */
  clientKey(): Buffer
}

/**
 * Begins the server's side.
 * @param endPoint what a client on TLS may bind its login to; null without TLS.
 */
export function scramServer(verifier: Verifier, endPoint: Buffer | null): ScramServer {
  let nonce = ''
  let header = ''
  let firstBare = ''
  let serverFirst = ''
  let bound = false
  let proved: Buffer = Buffer.alloc(0)
  return {
    first(mechanism, text) {
      bound = mechanism === mechanisms.bound && endPoint !== null
      if (!bound && mechanism !== mechanisms.plain)
        throw violation('client selected an invalid SASL authentication mechanism')
      const parts = /^((?:[ny]|p=([A-Za-z0-9.-]+)),([^,]*),)([^]*)$/.exec(text)
      if (!parts) throw violation('malformed SCRAM message')
      const [, gs2 = '', binding, authorizesAs, bare = ''] = parts
      if (authorizesAs)
        throw new PostgresRefusal(
          'feature_not_supported',
          'client uses authorization identity, but it is not supported',
        )
      if (bound !== (binding !== undefined))
        throw violation('malformed SCRAM message: channel binding does not fit the mechanism')
      if (binding !== undefined && binding !== bindingName) throw violation('unsupported SCRAM channel-binding type')
      // It can bind and believes that we cannot: somebody in between has changed what we offered.
      if (gs2.startsWith('y') && endPoint)
        throw new PostgresRefusal('invalid_authorization_specification', 'SCRAM channel binding negotiation error')
      const [user, proposed] = attributes(bare)
      const clientNonce = proposed?.[0] === 'r' ? proposed[1] : ''
      if (user?.[0] !== 'n' || !/^[!-+\x2d-~]+$/.test(clientNonce)) throw violation('malformed SCRAM message')
      ;[header, firstBare] = [gs2, bare]
      nonce = `${clientNonce}${randomToken(nonceBytes)}`
      return (serverFirst = `r=${nonce},s=${verifier.salt.toString('base64')},i=${verifier.iterations}`)
    },
    final(text) {
      const proofAt = text.lastIndexOf(',p=')
      const [binding, answered] = attributes(text.slice(0, Math.max(proofAt, 0)))
      const proof = Buffer.from(text.slice(proofAt + 3), 'base64')
      if (proofAt < 0 || binding?.[0] !== 'c' || answered?.[0] !== 'r' || proof.length !== verifier.storedKey.length)
        throw violation('malformed SCRAM message')
      const expected = Buffer.concat([Buffer.from(header), bound && endPoint ? endPoint : Buffer.alloc(0)])
      if (binding[1] !== expected.toString('base64'))
        throw new PostgresRefusal('invalid_authorization_specification', 'SCRAM channel binding check failed')
      if (answered[1] !== nonce) throw violation('invalid SCRAM response: nonce does not match')
      const signed = `${firstBare},${serverFirst},${text.slice(0, proofAt)}`
      const clientKey = xor(proof, hmacSha256(verifier.storedKey, signed))
      if (!sameDigest(sha256(clientKey), verifier.storedKey)) return null
      proved = clientKey
      return `v=${hmacSha256(verifier.serverKey, signed).toString('base64')}`
    },
    clientKey: () => proved,
  }
}

/** The client's side of one login. */
export type ScramClient = {
  first: string
  /** Answers the server's first message. @throws Error when it is none, or another's */
  final(serverFirst: string): Promise<string>
  /** Whether the server knows the password too. */
  proves(serverFinal: string): boolean
}

/** Begins the client's side, without a binding to TLS, with a password or what is derived from one. */
export function scramClient(secret: string | ScramKeys): ScramClient {
  const nonce = randomToken(nonceBytes)
  const bare = `n=,r=${nonce}`
  let signature = ''
  return {
    first: `n,,${bare}`,
    async final(serverFirst) {
      const [, whole = '', salt = '', count = ''] =
        /^r=([!-+\x2d-~]+),s=([A-Za-z0-9+/=]+),i=([0-9]{1,7})$/.exec(serverFirst) ?? []
      const iterations = Number(count)
      if (!whole.startsWith(nonce) || iterations < 1 || iterations > iterationsMax)
        throw new Error('the server does not speak SCRAM as it should')
      const { clientKey, serverKey } =
        typeof secret === 'string' ? await scramKeys(secret, Buffer.from(salt, 'base64'), iterations) : secret
      const unproved = `c=${Buffer.from('n,,').toString('base64')},r=${whole}`
      const signed = `${bare},${serverFirst},${unproved}`
      signature = hmacSha256(serverKey, signed).toString('base64')
      return `${unproved},p=${xor(clientKey, hmacSha256(sha256(clientKey), signed)).toString('base64')}`
    },
    proves: (serverFinal) => signature !== '' && serverFinal === `v=${signature}`,
  }
}

function xor(one: Buffer, other: Buffer): Buffer {
  return Buffer.from(one.map((byte, at) => byte ^ (other[at] ?? 0)))
}
