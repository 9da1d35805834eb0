/** The answer of an issuer that is asked for its keys: read in steps, within limits, and only as far as it is used. */
import { JsonAnswerError, readAnswer } from '#src/platform/json/answers.ts'
import { BerthError } from '#src/platform/errors.ts'
import { log } from '#src/platform/log.ts'
import { readBeginning, type OutboundFetch } from './outbound-fetch.ts'

const keySetBytesMax = 256 * 1024
const keysMax = 100 // of one issuer; further ones are ignored
const partsMax = 10_000 // objects, lists, keys and texts of an answer, and as many numbers
/** What a key is for; the library compares each with each. */
const keyUsesMax = 16

/** The same `fetch`, whose answers are key sets that the library may read whole. */
export function keySetFetch(fetch: OutboundFetch): (url: string, init: RequestInit) => Promise<Response> {
  return async (url, init) => {
    const response = await fetch(url, init)
    const { text, truncated } = await readBeginning(response, keySetBytesMax)
    const keys = truncated ? 'too large' : await readKeys(text)
    if (keys === 'too large') {
      log.warn({ url }, 'the key set of an issuer is too large')
      throw tooLarge()
    }
    return new Response(JSON.stringify({ keys }), { status: response.status })
  }
}

/** The keys that may be used; null where there is no list of them, which the library refuses. */
async function readKeys(text: string): Promise<unknown[] | 'too large' | null> {
  let read: unknown
  try {
    read = await readAnswer(Buffer.from(text), { parts: partsMax, numbers: partsMax })
  } catch (error) {
    if (!(error instanceof JsonAnswerError)) throw error
    return error.reason === 'not_json' ? null : 'too large'
  }
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
