/**
 * SCRAM-SHA-256 verifiers (RFC 5802, 7677) as Postgres stores them. A verifier proves that a client knows a password; nobody
 * can log in with it.
 */
import { pbkdf2 } from 'node:crypto'
import { promisify } from 'node:util'
import { randomToken } from '../ids.ts'
import { hmacSha256, sha256 } from '../secrets.ts'

/** What is stored of a password. */
export type Verifier = { iterations: number; salt: Buffer; storedKey: Buffer; serverKey: Buffer }

/** What both sides of a login derive from a password, a salt and a number of iterations. */
export type ScramKeys = { clientKey: Buffer; serverKey: Buffer }

/** As many as Postgres takes itself; some clients refuse fewer. */
export const usualIterations = 4096
const keyBytes = 32

/** Reads a verifier: `SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>`. @throws Error when it is none */
export function readVerifier(text: string): Verifier {
  const [, iterations = '', salt = '', stored = '', server = ''] =
    /^SCRAM-SHA-256\$([0-9]{1,7}):([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]{44}):([A-Za-z0-9+/=]{44})$/.exec(text) ?? []
  const verifier = {
    iterations: Number(iterations),
    salt: Buffer.from(salt, 'base64'),
    storedKey: Buffer.from(stored, 'base64'),
    serverKey: Buffer.from(server, 'base64'),
  }
  if (!(verifier.iterations > 0) || verifier.storedKey.length !== keyBytes || verifier.serverKey.length !== keyBytes)
    throw new Error('this is not a SCRAM-SHA-256 verifier')
  return verifier
}

/** The verifier of a password of ASCII characters, in the form that `readVerifier` reads, and `alter role … password` takes. */
export async function makeVerifier(password: string, iterations: number = usualIterations): Promise<string> {
  const salt = Buffer.from(randomToken(16), 'base64url')
  const { clientKey, serverKey } = await scramKeys(password, salt, iterations)
  const base64 = (bytes: Buffer): string => bytes.toString('base64')
  return `SCRAM-SHA-256$${iterations}:${base64(salt)}$${base64(sha256(clientKey))}:${base64(serverKey)}`
}

/** The two keys of a password. */
export async function scramKeys(password: string, salt: Buffer, iterations: number): Promise<ScramKeys> {
  const salted = await promisify(pbkdf2)(password, salt, iterations, keyBytes, 'sha256')
  return { clientKey: hmacSha256(salted, 'Client Key'), serverKey: hmacSha256(salted, 'Server Key') }
}
