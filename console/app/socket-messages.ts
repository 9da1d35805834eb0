/** What a tab and the worker that holds its streams say to each other. */
import type { ClientOptions } from 'graphql-ws'

/** A subscription as it is sent. */
export type Operation = { query: string; variables?: Record<string, unknown> }
/** Who receives what it gives. */
export type Sink = { next(value: never): void; error(error: unknown): void; complete(): void }

/** From a tab: `open` first. */
export type FromTab =
  | { type: 'open'; tab: string; url: string; headers: Record<string, string> }
  | { type: 'subscribe'; id: string; operation: Operation }
  | { type: 'end'; id: string }
  | { type: 'terminate' }

/** To a tab. */
export type ToTab =
  | { type: 'next'; values: [id: string, value: unknown][] }
  | { type: 'error'; id: string; error: unknown }
  | { type: 'complete'; id: string }

/** How a socket is opened. Who follows begins again from its own cursor, so that the socket itself does not try again. */
export function socketOptions(url: string, headers: Record<string, string>): ClientOptions {
  return { url, connectionParams: headers, lazyCloseTimeout: 5_000, retryAttempts: 0 }
}
