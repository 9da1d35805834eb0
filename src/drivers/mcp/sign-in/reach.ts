/**
 * How servers are reached for a sign-in, and how their answers come to the protocol's library: it would parse and check
 * whatever is sent at once, so it sees only what was read in steps, and is not too much.
 */
import type { FetchLike } from '@modelcontextprotocol/client'
import { JsonAnswerError, readAnswer } from '#src/platform/json/answers.ts'
import { connectorLimits } from '#src/platform/limits/connectors.ts'
import { JoinedPieces } from '../../joined-pieces.ts'
import { mayBeAsked, outboundFetch, type BodyAllowance, type OutboundFetch } from '../../outbound-fetch.ts'
import { SignInError } from './errors.ts'

/** How a server is reached: `mayOpen` says which addresses may be asked, and opened in a browser. */
export type SignInReach = { fetch: OutboundFetch; mayOpen: (url: URL) => boolean }

/** Reaches servers until the signal says otherwise, and for `signInBytes` of answers together. */
export function signInReach(
  { privateHosts }: { privateHosts: readonly string[] },
  signal: AbortSignal,
  tooMuch: BodyAllowance['tooMuch'],
): SignInReach {
  const ask = outboundFetch({ privateHosts }, { bytesMax: connectorLimits.signInBytes, tooMuch })
  return {
    fetch: (url, init) => ask(url, { ...init, signal: init?.signal ? AbortSignal.any([signal, init.signal]) : signal }),
    mayOpen: (url) => mayBeAsked(privateHosts, url),
  }
}

/** The same for the library. What is no JSON comes to it empty. @throws SignInError for too many values in one answer. */
export function libraryFetch({ fetch }: SignInReach): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init)
    const { status, statusText, headers } = response
    const gathered = new JoinedPieces()
    for await (const { buffer, byteOffset, byteLength } of response.body ?? [])
      gathered.add(Buffer.from(buffer, byteOffset, byteLength))
    const bytes = gathered.take()
    const text = bytes === null ? null : await readJsonText(bytes)
    return new Response(text, { status, statusText, headers })
  }
}

const most = { parts: connectorLimits.signInParts, numbers: connectorLimits.signInParts }

async function readJsonText(bytes: Buffer): Promise<string | null> {
  try {
    return JSON.stringify(await readAnswer(bytes, most))
  } catch (error) {
    if (!(error instanceof JsonAnswerError)) throw error
    if (error.reason === 'not_json') return ''
    throw new SignInError('unsuitable', `The service answers with more than ${most.parts} values, which is the limit.`)
  }
}
