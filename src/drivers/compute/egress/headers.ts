/** The headers that a proxy passes on and those that end at it (RFC 9110 §7.6.1). */
import type { IncomingMessage } from 'node:http'

const hopByHop: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** The end-to-end headers, as a flat list of names and values: without hop-by-hop headers, those that `Connection` names, and `also`. */
export function endToEnd(rawHeaders: readonly string[], also: readonly string[] = []): string[] {
  const named = new Set<string>()
  const kept: string[] = []
  for (const [name, value] of pairs(rawHeaders)) {
    if (name.toLowerCase() === 'connection') for (const one of value.split(',')) named.add(one.trim().toLowerCase())
  }
  named.delete('content-length') // it frames the body: no Connection header may take it away
  const dropped = named.union(new Set(also))
  for (const [name, value] of pairs(rawHeaders)) {
    if (!hopByHop.has(name.toLowerCase()) && !dropped.has(name.toLowerCase())) kept.push(name, value)
  }
  return kept
}

/**
 * How the body of a forwarded request is delimited. Without this, Node sends a GET's body unframed, and the next hop
 * would read it as another request.
 */
export function framing(req: IncomingMessage): string[] {
  if (req.headers['transfer-encoding'] !== undefined) return ['Transfer-Encoding', 'chunked']
  if (req.headers['content-length'] !== undefined) return [] // an end-to-end header, passed on already
  return ['POST', 'PUT', 'PATCH'].includes(req.method ?? '') ? ['Content-Length', '0'] : []
}

function* pairs(rawHeaders: readonly string[]): Generator<[string, string]> {
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) yield [rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '']
}
