/**
 * Reads a request's line and headers once, and writes those that its target gets. What could be read in two ways by two
 * servers is refused here, so that a target and the ingress never disagree about where a request ends.
 */
import { isHopByHop, namedByConnection } from '#src/drivers/hop-by-hop.ts'
import { ingressLimits as limits } from './limits.ts'
import { originLines, type GivenOrigin, type Peer } from './peers.ts'

/** A request as its client made it. `headers`: names and values in turn, as they came. */
export type GivenRequest = {
  method: string
  url: string
  headers: readonly string[]
  peer: Peer
  /** HTTP/2 says host and length in its own way, and sends cookies in parts. */
  isHttp2: boolean
  /** A web socket is asked for. */
  isUpgrade: boolean
  /** Whether more than headers come, where HTTP/2 says so. */
  hasBody?: boolean
}

/** How a body ends, where there is one. */
export type BodyKind = 'none' | 'length' | 'chunked'

/** What was read of it. */
export type ReadRequest = {
  /** In lower case, without a port. */
  host: string
  /** As it was given. */
  authority: string
  /** The path and the query. */
  path: string
  body: BodyKind
  /** Whether its client waits for 100 Continue before it sends the body. */
  expectsContinue: boolean
  /** Whether nothing more may be read from its connection: behind an upgrade that is not made, Node leaves it out. */
  isLast: boolean
  /** Whether its client came by HTTPS: to us, or to a trusted proxy. */
  isSecure: boolean
  /** What the target gets, without the end of the headers: more may be added. */
  head: string
}

/** Why a request is refused before anybody is asked. */
export class BadRequest extends Error {
  override name = 'BadRequest'
  readonly status: number

  constructor(sentence: string, status = 400) {
    super(sentence)
    this.status = status
  }
}

type Kind =
  | 'host'
  | 'connection'
  | 'length'
  | 'encoding'
  | 'expect'
  | 'origin'
  | 'cookie'
  | 'upgrade'
  | 'dropped'
  | 'plain'

const originNames = [
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-server',
  'x-real-ip',
  'forwarded',
]
const kinds = new Map<string, Kind>([
  ['host', 'host'],
  ['connection', 'connection'],
  ['content-length', 'length'],
  ['transfer-encoding', 'encoding'],
  ['expect', 'expect'],
  ['cookie', 'cookie'],
  ['upgrade', 'upgrade'],
  ...originNames.map((name) => [name, 'origin'] as const),
])
/** As most clients write them. */
for (const name of ['Host', 'Connection', 'Content-Length', 'Transfer-Encoding', 'Cookie'])
  kinds.set(name, kinds.get(name.toLowerCase()) ?? 'plain')
for (const name of [
  'Accept',
  'Accept-Encoding',
  'User-Agent',
  'Content-Type',
  'accept',
  'user-agent',
  'accept-encoding',
])
  kinds.set(name, 'plain')

/** Some servers take `_` for `-`: then this would be another way to write what we set. */
function kindOf(name: string): Kind {
  const known = kinds.get(name)
  if (known) return known
  const lower = name.toLowerCase()
  const found = kinds.get(lower)
  if (found) return found
  if (isHopByHop(lower)) return 'dropped'
  if (lower.includes('_') && originNames.includes(lower.replaceAll('_', '-'))) return 'dropped'
  return 'plain'
}

/** Whether all characters are bytes, and none of them ends a line: what HTTP/2 can carry, and HTTP/1.1 cannot. */
function isOfBytes(headers: readonly string[]): boolean {
  return headers.every((text) => !/[\r\n]|[^ -\xff\t]/.test(text))
}

type Parts = {
  hosts: number
  authority: string
  lengths: number
  length: string
  encodings: number
  encoding: string
  connection: string
  expects: string
  cookies: string
  asksUpgrade: boolean
  origin: GivenOrigin | null
  lines: string
}

/** Reads it. @throws BadRequest */
export function readRequest(given: GivenRequest): ReadRequest {
  const { method, headers, peer, isHttp2, isUpgrade } = given
  if (headers.length > limits.headersMax * 2) throw new BadRequest('The request has too many headers.', 431)
  const parts = readHeaders(given, null)
  if (isHttp2 && !isOfBytes(headers)) throw new BadRequest('The request has a header that is no text.')
  const { authority } = parts
  const path = readTarget(given, authority)
  if (isHttp2 && !/^[!-~\x80-\xff]+$/.test(path)) throw new BadRequest('The request asks for no proper path.')
  if (isHttp2 && !/^[A-Z-]{1,32}$/.test(method)) throw new BadRequest('The request has an unknown method.', 501)
  const host = hostOf(authority)
  const body = bodyOf(given, parts)
  if (isUpgrade && body !== 'none') throw new BadRequest('A request for a web socket has no body.')
  const named = isHttp2 ? null : namedByConnection(parts.connection.toLowerCase())
  const lines = named ? readHeaders(given, named).lines : parts.lines
  const hop = isUpgrade ? 'Connection: Upgrade\r\nUpgrade: websocket\r\n' : ''
  const framing =
    body === 'length'
      ? `Content-Length: ${parts.length}\r\n`
      : body === 'chunked'
        ? 'Transfer-Encoding: chunked\r\n'
        : ''
  const expectsContinue = parts.expects !== '' && body !== 'none'
  const expect = expectsContinue ? 'Expect: 100-continue\r\n' : ''
  const cookies = parts.cookies === '' ? '' : `Cookie: ${parts.cookies}\r\n`
  const origin = originLines(peer, authority, peer.isTrusted ? (parts.origin ?? noOrigin) : null)
  return {
    host,
    authority,
    path,
    body,
    expectsContinue,
    isLast: parts.asksUpgrade && !isUpgrade,
    isSecure: peer.isSecure || (peer.isTrusted && parts.origin?.proto === 'https'),
    head: `${method} ${path} HTTP/1.1\r\nHost: ${authority}\r\n${lines}${cookies}${framing}${expect}${hop}${origin}`,
  }
}

