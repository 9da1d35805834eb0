/**
 * Requests to an ACME authority, as its library sends them. Answers are small by nature: one that is larger is not read,
 * what is read is joined and parsed in steps, and refusals are errors that say what the authority said.
 */
import { fetch } from 'undici'
import type { axios } from 'acme-client'
import { nowMs } from '#src/platform/clock.ts'
import { JsonAnswerError, readAnswer } from '#src/platform/json/answers.ts'
import { certificateLimits } from '#src/platform/limits/certificates.ts'
import { JoiningAgent } from '../joining-agent.ts'
import { causesOf } from '../outbound.ts'
import { readBeginning } from '../outbound-fetch.ts'

/** The authority answered, and refused. */
export class AcmeRefusal extends Error {
  readonly type: string
  readonly status: number
  readonly retryAfterSeconds: number | undefined
  /** @param type the last word of the problem's type, such as `rateLimited`; empty when the answer had none. */
  constructor(type: string, detail: string, status: number, retryAfterSeconds?: number) {
    super(detail)
    this.type = type
    this.status = status
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** The authority gave no answer that can be read: its name, connection, certificate, or the answer's size is the reason. */
export class AcmeUnreachable extends Error {}

/** How axios sends a request. Only what the library uses of an answer is in it. */
type Adapter = Extract<typeof axios.defaults.adapter, (...given: never[]) => unknown>
type Problem = { type?: unknown; detail?: unknown }

const problemPrefix = 'urn:ietf:params:acme:error:'
const most = { parts: certificateLimits.answerParts, numbers: certificateLimits.answerParts }

/**
 * How requests go to an authority that these certificates vouch for. Each has a connection of its own.
 * @throws AcmeRefusal, AcmeUnreachable, from the function that it returns.
 */
export function acmeAdapter(ca: readonly string[]): Adapter {
  const milliseconds = certificateLimits.requestSeconds * 1000
  const dispatcher = new JoiningAgent({
    connect: { ca: [...ca], allowH2: false, timeout: milliseconds },
    pipelining: 0,
  })
  return async (config) => {
    const { status, statusText, headers, text } = await send(config, dispatcher, AbortSignal.timeout(milliseconds))
    const data = await readData(text)
    refuse(status, data, headers['retry-after'])
    return { status, statusText, headers, data, config, request: null }
  }
}

async function send(
  { url = '', method = 'get', headers: sent, data }: Parameters<Adapter>[0],
  dispatcher: JoiningAgent,
  signal: AbortSignal,
) {
  try {
    const body = data === undefined ? {} : { body: String(data) } // the library made it JSON
    const asked = Object.entries(sent.toJSON()).map(([name, value]): [string, string] => [name, String(value)])
    const response = await fetch(url, { method: method.toUpperCase(), headers: asked, ...body, dispatcher, signal })
    const { status, statusText } = response
    const { text, truncated } = await readBeginning(response as unknown as Response, certificateLimits.answerBytes) // the same by another name
    if (truncated) throw new AcmeUnreachable(`its answer is larger than ${certificateLimits.answerBytes} bytes`)
    return { status, statusText, text, headers: Object.fromEntries(response.headers) }
  } catch (error) {
    if (error instanceof AcmeUnreachable) throw error
    const code = causesOf(error).flatMap((cause) => ('code' in cause ? [String(cause.code)] : []))[0]
    throw new AcmeUnreachable(signal.aborted ? 'no answer in time' : (code ?? 'no answer'))
  }
}

/** JSON as its value, all else as text: certificates. */
async function readData(text: string): Promise<unknown> {
  try {
    return await readAnswer(Buffer.from(text), most)
  } catch (error) {
    if (!(error instanceof JsonAnswerError)) throw error
    if (error.reason === 'not_json') return text
    throw new AcmeUnreachable(error.message)
  }
}

/** @throws AcmeRefusal for an answer that refuses; not where the library asks again with another nonce. */
function refuse(status: number, data: unknown, retryAfter: string | undefined): void {
  const problem: Problem = typeof data === 'object' && data !== null ? data : {}
  const type = typeof problem.type === 'string' ? problem.type.replace(problemPrefix, '') : ''
  if (status < 400 || type === 'badNonce') return
  const detail = typeof problem.detail === 'string' ? problem.detail : `HTTP status ${status}`
  throw new AcmeRefusal(type, detail, status, secondsOf(retryAfter))
}

/** The seconds of a Retry-After header, which may also be a date. */
function secondsOf(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  const seconds = /^\d{1,9}$/.test(header) ? Number(header) : (Date.parse(header) - nowMs()) / 1000
  return seconds > 0 ? Math.min(Math.ceil(seconds), certificateLimits.retryAfterSecondsMax) : undefined
}
