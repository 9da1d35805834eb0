/** The built-in issuer for a single host: its keys, its tokens, and the endpoints with its public keys. */
import type { FastifyInstance } from 'fastify'
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import type { Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { decodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import type { Db } from '#src/platform/postgres.ts'
import type { Sealer } from '#src/platform/secrets.ts'
import { isName } from '#src/platform/texts.ts'
import { signAccessToken, signingAlgorithm } from '#src/resources/identity/access-tokens.ts'
import { recordUse } from '#src/resources/identity/audit-events/recording.ts'
import { joinOrganization, type Joining } from '#src/resources/identity/joining.ts'
import type { Identity } from '#src/resources/identity/memberships.ts'
import { addSigningKey, listPublicKeys } from '#src/resources/identity/signing-keys.ts'

const keySetSecondsMax = 300 // how long verifiers may cache the key set: a new key is used immediately, and they fetch again for an unknown key id

/** What issuing tokens needs, which is all that the command line has. */
export type IssuerParts = { db: Db; sealer: Sealer; config: Pick<Config, 'publicUrl' | 'audience'> }

/** Who a token is for. `ttlSeconds` is its time to live. */
export type TokenRequest = Joining & { ttlSeconds: number }

/** Creates the first signing key when there is none. Concurrent processes create only one. */
export async function ensureSigningKey({ db, sealer }: Pick<IssuerParts, 'db' | 'sealer'>): Promise<void> {
  if ((await listPublicKeys(db)).length === 0) await makeKey(db, sealer, true)
}

/**
 * Creates a new key, which signs from now on. Tokens of the previous key stay valid; those of the key before that do
 * not.
 */
export async function rotateSigningKey({ db, sealer }: Pick<IssuerParts, 'db' | 'sealer'>): Promise<void> {
  await makeKey(db, sealer, false)
}

async function makeKey(db: Db, sealer: Sealer, onlyFirst: boolean): Promise<void> {
  const pair = await generateKeyPair(signingAlgorithm, { extractable: true })
  const publicPart = await exportJWK(pair.publicKey)
  const kid = await calculateJwkThumbprint(publicPart)
  const privateJwk = { ...(await exportJWK(pair.privateKey)), kid, alg: signingAlgorithm }
  await addSigningKey(
    db,
    sealer,
    { kid, publicJwk: { ...publicPart, kid, alg: signingAlgorithm, use: 'sig' }, privateJwk },
    { onlyFirst },
  )
}

/**
 * Signs a token for a member of an organization, as joinOrganization makes them. The claims are described in
 * docs/reference/access.md, "Tokens and keys".
 * @throws BerthError invalid_request when a name is empty or longer than 255 characters, not_found for an unknown one.
 */
export async function issueToken(
  { db, sealer, config }: IssuerParts,
  { ttlSeconds, ...joining }: TokenRequest,
): Promise<{ token: string; expiresAtSeconds: number }> {
  checkNames(joining)
  await ensureSigningKey({ db, sealer })
  const identity = await joinOrganization(db, joining)
  await recordIssue(db, identity)
  return signAccessToken({ db, sealer, config }, identity, ttlSeconds)
}

async function recordIssue(db: Db, { organizationId: publicId, memberships }: Identity): Promise<void> {
  const held = memberships.find((one) => one.organizationId === publicId)
  const organizationId = decodeId('organization', publicId)
  const id = held && decodeId('membership', held.membershipId)
  if (organizationId && id) await recordUse(db, { organizationId, type: 'Member', id, name: null })
}

/** Refuses invalid names of who joins what. @throws BerthError invalid_request. */
export function checkNames({ user, organization }: Pick<Joining, 'user' | 'organization'>): void {
  checkName('user', user)
  checkName('organization', organization)
}

/** Refuses an invalid name of a user or an organization. @throws BerthError invalid_request. */
export function checkName(what: string, name: string): void {
  if (!isName(name))
    throw new BerthError('invalid_request', `The ${what} must be a name of 1 to ${limits.nameLength} characters.`)
}

/**
 * Adds the two documents that other services need to verify our tokens. Only for an app whose built-in issuer is on.
 */
export function serveIssuer(app: FastifyInstance, { db, config }: Pick<IssuerParts, 'db' | 'config'>): void {
  const { publicUrl } = config
  app.get('/.well-known/openid-configuration', (_request, reply) => {
    reply.header('cache-control', `public, max-age=${keySetSecondsMax}`)
    return {
      issuer: publicUrl,
      jwks_uri: `${publicUrl}/.well-known/jwks.json`,
      id_token_signing_alg_values_supported: [signingAlgorithm],
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      claims_supported: [
        'iss',
        'sub',
        'aud',
        'exp',
        'iat',
        'jti',
        'sid',
        'email',
        'org_id',
        'role',
        'permissions',
        'org_memberships',
      ],
    }
  })
  app.get('/.well-known/jwks.json', async (_request, reply) => {
    reply.header('cache-control', `public, max-age=${keySetSecondsMax}`)
    return { keys: await listPublicKeys(db) }
  })
}
