/**
 * Connections to tool servers (Model Context Protocol over streamable HTTP, by the guarded fetch): the only place that
 * opens one. It lists and calls, within limits, and keeps to a session of the server where one is kept.
 */
import {
  Client,
  SdkHttpError,
  StreamableHTTPClientTransport,
  SUPPORTED_PROTOCOL_VERSIONS,
  type FetchLike,
  type jsonSchemaValidator,
} from '@modelcontextprotocol/client'
import { limits } from '#src/platform/limits.ts'
import type { OutboundFetch } from '../outbound-fetch.ts'
import { McpAnswers } from './answers.ts'
import { McpAnswerError, McpServerError, McpSessionGone } from './faults.ts'
import { fieldsOf } from './messages.ts'
import { readTools, type McpToolList } from './tools.ts'
import { numbered, type NumberedTransport } from './transport.ts'

/** A session of a server, by the id that it gave. `protocolVersion` null: it named none. */
export type McpServerSession = { id: string; protocolVersion: string | null }

/** Where a server's session is kept from one connection to the next. */
export type McpSessionKeeper = {
  /**
   * The session to go on with: the one that is kept, else what `begin` makes, once for all that ask at the same time.
   * Null, always from the caller's own `begin`, when the server makes none.
   * @param gone the session that the server no longer knows; another one is returned.
   */
  find: (
    begin: () => Promise<McpServerSession | null>,
    gone: McpServerSession | null,
  ) => Promise<McpServerSession | null>
}

/**
 * A server, and the token to send as `Authorization: Bearer`, if any. `bytesMax`: for all its answers together. Without
 * `keeper` its session ends with the connection.
 */
export type McpTarget = {
  url: string
  token: string | null
  fetch: OutboundFetch
  limitMs: number
  bytesMax?: number
  signal?: AbortSignal
  keeper?: McpSessionKeeper
}

/** The outcome of a call: what the server answered, whatever that is. `error`: its own words. */
export type McpCallAnswer = { result: unknown } | { error: string }

/** What can be asked of a server. Each throws McpAnswerError, an error of the library, or what `fetch` threw. */
export type McpConnection = {
  listTools: () => Promise<McpToolList>
  callTool: (name: string, input: Readonly<Record<string, unknown>>) => Promise<McpCallAnswer>
}

const tooManyRequests = 429
const methodNotFound = -32_601
/** A longer id of a session is not kept; characters. */
const sessionIdLengthMax = 4096
/** How long a server may take to end a session that nobody needs. */
const endMs = 5_000
/** When a stream of events that broke is asked for again. */
const resumption = {
  initialReconnectionDelay: 250,
  reconnectionDelayGrowFactor: 2,
  maxReconnectionDelay: 5_000,
  maxRetries: 8,
}
/** The shortest and the longest wait that a server may ask for before that; ms. */
const waitMs = { min: 250, max: 30_000 }

/** The library checks results against schemas of the server's only where we let it list and call by itself. */
const unchecked: jsonSchemaValidator = {
  getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
}

/** Results pass the library as they are: ours are placeholders. */
const anything = {
  '~standard': { version: 1, vendor: 'berth', validate: (value: unknown) => ({ value }) },
} as const

/**
 * Connects, does the work and disconnects. Connecting and each request may take `limitMs`.
 * @throws McpAnswerError, McpServerError, an error of the library, or what `fetch` threw.
 */
export async function withMcp<Result>(
  target: McpTarget,
  work: (connection: McpConnection) => Promise<Result>,
): Promise<Result> {
  const connecting = new Connecting(target)
  try {
    await connecting.begin(null)
    return await work({
      async listTools() {
        try {
          return await readTools((params) => connecting.ask('tools/list', params))
        } catch (error) {
          if (error instanceof McpServerError && (error.code === methodNotFound || connecting.declaresNoTools))
            return { tools: [], leftOut: null }
          throw error
        }
      },
      async callTool(name, input) {
        try {
          return { result: await connecting.ask('tools/call', { name, arguments: input }) }
        } catch (error) {
          if (error instanceof McpServerError) return { error: error.message }
          throw error
        }
      },
    })
  } finally {
    connecting.end()
  }
}

/** Ends a session at its server. @returns whether it has answered within 5 s, so that asking again is of no use. */
export async function endMcpSession(target: Omit<McpTarget, 'limitMs'>, session: McpServerSession): Promise<boolean> {
  const link = new Link({ ...target, limitMs: endMs }, session)
  await link.open()
  return link.close(true)
}

/** One piece of work: over one link, or another once the server no longer knows the session of the first. */
class Connecting {
  declaresNoTools = false
  readonly #target: McpTarget
  readonly #answers: McpAnswers
  readonly #links: Link[] = []

  constructor(target: McpTarget) {
    this.#target = target
    this.#answers = new McpAnswers(target.fetch, target.bytesMax ?? limits.mcpAnswerBytes)
  }

  /** Connects, to the session that is kept or to a new one. */
  async begin(gone: McpServerSession | null): Promise<void> {
    const own: Link[] = []
    const make = async (): Promise<McpServerSession | null> => {
      const link = await this.#open(null)
      own.push(link)
      this.declaresNoTools = (await link.initialize()).declaresNoTools
      return link.session
    }
    const { keeper } = this.#target
    const session = await (keeper ? keeper.find(make, gone) : make())
    const last = own.at(-1)
    if (last && (session === null || last.session?.id === session.id)) return
    await this.#open(session)
  }

