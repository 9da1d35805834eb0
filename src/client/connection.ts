/** Requests to one Berth: the credential, time limits, errors, and attempts. */
import { backoffMs, pause } from './chance.ts'
import { textOf, type Document, type ParsedDocument } from './documents.ts'
import { BerthError, errorOfGraph, errorOfRest, type GraphError } from './errors.ts'

/** The limits of this client. */
export const clientLimits = {
  attemptsMax: 4, // of what may be repeated, the first included
  againMsFirst: 300,
  againMsMax: 10_000,
  retryAfterSecondsMax: 60, // a server that asks for more is reported instead
  timeoutSeconds: 240, // of a request; creating a VM in software emulation takes two minutes
} as const

/**
 * A token, or what gives one: asked for each request, and again with `true` when the last one was refused. A BerthError that it
 * throws is thrown by the call.
 */
export type TokenSource = string | ((wasRefused: boolean) => string | undefined | Promise<string | undefined>)

/** Where Berth is, and as whom. */
export type BerthOptions = {
  /** Such as `https://berth.example.com`. */
  url: string
  /** A token or an API key. */
  token?: TokenSource
  /** The organization to act in (`org_…`); by default the token's. */
  organization?: string
  /** What sends requests; by default the global one. */
  fetch?: typeof fetch
  /** The class of web sockets; by default the global one, which Node has from version 22 on. */
  webSocket?: unknown
}

/** What any call takes. `idempotencyKey` makes a mutation run once, however often it is sent, and lets it be repeated. */
export type CallOptions = { signal?: AbortSignal; idempotencyKey?: string; timeoutSeconds?: number }

type Answer = { status: number; requestId: string | undefined; retryAfter: number | undefined }

/** One Berth as one caller. */
export class Connection {
  readonly options: BerthOptions
  readonly url: URL

  /** @throws TypeError when the address is none of http or https. */
  constructor(options: BerthOptions) {
    this.options = options
    this.url = new URL(options.url)
    if (this.url.protocol !== 'https:' && this.url.protocol !== 'http:')
      throw new TypeError('The address of Berth begins with https:// or http://.')
  }

  /** The address of a path. */
  at(path: string, query: Record<string, string> = {}): URL {
    const url = new URL(`${this.url.pathname.replace(/\/$/, '')}${path}`, this.url)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    return url
  }

  /** The headers that say who asks. */
  async headers(wasRefused = false): Promise<Record<string, string>> {
    const { token, organization } = this.options
    const value = typeof token === 'function' ? await token(wasRefused) : token
    return {
      ...(value ? { authorization: `Bearer ${value}` } : {}),
      ...(organization ? { 'berth-organization': organization } : {}),
    }
  }

