/** Parameters of OAuth's requests: each at most once, as text that can be stored. */
import type { Config } from '#src/platform/config.ts'
import { checkText } from '#src/platform/json/body.ts'
import { OAuthError } from './errors.ts'

/** Reads them. */
export type Parameters = {
  /** The text, or null where there is none, or an empty one. @throws OAuthError invalid_request for one that comes twice. */
  find: (name: string) => string | null
  /** @throws OAuthError invalid_request without it. */
  need: (name: string) => string
  /** All of a name, for `resource`, which may come several times. */
  all: (name: string) => string[]
}

/** The parameters of a query or of a form. @throws BerthError invalid_request for what is no text. */
export function readParameters(given: URLSearchParams): Parameters {
  for (const [name, value] of given) {
    checkText(name)
    checkText(value)
  }
  const find = (name: string): string | null => {
    const values = given.getAll(name)
    if (values.length > 1) throw new OAuthError('invalid_request', `${name} comes more than once. Send it once.`)
    return values[0] || null // an empty one counts as none (RFC 6749 §3.1)
  }
  return {
    find,
    need(name) {
      const value = find(name)
      if (value === null) throw new OAuthError('invalid_request', `${name} is missing. Send it.`)
      return value
    },
    all: (name) => given.getAll(name),
  }
}

/**
 * Checks what a token is asked for (RFC 8707): every address of this Berth is one and the same to a token.
 * @throws OAuthError invalid_target for another host's.
 */
export function checkResources(resources: readonly string[], { publicUrl }: Pick<Config, 'publicUrl'>): void {
  const own = new URL(publicUrl).origin
  if (!resources.every((one) => URL.parse(one)?.origin === own && !one.includes('#')))
    throw new OAuthError('invalid_target', `resource must be an address of this Berth, which begins with ${own}.`)
}
