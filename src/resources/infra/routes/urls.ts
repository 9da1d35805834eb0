/** Addresses at the edge: of proxy entries, previews and domains. */
import type { Config } from '#src/platform/config.ts'

const usualPort = 443

/** The address at which a host and path are reached: over HTTPS, with the edge's port unless it is the usual one. */
export function externalUrl({ httpsPort }: Pick<Config, 'httpsPort'>, host: string, path: string): string {
  return `https://${host}${httpsPort === usualPort ? '' : `:${httpsPort}`}${path}`
}
