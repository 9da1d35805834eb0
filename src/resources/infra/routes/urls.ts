/** Addresses at the edge: of proxy entries, previews and domains. */
import { proxyLimits } from '#src/platform/limits/proxies.ts'
import type { Config } from '#src/platform/config.ts'
import { isGiven } from '#src/platform/pages.ts'
import { BerthError } from '#src/platform/errors.ts'

const usualPort = 443

/** The address at which a host and path are reached: over HTTPS, with the edge's port unless it is the usual one. */
export function externalUrl({ httpsPort }: Pick<Config, 'httpsPort'>, host: string, path: string): string {
  return `https://${host}${httpsPort === usualPort ? '' : `:${httpsPort}`}${path}`
}

/**
 * The path of a route: `/` by default. A `/` at its end says nothing, so it is left out.
 * @throws BerthError invalid_request for anything that a request's path could also be written as in another way.
 */
export function readRoutePath(given: string | null | undefined): string {
  if (!isGiven(given) || given === '/') return '/'
  const isPlain =
    given.length <= proxyLimits.pathLength &&
    /^(?:\/[\w~!$&'()*+,;=:@.-]+)+\/?$/.test(given) &&
    !given.split('/').some((part) => part === '.' || part === '..')
  if (isPlain) return given.endsWith('/') ? given.slice(0, -1) : given
  throw new BerthError(
    'invalid_request',
    `path must be a plain path such as /api: at most ${proxyLimits.pathLength} characters, beginning with /, without //, . or .. as a part, %, ? and #.`,
    { field: 'path' },
  )
}
