/**
 * Signatures of webhooks. Of what other servers send us: HMAC-SHA-256 over the whole body, as GitHub and many others
 * write it. Of what we send: as Standard Webhooks says.
 */
import { randomToken } from '#src/platform/ids.ts'
import { hmacSha256, sameDigest } from '#src/platform/secrets.ts'

const prefix = 'sha256='
const digestBytes = 32

/** Whether the header `X-Hub-Signature-256` could be the signature of some body. */
export function isSignatureForm(header: string | undefined): header is string {
  return header !== undefined && /^sha256=[0-9a-fA-F]{64}$/.test(header)
}

/**
 * Whether the header `X-Hub-Signature-256` was made of this body with this secret. It takes the same time wherever they
 * differ, and whatever the header is.
 */
export function isSignedBy(secret: string, body: Buffer, header: string | undefined): boolean {
  const expected = hmacSha256(Buffer.from(secret), body)
  const isWellFormed = isSignatureForm(header)
  const given = isWellFormed ? Buffer.from(header.slice(prefix.length), 'hex') : Buffer.alloc(digestBytes)
  return sameDigest(given, expected) && isWellFormed
}

const secretPrefix = 'whsec_'
const secretBytes = 32

/** A new secret of Standard Webhooks: `whsec_` and 32 random bytes in base64. */
export function newWebhookSecret(): string {
  return `${secretPrefix}${Buffer.from(randomToken(secretBytes), 'base64url').toString('base64')}`
}

/** The header `webhook-signature` of a message: a signature by each of these secrets. */
export function standardSignatures(
  secrets: readonly string[],
  { id, atSeconds, body }: { id: string; atSeconds: number; body: string },
): string {
  return secrets
    .map((secret) => hmacSha256(Buffer.from(secret.slice(secretPrefix.length), 'base64'), `${id}.${atSeconds}.${body}`))
    .map((digest) => `v1,${digest.toString('base64')}`)
    .join(' ')
}
