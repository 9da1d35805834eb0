/**
 * The library's transport with numbers for requests that no other connection to the same session uses at the same time,
 * and with an end for each request whose stream of events ends without its answer.
 */
import type { JSONRPCMessage, Transport, TransportSendOptions } from '@modelcontextprotocol/client'
import { randomInt } from 'node:crypto'
import { placeholder, requestHeader, type McpAnswers } from './answers.ts'

/** The largest number of a first request; servers may keep numbers in 32 bits. */
const firstMax = 2 ** 31 - 1_000_000
/** How long a connection that ends waits for what it still says to the server, such as that a call is cancelled. */
const farewellMs = 2_000

/** The transport for the library's client, and how to end it. */
export type NumberedTransport = {
  transport: Transport
  /** Waits until what was sent is received, shortly. */
  sent: () => Promise<void>
}

/** Wraps a transport. */
export function numbered(inner: Transport, answers: McpAnswers): NumberedTransport {
  const first = randomInt(1, firstMax)
  const sending = new Set<Promise<void>>()
  const transport: Transport = {
    sessionId: 'kept by us', // so that the library does not initialize by itself
    start: () => inner.start(),
    close: () => inner.close(),
    send(message, options = {}) {
      const all =
        'method' in message && 'id' in message ? sendRequest(message, options) : inner.send(ours(message), options)
      const done = all.then(
        () => undefined,
        () => undefined,
      )
      sending.add(done)
      void done.then(() => sending.delete(done))
      return all
    },
  }
  const sendRequest = (
    message: Extract<JSONRPCMessage, { method: string; id: unknown }>,
    options: TransportSendOptions,
  ): Promise<void> => {
    const id = first + Number(message.id)
    answers.expect(id, message.method)
    return inner.send(
      { ...message, id },
      {
        ...options,
        headers: { ...options.headers, [requestHeader]: String(id) },
        onRequestStreamEnd: () => {
          if (answers.end(id)) inner.onmessage?.(placeholder(id))
        },
      },
    )
  }
  /** A cancellation names the request by its number. */
  const ours = (message: JSONRPCMessage): JSONRPCMessage =>
    'method' in message && message.method === 'notifications/cancelled' && message.params
      ? { ...message, params: { ...message.params, requestId: first + Number(message.params['requestId']) } }
      : message
  inner.onmessage = (message) =>
    transport.onmessage?.(
      'method' in message || message.id === undefined ? message : { ...message, id: Number(message.id) - first },
    )
  inner.onerror = (error) => transport.onerror?.(error)
  inner.onclose = () => transport.onclose?.()
  return {
    transport,
    async sent() {
      const late = AbortSignal.timeout(farewellMs)
      await Promise.race([
        Promise.all(sending),
        new Promise((resolve) => late.addEventListener('abort', resolve, { once: true })),
      ])
    },
  }
}
