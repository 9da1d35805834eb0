/** The headers that a proxy passes on and those that end at it (RFC 9110 §7.6.1). */
import type { IncomingMessage } from 'node:http'
import { isHopByHop, namedByConnection } from '#src/drivers/hop-by-hop.ts'

/** The end-to-end headers, as a flat list of names and values: without hop-by-hop headers, those that `Connection` names, and `also`. */
export function endToEnd(rawHeaders: readonly string[], also: readonly string[] = []): string[] {
  const connection = [...pairs(rawHeaders)]
    .filter(([name]) => name.toLowerCase() === 'connection')
    .map(([, value]) => value.toLowerCase())
    .join(',')
  const dropped = new Set([...also, ...(namedByConnection(connection) ?? [])])
  const kept: string[] = []
  for (const [name, value] of pairs(rawHeaders)) {
    const lower = name.toLowerCase()
    if (!isHopByHop(lower) && !dropped.has(lower)) kept.push(name, value)
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
