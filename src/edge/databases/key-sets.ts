/** The keys of issuers that users chose: fetched as everything that users choose, in steps, and as few as are needed. */
import type { JWTVerifyGetKey } from 'jose'
import { outboundFetch, readBeginning } from '#src/drivers/outbound-fetch.ts'
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import type { Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'
import { JsonAnswerError, readAnswer } from '#src/platform/json/answers.ts'
import { remoteKeys } from '#src/platform/tokens.ts'

const keySetBytesMax = 256 * 1024
const keySetsMax = 1_000
const keysMax = 100 // of one issuer; further ones are ignored
const partsMax = 10_000 // objects, lists, keys and texts of an answer, and as many numbers
/** What a key is for; the library compares each with each. */
const keyUsesMax = 16

/** The keys at JWKS URLs, each kept for as long as the library keeps them. */
export function createKeySets(config: Pick<Config, 'privateHosts'>): (jwksUri: string) => JWTVerifyGetKey {
  const known = createBoundedMap<string, JWTVerifyGetKey>({ entriesMax: keySetsMax })
  const fetchOutside = outboundFetch(config)
  const fetchKeys = async (url: string, init: RequestInit): Promise<Response> => {
    const response = await fetchOutside(url, init)
    const { text, truncated } = await readBeginning(response, keySetBytesMax)
    if (truncated) throw tooLarge()
    return new Response(JSON.stringify({ keys: await readKeys(text) }), { status: response.status })
  }
  return (jwksUri) => {
    const keys = known.get(jwksUri) ?? remoteKeys(jwksUri, fetchKeys)
    known.set(jwksUri, keys)
    return keys
  }
}

/** The keys that may be used; null where there is no list of them, which the library refuses. */
async function readKeys(text: string): Promise<unknown[] | null> {
  const read = await readAnswer(Buffer.from(text), { parts: partsMax, numbers: partsMax }).catch((error: unknown) => {
    if (!(error instanceof JsonAnswerError)) throw error
    if (error.reason === 'not_json') return null
    throw tooLarge()
  })
  const keys = typeof read === 'object' && read !== null && 'keys' in read ? read.keys : null
  return Array.isArray(keys) ? keys.filter(isUsable).slice(0, keysMax) : null
}

function isUsable(key: unknown): boolean {
  if (typeof key !== 'object' || key === null || Array.isArray(key)) return false
  return !('key_ops' in key) || (Array.isArray(key.key_ops) && key.key_ops.length <= keyUsesMax)
}

function tooLarge(): BerthError {
  return new BerthError(
    'service_unavailable',
    'The issuer’s key set has more than 256 KiB or 10,000 values. Ask whoever runs the issuer for a smaller one.',
  )
}
