/**
 * The cookie of a session in a browser. It counts only for requests that our own pages send: a browser says by `Origin`, which
 * no page can forge, whose page it is, and SameSite keeps the cookie from all others besides.
 */
import type { IncomingMessage } from 'node:http'
import type { Config } from '#src/platform/config.ts'
import { isToken } from '#src/platform/ids.ts'
import type { BrowserCookie } from '#src/platform/tokens.ts'
import { isLocalHost } from '#src/platform/tokens/sign-in-code.ts'
import { browserSessionLimits } from '#src/resources/identity/browser-sessions/limits.ts'

type Address = Pick<Config, 'publicUrl'>
const sessionName = 'berth'

/** A cookie's name: with `__Host-`, a browser takes it by HTTPS only, and from no other host of the same domain. */
function hostOnly(name: string, { publicUrl }: Address): string {
  return isSecure(publicUrl) ? `__Host-${name}` : name
}

function isSecure(publicUrl: string): boolean {
  return publicUrl.startsWith('https:')
}

/** The cookie, when one of our own pages sent the request. */
export function ownCookieOf({ headers }: Pick<IncomingMessage, 'headers'>, config: Address): BrowserCookie | undefined {
  if (headers.cookie === undefined || !isFromOurPage(headers, config)) return undefined
  return cookieIn(headers.cookie, config)
}

/** The cookie in a header, whoever sent it; undefined where there is none, more than one, or none of the right form. */
export function cookieIn(header: string, config: Address): BrowserCookie | undefined {
  const secret = valueIn(header, sessionName, config)
  return secret !== undefined && isToken(secret) ? { cookie: secret } : undefined
}

/** The value of one of our cookies in a header; undefined where there is none, or more than one. */
export function valueIn(header: string, name: string, config: Address): string | undefined {
  const start = `${hostOnly(name, config)}=`
  const found = header
    .split(';')
    .map((one) => one.trim())
    .filter((one) => one.startsWith(start))
  return found.length === 1 ? found[0]?.slice(start.length) : undefined
}

/** Whether one of our own pages sent a request. */
export function isFromOurPage(headers: IncomingMessage['headers'], { publicUrl }: Address): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') return false
  const { origin, host = '' } = headers
  if (origin === undefined) return false
  const own = new URL(publicUrl)
  return origin === own.origin || (isLocalHost(own.host) && isLocalHost(host) && origin === `http://${host}`)
}

/** The value of `Set-Cookie` that begins a session. */
export function cookieBeginning(config: Address, secret: string): string {
  return setCookie(config, sessionName, secret, browserSessionLimits.lifetimeDays * 86_400, 'Strict')
}

/** The value of `Set-Cookie` that removes it. */
export function cookieEnding(config: Address): string {
  return setCookie(config, sessionName, '', 0, 'Strict')
}

/** The value of `Set-Cookie` for one of our cookies, which no script reads; with 0 seconds it is removed. */
export function setCookie(
  config: Address,
  name: string,
  value: string,
  seconds: number,
  sameSite: 'Strict' | 'Lax',
): string {
  const secure = isSecure(config.publicUrl) ? '; Secure' : ''
  return `${hostOnly(name, config)}=${value}; Max-Age=${seconds}; Path=/; HttpOnly; SameSite=${sameSite}${secure}`
}
