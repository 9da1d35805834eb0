/** The web socket of a client's streams: opened with the first, closed soon after the last. */
import { createClient, type Client } from 'graphql-ws/client'
import type { Connection } from './connection.ts'
import { BerthError, errorOfGraph, type GraphError } from './errors.ts'

const lazyCloseMs = 1_000
/** Closed so, a socket stays closed: it is a matter of who asks or what, not of the network. */
const refusals = [4400, 4401, 4403, 4406]

/** What a stream is given, and how it ends: without an error when the server says that it has ended. */
export type Sink = { next(answer: { data?: unknown; errors?: GraphError[] }): void; end(error?: BerthError): void }

/** The socket of one caller. */
export class Sockets {
  readonly #connection: Connection
  #client: Client | undefined
  #wasRefused = false
  /** Whether a connection was tried since then. */
  #isTried = false

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Subscribes. @returns a function that leaves. */
  subscribe(query: string, variables: Record<string, unknown>, sink: Sink): () => void {
    this.#client ??= this.#open()
    return this.#client.subscribe(
      { query, variables },
      {
        next: (answer) => {
          this.#wasRefused = false
          sink.next(answer as { data?: unknown; errors?: GraphError[] }) // as the protocol has it
        },
        error: (error) => sink.end(errorOf(error)),
        complete: () => sink.end(),
      },
    )
  }

  /** After a token was refused: whether its source may have another, which the next connection asks for. */
  renew(): boolean {
    if (typeof this.#connection.options.token !== 'function' || (this.#wasRefused && this.#isTried)) return false
    this.#wasRefused = true // all streams of the socket that was refused say so
    this.#isTried = false
    return true
  }

  /** Cuts the connection: what is open ends with an error, and what follows begins on a new one. */
  terminate(): void {
    this.#client?.terminate()
  }

  /** Closes it. */
  async close(): Promise<void> {
    const client = this.#client
    this.#client = undefined
    await client?.dispose()
  }

  #open(): Client {
    const url = this.#connection.at('/graphql')
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
    return createClient({
      url: url.href,
      webSocketImpl: webSocketOf(this.#connection),
      connectionParams: () => {
        this.#isTried = true
        return this.#connection.headers(this.#wasRefused)
      },
      lazyCloseTimeout: lazyCloseMs,
      retryAttempts: 0, // each stream begins again from its own cursor
    })
  }
}

/** The class of web sockets. @throws BerthError INVALID_REQUEST where there is none. */
export function webSocketOf({ options }: Connection): typeof WebSocket {
  const found = options.webSocket ?? (globalThis as { WebSocket?: unknown }).WebSocket
  if (typeof found === 'function') return found as typeof WebSocket // whoever passes another class passes one like it
  throw new BerthError({
    code: 'INVALID_REQUEST',
    message: 'There are no web sockets here. Pass their class as `webSocket`: that of the package ws, or use Node 22.',
  })
}

function errorOf(error: unknown): BerthError {
  if (Array.isArray(error)) return errorOfGraph((error[0] ?? {}) as GraphError) // as the protocol has it
  const { code, reason } = (error ?? {}) as { code?: unknown; reason?: unknown } // a close event, or anything
  if (typeof code === 'number' && refusals.includes(code))
    return new BerthError({
      code: code === 4403 || code === 4401 ? 'UNAUTHORIZED' : 'INVALID_REQUEST',
      status: code === 4403 || code === 4401 ? 401 : 400,
      message: typeof reason === 'string' && reason ? reason : 'Berth refused this connection.',
    })
  if (error instanceof BerthError) return error
  return new BerthError({ code: 'CONNECTION_FAILED', message: 'The connection to Berth was cut.' })
}
