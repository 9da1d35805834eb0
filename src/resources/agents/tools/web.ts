/** `web_fetch` and `web_search`: web pages as text, fetched through guarded connections. */
import type { Config } from '#src/platform/config.ts'
import { readBeginning, outboundFetch } from '#src/drivers/outbound-fetch.ts'
import { causesOf, OutboundError } from '#src/drivers/outbound.ts'
import { charactersPerToken } from '#src/drivers/models/estimates.ts'
import { readAnswer } from '#src/platform/json/answers.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { noMasker, type Masker } from '#src/platform/masking.ts'
import { createThread, ThreadError } from '#src/platform/threads.ts'
import type { WebRestrictions } from '#src/resources/agents/agents/rows.ts'
import { searchWords, whyRestricted } from '../agents/web-restrictions.ts'
import { answered, cutEnd, failed, type ToolResult } from './results.ts'

const fetchMs = 30_000
const bytesMax = 2 * 1024 * 1024
const redirectsMax = 5
const resultsMax = 10
const urlLength = 2048
/** Pages come from anywhere, so they are parsed in a worker thread. */
const pages = createThread<string, string>(new URL('./page-thread.ts', import.meta.url), {
  memoryMegabytes: 256,
  answerMs: 5_000,
  waitingMax: 50,
})
const readable = /^(?:text\/|application\/(?:[\w.+-]*\+)?(?:json|xml|yaml|javascript)\b)/

/**
 * Reads a page, up to the size that the agent may read; the text is masked before it is truncated. Never throws for
 * what the page or its host does.
 */
export async function fetchPage(
  config: Pick<Config, 'privateHosts'>,
  given: string,
  restrictions: WebRestrictions,
  signal: AbortSignal,
  masker: Masker = noMasker,
): Promise<ToolResult> {
  try {
    const response = await getFollowing(
      config,
      given,
      restrictions,
      AbortSignal.any([signal, AbortSignal.timeout(fetchMs)]),
    )
    const usage = { webFetchRequests: 1 }
    const type = response.headers.get('content-type') ?? ''
    if (!readable.test(type)) {
      await response.body?.cancel()
      return {
        ...failed(
          `The address answered ${response.status} with ${type.slice(0, 100) || 'no content type'}, which is not text.`,
        ),
        usage,
      }
    }
    const { text, truncated } = await readBeginning(response, bytesMax)
    const plain = cutEnd(
      await masker.longText(type.includes('html') ? await pages.ask(text) : text),
      (restrictions.max_content_tokens ?? Infinity) * charactersPerToken,
    )
    const shown = `${response.url}\n\n${plain}${truncated ? `\n[Cut: only the first ${bytesMax / 1024 / 1024} MiB were read.]` : ''}`
    return { ...(response.ok ? answered(shown) : failed(`The address answered ${response.status}.\n${shown}`)), usage }
  } catch (error) {
    signal.throwIfAborted()
    return failed(whyNot(error))
  }
}

/**
 * Searches with the operator's search engine, which must answer `?q=…&format=json` as SearXNG does. Results that the
 * agent may not reach are left out.
 */
export async function searchWeb(
  { searchUrl }: Pick<Config, 'searchUrl'>,
  query: string,
  restrictions: WebRestrictions,
  signal: AbortSignal,
  masker: Masker = noMasker,
): Promise<ToolResult> {
  if (searchUrl === null) return failed('No search engine is set up here.')
  try {
    const url = new URL(searchUrl)
    url.searchParams.set('q', `${query}${searchWords(restrictions)}`)
    url.searchParams.set('format', 'json')
    const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(fetchMs)]) }) // the operator's own URL, which may be private
    const { text } = await readBeginning(response, bytesMax)
    if (!response.ok) return failed(`The search engine answered ${response.status}. Try again later.`)
    const { results = [] } = (await readAnswer(Buffer.from(text), {
      parts: limits.jsonParts,
      numbers: limits.jsonNumbers,
    })) as { results?: { title?: unknown; url?: unknown; content?: unknown }[] } // SearXNG's format
    const lines = results
      .filter(({ url: found }) => isShown(restrictions, found))
      .slice(0, resultsMax)
      .map((one) => [one.title, one.url, one.content].filter((part) => typeof part === 'string').join('\n'))
    return {
      ...answered(lines.length > 0 ? await masker.longText(lines.join('\n\n')) : 'Nothing was found.'),
      usage: { webSearchRequests: 1 },
    }
  } catch (error) {
    signal.throwIfAborted()
    log.warn(
      { reason: error instanceof Error ? error.message : String(error) },
      'the search engine could not be reached',
    )
    return failed('The search engine could not be reached. Try again later.')
  }
}

function isShown(restrictions: WebRestrictions, found: unknown): boolean {
  if (!restrictions.allowed_domains && !restrictions.blocked_domains) return true
  const url = typeof found === 'string' ? URL.parse(found) : null
  return url !== null && whyRestricted(restrictions, url) === null
}

/** Follows redirects with the same checks at every hop: a page's redirect is trusted as little as a model's URL. */
async function getFollowing(
  config: Pick<Config, 'privateHosts'>,
  given: string,
  restrictions: WebRestrictions,
  signal: AbortSignal,
): Promise<Response & { url: string }> {
  const fetchGuarded = outboundFetch(config)
  let url = addressOf(given)
  for (let hops = 0; hops <= redirectsMax; hops++) {
    const refusal = whyRestricted(restrictions, url)
    if (refusal)
      throw new OutboundError('refused', hops === 0 ? refusal : `The address redirects to ${url.hostname}. ${refusal}`)
    const response = await fetchGuarded(url, {
      signal,
      redirect: 'manual',
      headers: { accept: 'text/*, application/json;q=0.9, */*;q=0.1', 'user-agent': 'Berth' },
    })
    const location = response.headers.get('location')
    if (response.status < 300 || response.status > 399 || location === null)
      return Object.defineProperty(response, 'url', { value: url.href }) as Response & { url: string }
    await response.body?.cancel()
    const next = URL.parse(location, url)
    if (!next || next.username !== '' || next.password !== '')
      throw new OutboundError(
        'refused',
        'The address redirects to something that is not a URL, or that contains a user name.',
      )
    url = next
  }
  throw new OutboundError('refused', `The address redirects more than ${redirectsMax} times.`)
}

function addressOf(given: string): URL {
  const url = given.length <= urlLength ? URL.parse(given) : null
  if (!url || url.username !== '' || url.password !== '')
    throw new OutboundError(
      'refused',
      `url must be an https:// address of at most ${urlLength} characters, without a user name.`,
    )
  return url
}

function whyNot(error: unknown): string {
  for (const cause of causesOf(error)) {
    if (cause instanceof OutboundError) return cause.message
    if (cause instanceof ThreadError)
      return cause.reason === 'busy' ? cause.message : 'The page could not be turned into text in time.'
    if (cause.name === 'TimeoutError') return `The address did not answer within ${fetchMs / 1000} s.`
  }
  return 'The address could not be reached.'
}
