/** Where a program may be sent back to with its code, and which of its addresses a request means. */
import { clientLimits } from '#src/resources/identity/authorizations/limits.ts'

const loopbackHosts = ['127.0.0.1', '[::1]', 'localhost']
/** Programs whose own scheme has no dot, as it should have (RFC 8252 §7.1), because they were made before. */
const knownSchemes = ['cursor:', 'vscode:', 'vscode-insiders:', 'windsurf:']

/**
 * Whether a program may register an address: https anywhere; http on the person's own machine; or the scheme of a program that is
 * installed there, which has a dot, as names of hosts do. No scheme that a browser runs by itself.
 */
export function mayRedirectTo(text: string): boolean {
  const url = text.length <= clientLimits.redirectUriLength && /^[\x21-\x7e]+$/.test(text) ? URL.parse(text) : null
  if (!url || text.includes('#') || url.username !== '' || url.password !== '') return false
  if (url.protocol === 'https:') return true
  if (url.protocol === 'http:') return isLoopback(url)
  return url.protocol.includes('.') || knownSchemes.includes(url.protocol)
}

/** Whether a browser that goes there stays on the person's own machine. */
export function isLoopback({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && loopbackHosts.includes(hostname)
}

/** Whether an address is one of those registered: exactly, but for the port of one on the person's own machine (RFC 8252 §7.3). */
export function isRegistered(registered: readonly string[], given: string): boolean {
  if (!mayRedirectTo(given)) return false
  if (registered.includes(given)) return true
  const wanted = withoutPort(given)
  return wanted !== null && registered.some((one) => withoutPort(one) === wanted)
}

function withoutPort(text: string): string | null {
  const url = new URL(text)
  if (!isLoopback(url)) return null
  url.port = ''
  return url.href
}

/** What a person is told of an address: its host, or its scheme; null for their own machine. */
export function placeOf(redirectUri: string): string | null {
  const url = new URL(redirectUri)
  if (isLoopback(url)) return null
  return url.protocol === 'https:' ? url.host : url.protocol
}
