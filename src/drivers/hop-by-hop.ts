/** Headers that are for one connection only, and are not passed on (RFC 9110 §7.6.1): at the ingress, and at the proxy of VMs. */

const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
])
/** What nobody may have dropped by naming it: the next server would read another message than we did. */
const neverNamed = new Set([...hopByHop, 'host', 'content-length', 'close', ''])

/** Whether this one is; its name in lower case. */
export function isHopByHop(name: string): boolean {
  return hopByHop.has(name)
}

/** The further headers that a Connection header (in lower case) names; null for none, as nearly always. */
export function namedByConnection(connection: string): ReadonlySet<string> | null {
  if (connection === '' || connection === 'keep-alive' || connection === 'close') return null
  const named = connection
    .split(',')
    .map((name) => name.trim())
    .filter((name) => !neverNamed.has(name))
  return named.length > 0 ? new Set(named) : null
}
