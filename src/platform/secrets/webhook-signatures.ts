/** Signatures of what other servers send us: HMAC-SHA-256 over the whole body, as GitHub and many others write it. */
import { hmacSha256, sameDigest } from '#src/platform/secrets.ts'

const prefix = 'sha256='
const digestBytes = 32

/**
 * Whether the header `X-Hub-Signature-256` was made of this body with this secret. It takes the same time wherever they
 * differ, and whatever the header is.
 */
export function isSignedBy(secret: string, body: Buffer, header: string | undefined): boolean {
  const expected = hmacSha256(Buffer.from(secret), body)
  const isWellFormed = header !== undefined && /^sha256=[0-9a-fA-F]{64}$/.test(header)
  const given = isWellFormed ? Buffer.from(header.slice(prefix.length), 'hex') : Buffer.alloc(digestBytes)
  return sameDigest(given, expected) && isWellFormed
}