  /** Asks; once more in a new session when the server no longer knows this one, because it did nothing then. */
  async ask(method: string, params: Record<string, unknown>): Promise<unknown> {
    const link = this.#links.at(-1)
    try {
      return await link?.ask(method, params)
    } catch (error) {
      if (!(error instanceof McpSessionGone) || this.#links.length > 2) throw error
      await this.begin(link?.session ?? null)
      return await this.#links.at(-1)?.ask(method, params)
    }
  }

  end(): void {
    const { keeper, signal } = this.#target
    for (const link of this.#links) void link.close(!keeper && !signal?.aborted) // nobody waits for what is still said
  }

  async #open(session: McpServerSession | null): Promise<Link> {
    const link = new Link(this.#target, session, this.#answers)
    this.#links.push(link)
    await link.open()
    return link
  }
}

/** A client of the library over one session. */
class Link {
  session: McpServerSession | null
  readonly #target: McpTarget
  readonly #answers: McpAnswers
  readonly #inner: StreamableHTTPClientTransport
  readonly #numbered: NumberedTransport
  readonly #client = new Client({ name: 'berth', version: '1' }, { jsonSchemaValidator: unchecked })

  constructor(
    target: McpTarget,
    session: McpServerSession | null,
    answers: McpAnswers = new McpAnswers(target.fetch, limits.mcpListingBytes),
  ) {
    const { url, token } = target
    this.#target = target
    this.session = session
    this.#answers = answers
    this.#inner = new StreamableHTTPClientTransport(new URL(url), {
      fetch: answers.fetch as FetchLike, // the same function by another name
      redirectPolicy: 'same-origin', // a token is sent only to its own server, not along redirects
      requestInit: token === null ? {} : { headers: { authorization: `Bearer ${token}` } },
      reconnectionOptions: resumption,
      reconnectionScheduler(reconnect, delayMs) {
        const timer = setTimeout(reconnect, Math.min(waitMs.max, Math.max(waitMs.min, delayMs)))
        return () => clearTimeout(timer)
      },
      ...(session === null ? {} : { sessionId: session.id }),
      ...(session?.protocolVersion ? { protocolVersion: session.protocolVersion } : {}),
    })
    this.#numbered = numbered(this.#inner, answers)
  }

  /** Makes ready; nothing is sent. */
  async open(): Promise<void> {
    await this.#client.connect(this.#numbered.transport)
  }

  /** Begins with the server, which may make a session. @returns whether it says that it has no tools. */
  async initialize(): Promise<{ declaresNoTools: boolean }> {
    const [offered] = SUPPORTED_PROTOCOL_VERSIONS
    const answer = await this.ask('initialize', {
      protocolVersion: offered,
      capabilities: {},
      clientInfo: { name: 'berth', version: '1' },
    })
    const { protocolVersion: version, capabilities } = fieldsOf(answer) ?? {}
    const named = typeof version === 'string' ? version : null
    if (named !== null && !SUPPORTED_PROTOCOL_VERSIONS.includes(named))
      throw new McpAnswerError(
        'The server’s answer to initialize has a version of the protocol at protocolVersion that Berth does not speak.',
      )
    if (named !== null) this.#inner.setProtocolVersion(named)
    const { sessionId } = this.#inner
    this.session =
      sessionId !== undefined && sessionId.length <= sessionIdLengthMax
        ? { id: sessionId, protocolVersion: named }
        : null
    await this.#client.notification({ method: 'notifications/initialized' }).catch(() => undefined) // what is wrong shows in the next request
    return { declaresNoTools: (fieldsOf(capabilities)?.['tools'] ?? null) === null }
  }

  /** The result of a request. */
  async ask(method: string, params: Record<string, unknown>): Promise<unknown> {
    const { limitMs, signal } = this.#target
    const { broken } = this.#answers
    const over = signal ? AbortSignal.any([broken.signal, signal]) : broken.signal
    try {
      const { kept } = (await this.#client.request({ method, params }, anything, {
        timeout: limitMs,
        maxTotalTimeout: limitMs,
        signal: over,
      })) as { kept: number } // a placeholder
      return this.#answers.take(kept)
    } catch (error) {
      if (broken.signal.aborted) throw broken.signal.reason
      if (error instanceof SdkHttpError && error.status !== undefined && error.status >= 300 && error.status < 400)
        throw new McpAnswerError(
          `The server answered ${method} with a redirect (status ${error.status}) to another address, which is not followed.`,
        )
      throw error
    }
  }

  /** Disconnects. @param ends whether the server's session ends too. @returns whether the server has answered to that. */
  async close(ends: boolean): Promise<boolean> {
    try {
      await this.#numbered.sent()
      const late = AbortSignal.timeout(endMs)
      late.addEventListener('abort', () => void this.#client.close(), { once: true })
      if (ends && this.session !== null) await this.#inner.terminateSession()
      return true
    } catch (error) {
      const status = error instanceof SdkHttpError ? error.status : undefined
      return status !== undefined && status < 500 && status !== tooManyRequests
    } finally {
      await this.#client.close()
    }
  }
}
