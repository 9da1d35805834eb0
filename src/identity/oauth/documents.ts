/** Metadata documents of programs: an https address that is the program's id, and says what it is and where it is sent back to. */
import { z } from 'zod'
import { createBoundedMap } from '#src/platform/caches/bounded-map.ts'
import { log } from '#src/platform/log.ts'
import type { Services } from '#src/platform/services.ts'
import { mayBeAsked, outboundFetch, readBeginning } from '#src/drivers/outbound-fetch.ts'
import { jsonOf } from '#src/drivers/models/json-values.ts'
import { clientLimits } from '#src/resources/identity/authorizations/limits.ts'
import { OAuthError } from './errors.ts'
import { mayRedirectTo } from './redirects.ts'

const { idLength, nameLength, redirectUrisMax, documentBytes, documentSeconds, documentMinutes, documentsMax } =
  clientLimits
const { documentsPerMinute, documentsPerAddress, documentsPerHost, documentFailureSeconds } = clientLimits

const shape = z.object({
  client_id: z.string(),
  client_name: z.string().trim().min(1).max(nameLength).optional(),
  redirect_uris: z.array(z.string().refine(mayRedirectTo)).min(1).max(redirectUrisMax),
  token_endpoint_auth_method: z.literal('none').optional(), // no program has a secret here
})

/** What such a document says. */
export type ClientDocument = { name: string; host: string; redirectUris: readonly string[] }
/**
 * Finds them. `address`: of who asks, as `networkOf` has it.
 * @throws OAuthError invalid_client; BerthError rate_limited.
 */
export type FindDocument = (clientId: string, address: string) => Promise<ClientDocument>

/** Whether an id is the address of such a document. */
export function isDocumentAddress(privateHosts: readonly string[], clientId: string): boolean {
  const url = clientId.length <= idLength ? URL.parse(clientId) : null
  return (
    url !== null &&
    mayBeAsked(privateHosts, url) &&
    url.href === clientId &&
    url.pathname !== '/' &&
    url.hash === '' &&
    url.username === '' &&
    url.password === ''
  )
}

/**
 * Makes what fetches them, from public addresses only, and remembers each for some minutes, and for less that one could not be
 * had. Whoever names many of them uses up what there is for their address, or for the host of these, before what all have
 * together; one that was there before is fetched again whatever others do.
 */
export function createDocuments({ config, limiter }: Pick<Services, 'config' | 'limiter'>): FindDocument {
  const fetch = outboundFetch(config)
  const known = createBoundedMap<string, { atMs: number; document: ClientDocument }>({ entriesMax: documentsMax })
  const failed = createBoundedMap<string, { atMs: number; error: OAuthError }>({ entriesMax: documentsMax })

  async function read(clientId: string): Promise<ClientDocument> {
    try {
      const document = readDocument(clientId, await fetchText(fetch, clientId))
      known.set(clientId, { atMs: performance.now(), document })
      return document
    } catch (error) {
      if (error instanceof OAuthError) failed.set(clientId, { atMs: performance.now(), error })
      throw error
    }
  }

  return async (clientId, address) => {
    const before = known.get(clientId)
    if (before && performance.now() - before.atMs < documentMinutes * 60_000) return before.document
    const failure = failed.get(clientId)
    if (failure && performance.now() - failure.atMs < documentFailureSeconds * 1000) throw failure.error
    await limiter.spend(`oauth-documents-for:${address}`, documentsPerAddress)
    if (before) return read(clientId)
    await limiter.spend(`oauth-documents-at:${new URL(clientId).host}`, documentsPerHost)
    await limiter.spend('oauth-documents', documentsPerMinute)
    return read(clientId)
  }
}

async function fetchText(fetch: ReturnType<typeof outboundFetch>, clientId: string): Promise<string> {
  try {
    const answer = await fetch(clientId, {
      headers: { accept: 'application/json' },
      redirect: 'error', // the document is at the address that is the id, and nowhere else
      signal: AbortSignal.timeout(documentSeconds * 1000),
    })
    const { text, truncated } = await readBeginning(answer, documentBytes)
    if (answer.status === 200 && !truncated) return text
  } catch (error) {
    log.debug({ err: error, clientId }, 'the document of a program could not be fetched')
  }
  throw new OAuthError(
    'invalid_client',
    `The document at client_id could not be read. It must be there, without a redirect, within ${documentSeconds} s, and have ${documentBytes / 1024} KiB at most.`,
  )
}

function readDocument(clientId: string, text: string): ClientDocument {
  const { success, data } = shape.safeParse(jsonOf(text))
  if (!success || data.client_id !== clientId)
    throw new OAuthError(
      'invalid_client',
      'The document at client_id is not right: it must be JSON with its own address as client_id, redirect_uris with https or loopback addresses, and no other token_endpoint_auth_method than none.',
    )
  const { host } = new URL(clientId)
  return { name: data.client_name ?? host.slice(0, nameLength), host, redirectUris: data.redirect_uris }
}
