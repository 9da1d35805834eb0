/** The keys of issuers that users chose: fetched as everything that users choose, and each kept for as long as the library keeps them. */
import type { JWTVerifyGetKey } from 'jose'
import { keySetFetch } from '#src/drivers/key-sets.ts'
import { outboundFetch } from '#src/drivers/outbound-fetch.ts'
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import type { Config } from '#src/platform/config.ts'
import { remoteKeys } from '#src/platform/tokens.ts'

const keySetsMax = 1_000

/** The keys at JWKS URLs. */
export function createKeySets(config: Pick<Config, 'privateHosts'>): (jwksUri: string) => JWTVerifyGetKey {
  const known = createBoundedMap<string, JWTVerifyGetKey>({ entriesMax: keySetsMax })
  const fetchKeys = keySetFetch(outboundFetch(config))
  return (jwksUri) => {
    const keys = known.get(jwksUri) ?? remoteKeys(jwksUri, fetchKeys)
    known.set(jwksUri, keys)
    return keys
  }
}
