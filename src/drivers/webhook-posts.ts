/**
 * Posts webhooks to addresses that users choose: by guarded connections of their own, without following redirects, and
 * reading no more of an answer than the beginning of a refusal.
 */
import { request, type Agent, type Dispatcher } from 'undici'
import { BerthError } from '#src/platform/errors.ts'
import { readServerUrl } from './outbound-fetch.ts'
import { causesOf, guardedAgent, isOpened, OutboundError } from './outbound.ts'
import { startOfUtf8 } from '#src/platform/texts.ts'

/** Bytes of a body that nobody reads; with more its connection is closed. */
const ignoredBytes = 16 * 1024

/** What is posted. `limitMs`: for all of it. `answerBytes`: of a refusal that are read. */
export type WebhookPost = {
  url: string
  headers: Readonly<Record<string, string>>
  body: string
  limitMs: number
  answerBytes: number
  signal: AbortSignal
}

/** The answer to a post. `problem`: why it does not count as received; null when it does. */
export type PostResult = { responseStatus: number | null; problem: string | null; answer: string | null }

/** Posts webhooks; `close` ends the connections that are kept. */
export type WebhookPoster = { post: (given: WebhookPost) => Promise<PostResult>; close: () => Promise<void> }

/** Makes a poster. @param atOnce how many posts are under way at most, so that none waits for another's connection. */
export function createWebhookPoster(
  config: { privateHosts: readonly string[] },
  { atOnce }: { atOnce: number },
): WebhookPoster {
  const { privateHosts } = config
  const agent = guardedAgent({
    connections: atOnce,
    isOpen: (host, port) => isOpened(privateHosts, host, port),
  })
  return {
    async post(given) {
      const limit = AbortSignal.timeout(given.limitMs)
      try {
        readServerUrl(config, given.url, 'url') // the operator may have closed the host meanwhile
        return await exchange(agent, given, AbortSignal.any([limit, given.signal]))
      } catch (error) {
        if (given.signal.aborted) throw error
        return { responseStatus: null, problem: problemOf(error, limit.aborted, given.limitMs), answer: null }
      }
    },
    close: () => agent.destroy(),
  }
}

/** @throws whatever kept the answer from coming. One whose status has come is never lost. */
async function exchange(
  dispatcher: Agent,
  { url, headers, body, answerBytes }: WebhookPost,
  signal: AbortSignal,
): Promise<PostResult> {
  const { statusCode, body: stream } = await request(url, { method: 'POST', headers, body, dispatcher, signal })
  stream.on('error', () => undefined) // it may be cut
  if (statusCode >= 200 && statusCode < 300) {
    stream.dump({ limit: ignoredBytes, signal }).catch(() => undefined) // so that the connection can be used again
    return { responseStatus: statusCode, problem: null, answer: null }
  }
  const redirect = statusCode >= 300 && statusCode < 400 ? ', a redirect; those are not followed' : ''
  return {
    responseStatus: statusCode,
    problem: `It answered ${statusCode}${redirect}.`,
    answer: await beginningOf(stream, answerBytes),
  }
}

/** What has come of the beginning of a body until there is enough, or no more. */
async function beginningOf(stream: Dispatcher.ResponseData['body'], bytesMax: number): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of stream) {
      const piece = chunk as Buffer // a body without an encoding is read as bytes
      chunks.push(piece)
      bytes += piece.length
      if (bytes >= bytesMax) break
    }
  } catch {
    // The rest was too slow, or was cut: the status counts.
  }
  return startOfUtf8(Buffer.concat(chunks), bytesMax)
}

function problemOf(error: unknown, isLate: boolean, limitMs: number): string {
  if (isLate) return `It did not answer within ${limitMs / 1000} s.`
  const causes = causesOf(error)
  const known = causes.find((cause) => cause instanceof OutboundError || cause instanceof BerthError)
  if (known) return known.message
  const code = causes.map((cause) => (cause as NodeJS.ErrnoException).code).findLast((one) => typeof one === 'string')
  return `The connection failed${code ? `: ${code}` : ''}.`
}