const noOrigin: GivenOrigin = { for: null, proto: null, host: null }

/** @param named headers that are for this connection only, besides the usual ones */
function readHeaders({ headers, isHttp2, peer }: GivenRequest, named: ReadonlySet<string> | null): Parts {
  const parts: Parts = {
    hosts: 0,
    authority: '',
    lengths: 0,
    length: '',
    encodings: 0,
    encoding: '',
    connection: '',
    expects: '',
    cookies: '',
    asksUpgrade: false,
    origin: null,
    lines: '',
  }
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? ''
    const value = headers[at + 1] ?? ''
    const kind = kindOf(name)
    if (kind === 'plain' || (kind === 'cookie' && !isHttp2)) {
      if (!named?.has(name.toLowerCase())) parts.lines += `${name}: ${value}\r\n`
    } else if (kind === 'cookie') parts.cookies += parts.cookies === '' ? value : `; ${value}`
    else if (kind === 'host') {
      parts.hosts++
      parts.authority = value
    } else if (kind === 'length') {
      parts.lengths++
      parts.length = value
    } else if (kind === 'encoding') {
      parts.encodings++
      parts.encoding = value
    } else if (kind === 'connection') parts.connection += parts.connection === '' ? value : `,${value}`
    else if (kind === 'expect') parts.expects = value
    else if (kind === 'upgrade') parts.asksUpgrade = true
    else if (kind === 'origin' && peer.isTrusted)
      parts.origin = noteOrigin(parts.origin ?? { ...noOrigin }, name, value)
  }
  if (parts.hosts !== 1) throw new BadRequest('The request must say one host.')
  return parts
}

function noteOrigin(origin: GivenOrigin, name: string, value: string): GivenOrigin {
  const lower = name.toLowerCase()
  if (lower === 'x-forwarded-for') origin.for = origin.for === null ? value : `${origin.for}, ${value}`
  if (lower === 'x-forwarded-proto' && (value === 'http' || value === 'https')) origin.proto = value
  if (lower === 'x-forwarded-host' && isAuthority(value)) origin.host = value
  return origin
}

/** How the request's body ends. @throws BadRequest where it says that twice, or in no way that there is */
function bodyOf(
  { isHttp2, isUpgrade, hasBody }: GivenRequest,
  { lengths, length, encodings, encoding, expects }: Parts,
): BodyKind {
  if (expects !== '' && expects.toLowerCase() !== '100-continue')
    throw new BadRequest('The request expects what nobody can do.', 417)
  if (encodings > 0) {
    if (lengths > 0 || encodings > 1) throw new BadRequest('The request says more than once how long its body is.')
    if (isHttp2 || encoding.toLowerCase() !== 'chunked')
      throw new BadRequest('The request has a transfer encoding other than chunked.', 501)
    return 'chunked'
  }
  if (lengths === 0) return isHttp2 && hasBody ? 'chunked' : 'none'
  if (lengths > 1 || !isNumber(length)) throw new BadRequest('The request says no proper length of its body.')
  return isUpgrade && Number(length) === 0 ? 'none' : 'length'
}

const lengthDigitsMax = 15
function isNumber(text: string): boolean {
  if (text === '' || text.length > lengthDigitsMax) return false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code < 0x30 || code > 0x39) return false
  }
  return true
}

/** The path and query that are asked for. @throws BadRequest */
function readTarget({ method, url }: GivenRequest, authority: string): string {
  if (url.includes('#')) throw new BadRequest('The request asks for a path with #, which clients keep to themselves.')
  if (url.charCodeAt(0) === 0x2f) return url
  if (url === '*' && method === 'OPTIONS') return url
  const scheme = /^https?:\/\//i.exec(url)?.[0]
  if (scheme === undefined) throw new BadRequest('The request asks for no path.')
  const rest = url.slice(scheme.length)
  const end = rest.search(/[/?#]/)
  const given = end < 0 ? rest : rest.slice(0, end)
  if (given.toLowerCase() !== authority.toLowerCase())
    throw new BadRequest('The request names two hosts: one in its first line, and another as its host.')
  const path = end < 0 ? '/' : rest.slice(end)
  return path.startsWith('/') ? path : `/${path}`
}

/** Whether this is a host with or without a port, of the characters that names and addresses have. */
function isAuthority(text: string): boolean {
  return /^(?:[A-Za-z0-9._-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?$/.test(text)
}

/** The host of an authority, in lower case, without its port and a dot at its end. @throws BadRequest */
function hostOf(authority: string): string {
  if (!isAuthority(authority)) throw new BadRequest('The request names no proper host.')
  let end = authority.length
  if (authority.charCodeAt(0) === 0x5b) end = authority.indexOf(']') + 1
  else {
    const colon = authority.indexOf(':')
    if (colon >= 0) end = colon
    if (end > 1 && authority.charCodeAt(end - 1) === 0x2e) end--
  }
  return authority.slice(0, end).toLowerCase()
}
