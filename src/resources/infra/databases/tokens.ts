/** The token of a database: the password of its owner, shown once. A verifier and a hash of it are stored. */
import { randomToken } from '#src/platform/ids.ts'
import { makeVerifier } from '#src/platform/secrets/scram-verifiers.ts'
import { sha256 } from '#src/platform/secrets.ts'

const tokenBytes = 32

/** A new token, and what is stored of it. */
export async function makeToken(): Promise<{ token: string; tokenVerifier: string; tokenHash: Buffer }> {
  const token = `bdb_${randomToken(tokenBytes)}`
  return { token, tokenVerifier: await makeVerifier(token), tokenHash: sha256(token) }
}