  /**
   * Runs a query or a mutation. Repeated, with growing pauses, is a query, and a mutation with an idempotency key.
   * @throws BerthError, and what the signal was aborted with.
   */
  async query<Data, Variables>(
    document: Document<Data, Variables> | ParsedDocument,
    variables?: Variables,
    options: CallOptions = {},
  ): Promise<Data> {
    const query = textOf(document as string | ParsedDocument) // a document is its text
    const isRepeatable = options.idempotencyKey !== undefined || !/\bmutation\b/.test(query)
    const { idempotencyKey } = options
    return this.#attempts(isRepeatable, options.signal, async () => {
      const response = await this.#send('POST', this.at('/graphql'), {
        ...options,
        headers: {
          'content-type': 'application/json',
          accept: 'application/json',
          ...(idempotencyKey ? { 'idempotency-key': idempotencyKey } : {}),
        },
        body: JSON.stringify({ query, variables }),
      })
      return readGraph(response) as Promise<Data> // the document says so
    })
  }

  /**
   * Calls a REST path, whose answer is returned unread when it succeeded. Only what has no body is repeated.
   * @throws BerthError, and what the signal was aborted with.
   */
  async call(
    method: 'GET' | 'HEAD' | 'PUT',
    url: URL,
    options: CallOptions & { headers?: Record<string, string>; body?: BodyInit; isUnlimited?: boolean } = {},
  ): Promise<Response> {
    return this.#attempts(method !== 'PUT', options.signal, async () => {
      const response = await this.#send(method, url, options)
      if (!response.ok) throw errorOfRest(await bodyOf(response), answerOf(response))
      return response
    })
  }

  async #send(
    method: string,
    url: URL,
    {
      signal,
      timeoutSeconds = clientLimits.timeoutSeconds,
      isUnlimited = false,
      headers = {},
      body,
    }: CallOptions & { headers?: Record<string, string>; body?: BodyInit; isUnlimited?: boolean },
  ): Promise<Response> {
    const send = this.options.fetch ?? fetch
    const timeout = isUnlimited ? undefined : AbortSignal.timeout(timeoutSeconds * 1000)
    const signals = [signal, timeout].filter((one) => one !== undefined)
    const ask = async (wasRefused: boolean): Promise<Response> =>
      send(url, {
        method,
        headers: { ...(await this.headers(wasRefused)), ...headers },
        ...(body === undefined ? {} : { body, duplex: 'half' }),
        ...(signals.length === 0 ? {} : { signal: AbortSignal.any(signals) }),
      } as RequestInit) // `duplex` is missing there
    try {
      const response = await ask(false)
      const isStream = typeof body === 'object' // it has been read, and cannot be sent again
      if (response.status !== 401 || typeof this.options.token !== 'function' || isStream) return response
      await response.body?.cancel()
      return await ask(true)
    } catch (error) {
      if (signal?.aborted) throw signal.reason
      if (timeout?.aborted)
        throw new BerthError({
          code: 'REQUEST_TIMED_OUT',
          message: `Berth did not answer within ${timeoutSeconds} seconds. What was asked may have been done all the same.`,
        })
      if (error instanceof BerthError) throw error // of the token's source
      throw new BerthError(
        { code: 'CONNECTION_FAILED', message: `There is no connection to ${url.origin}: ${reasonOf(error)}.` },
        { cause: error },
      )
    }
  }

  async #attempts<Result>(
    isRepeatable: boolean,
    signal: AbortSignal | undefined,
    once: () => Promise<Result>,
  ): Promise<Result> {
    for (let attempt = 0; ; attempt++) {
      signal?.throwIfAborted()
      try {
        return await once()
      } catch (error) {
        const again = isRepeatable && attempt + 1 < clientLimits.attemptsMax ? againInMs(error, attempt) : undefined
        if (again === undefined) throw error
        await pause(again, signal)
      }
    }
  }
}

/** What may go better the next time. */
const passing = [429, 502, 503, 504]

/** After how many milliseconds to try again, if at all. */
function againInMs(error: unknown, attempt: number): number | undefined {
  if (!(error instanceof BerthError)) return undefined
  const isPassing =
    passing.includes(error.status) || ['CONNECTION_FAILED', 'IDEMPOTENCY_IN_PROGRESS'].includes(error.code)
  if (!isPassing) return undefined
  const own = backoffMs(attempt, { firstMs: clientLimits.againMsFirst, mostMs: clientLimits.againMsMax })
  if (error.retryAfter === undefined) return own
  if (error.retryAfter > clientLimits.retryAfterSecondsMax) return undefined
  return Math.max(own, error.retryAfter * 1000)
}

async function readGraph(response: Response): Promise<unknown> {
  const body = await bodyOf(response)
  const answer = answerOf(response)
  if (typeof body !== 'object' || body === null) throw strange(answer)
  const { data, errors } = body as { data?: unknown; errors?: GraphError[] } // read field by field
  const [first] = Array.isArray(errors) ? errors : []
  if (first) throw errorOfGraph(first, answer)
  if (data === undefined || data === null) throw response.ok ? strange(answer) : errorOfRest(body, answer)
  return data
}

function strange({ status, requestId }: Answer): BerthError {
  return new BerthError({
    code: 'INVALID_ANSWER',
    message: `What answered, with the HTTP status ${status}, is no Berth, or something between changed its answer. Check the address.`,
    status,
    requestId,
  })
}

async function bodyOf(response: Response): Promise<unknown> {
  const text = await response.text()
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined // whoever asks says what was expected
  }
}

function answerOf({ status, headers }: Response): Answer {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  return {
    status,
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfter: Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined,
  }
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const { code, message } = cause as { code?: unknown; message?: unknown } // anything may be thrown
  return String(code ?? message ?? cause)
}
