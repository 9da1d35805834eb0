/**
 * The `fetch` for URLs that users and agents choose: tool servers, token endpoints. Every connection is guarded, also
 * after redirects, and bodies are limited. Hosts that the operator lists may be private, and are the only ones reached
 * without TLS.
 */
import { fetch, type Agent } from 'undici'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { JoinedPieces } from './joined-pieces.ts'
import { guardedAgent, isOpened, isOpenedUrl, OutboundError } from './outbound.ts'
import { startOfUtf8 } from '#src/platform/texts.ts'

/** The standard `fetch`, guarded. Its errors' `cause` is an OutboundError when a connection was not made. */
export type OutboundFetch = (url: string | URL, init?: RequestInit) => Promise<Response>

/** The maximum body of a response, bytes. */
const bodyBytesMax = 32 * 1024 * 1024
/** Open connections to one origin. */
const connectionsPerOrigin = 20

const agents = new Map<string, Agent>()

/** How much may be read from several responses together; `tooMuch` is called when that is exceeded. */
export type BodyAllowance = { bytesMax: number; tooMuch: (error: OutboundError) => void }

/**
 * The process's guarded fetch for these settings.
 * @param together the limit for all responses together; without it each may have 32 MiB.
 */
export function outboundFetch(
  { privateHosts }: { privateHosts: readonly string[] },
  together?: BodyAllowance,
): OutboundFetch {
  const count = together && countUpTo(together)
  const agent = agentOf(privateHosts)
  return async (url, init = {}) => {
    if (!mayBeAsked(privateHosts, new URL(url)))
      throw new OutboundError(
        'refused',
        'Only https:// URLs are allowed, and http:// for hosts that the operator lists in BERTH_PRIVATE_HOSTS.',
      )
    // undici's own types are the standard's; TypeScript knows them under two names.
    const response = await fetch(url, { ...(init as object), dispatcher: agent })
    return limited(response as unknown as Response, count ?? countUpTo({ bytesMax: bodyBytesMax }))
  }
}

/**
 * Reads the URL of a server that a user names: https, or http for a host that the operator lists.
 * @param field the caller's name for it.
 * @returns the text as it was given, and its normal form for comparisons.
 * @throws BerthError invalid_request.
 */
export function readServerUrl(
  { privateHosts }: { privateHosts: readonly string[] },
  given: string,
  field: string,
): { text: string; normal: string } {
  const url = given.length <= limits.serverUrlLength ? URL.parse(given) : null
  const plain =
    url && url.username === '' && url.password === '' && url.hash === '' && url.href.length <= limits.serverUrlLength
  if (!plain || !mayBeAsked(privateHosts, url)) {
    throw new BerthError(
      'invalid_request',
      `${field} must be an https:// address of at most ${limits.serverUrlLength} characters, without a user name, password or fragment; http:// is allowed for hosts that the operator lists in BERTH_PRIVATE_HOSTS.`,
    )
  }
  return { text: given, normal: normalServerUrl(given) }
}

/** The normal form of a server's URL for comparisons; empty for a text that is not a URL. */
export function normalServerUrl(text: string): string {
  return URL.parse(text)?.href.replace(/\/$/, '') ?? ''
}

/** The beginning of a response's body as text, and whether there was more. The rest is not read. */
export async function readBeginning(
  response: Response,
  bytesMax: number,
): Promise<{ text: string; truncated: boolean }> {
  const pieces = new JoinedPieces()
  for await (const { buffer, byteOffset, byteLength } of response.body ?? []) {
    pieces.add(Buffer.from(buffer, byteOffset, byteLength))
    if (pieces.bytes > bytesMax) break // leaving the loop cancels the rest
  }
  const { bytes } = pieces
  return { text: startOfUtf8(pieces.take() ?? Buffer.alloc(0), bytesMax), truncated: bytes > bytesMax }
}

/** Whether requests may go to this URL: https, or http for a host that the operator lists. */
export function mayBeAsked(privateHosts: readonly string[], url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isOpenedUrl(privateHosts, url))
}

function agentOf(privateHosts: readonly string[]): Agent {
  const key = privateHosts.join()
  const known = agents.get(key)
  if (known) return known
  const made = guardedAgent({
    connections: connectionsPerOrigin,
    isOpen: (host, port) => isOpened(privateHosts, host, port),
  })
  agents.set(key, made)
  return made
}

/** Counts bytes. @returns a function that returns the error once they are too many. */
function countUpTo({
  bytesMax,
  tooMuch,
}: Omit<BodyAllowance, 'tooMuch'> & Partial<BodyAllowance>): (bytes: number) => OutboundError | null {
  let sum = 0
  return (bytes) => {
    sum += bytes
    if (sum <= bytesMax) return null
    const error = new OutboundError('refused', `The host answered with more than ${bytesMax / 1024 / 1024} MiB.`)
    tooMuch?.(error)
    return error
  }
}

/**
 * The response with a body that fails when it is too large after decompression: a few bytes may expand to gigabytes.
 */
function limited(response: Response, count: (bytes: number) => OutboundError | null): Response {
  if (!response.body) return response
  const counted = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const error = count(chunk.byteLength)
        if (error) controller.error(error)
        else controller.enqueue(chunk)
      },
    }),
  )
  return new Response(counted, { status: response.status, statusText: response.statusText, headers: response.headers })
}
