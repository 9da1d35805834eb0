/** /graphql over web sockets: the protocol graphql-transport-ws, with the checks and limits of HTTP. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { ExecutionResult } from 'graphql'
import { CloseCode, handleProtocols, makeServer, type ServerOptions } from 'graphql-ws'
import { WebSocketServer, type WebSocket } from 'ws'
import { BerthError } from '#src/platform/errors.ts'
import { newId, newUuid } from '#src/platform/ids.ts'
import { isLargeJson } from '#src/platform/json/text.ts'
import { mayHaveUnusualNumbers, parseExactly } from '#src/platform/json/numbers.ts'
import { hasManyParts } from '#src/platform/json/parts.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { eventText } from './graphql-answers.ts'
import { showError, showResult } from './graphql-errors.ts'
import type { GraphqlParts } from './graphql-http.ts'
import { connect, type Init, type Peer, type Socket } from './socket-callers.ts'
import { abortable, begin, finish } from './socket-operations.ts'
import { terminalPath } from './terminals/sockets.ts'
import { tunnelPath } from './tunnels/sockets.ts'
import { keepAlive } from './web-sockets/heartbeats.ts'

const initWaitMs = 5_000
const tooLarge = 1009

/** Adds the web socket to /graphql. Sockets close with 1001 when `stopping` fires. */
export function serveSockets(app: FastifyInstance, parts: GraphqlParts): void {
  const protocol = makeServer<Init, Peer>(protocolOptions(parts))
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload:
      4 *
      limits.graphqlBodyBytes /* a message that is too large gets an error below; beyond this limit the socket is cut unread */,
    handleProtocols: (offered) => handleProtocols(offered),
  })
  const watch = keepAlive(sockets, parts.stopping)
  app.server.on('upgrade', (request: IncomingMessage, connection: Duplex, head: Buffer) => {
    connection.on('error', (error) =>
      log.debug({ reason: error.message }, 'a connection broke during the upgrade to a web socket'),
    )
    const path = request.url?.split('?')[0]
    if (path === terminalPath || path === tunnelPath) return // terminals/sockets.ts and tunnels/sockets.ts take them
    if (path !== '/graphql')
      return connection.end('HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n')
    sockets.handleUpgrade(request, connection, head, (socket) => {
      watch(socket, connection)
      attach(protocol, socket, request, parts.proxies.clientOf(request))
    })
  })
}

/**
 * Whether a request asks for an upgrade to a web socket. Other upgrades, to HTTP/2 (`curl --http2`, Java), are ignored
 * and answered as HTTP/1.1.
 */
export function asksForSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket'
}

function attach(
  protocol: ReturnType<typeof makeServer<Init, Peer>>,
  socket: WebSocket,
  request: IncomingMessage,
  address: string,
): void {
  const peer: Peer = {
    socket,
    request,
    address,
    caller: null,
    credential: undefined,
    organizationId: undefined,
    leave: () => {
      /* nothing is watched yet */
    },
    open: new Map(),
    beginning: 0,
    largeResults: new Map(),
  }
  const closed = protocol.opened(
    {
      protocol: socket.protocol,
      send: (text) =>
        new Promise((resolve) => {
          if (socket.readyState !== socket.OPEN) return resolve()
          // Backpressure: a client that is further behind than this is cut off, because others need the memory.
          if (socket.bufferedAmount > limits.streamQueuedBytes) socket.terminate()
          socket.send(withLargeResult(peer, text), { binary: false }, () => resolve()) // an error here is reported by the close that follows
        }),
      close: (code, reason) => socket.close(code, reason),
      onMessage: (handle) =>
        socket.on('message', (data: Buffer) => {
          if (data.length > limits.graphqlBodyBytes)
            return socket.close(
              tooLarge,
              `A message may have at most ${limits.graphqlBodyBytes / 1024 / 1024} MiB. Send less at once.`,
            )
          if (hasManyParts(data, limits.socketMessageParts))
            return socket.close(
              tooLarge,
              `A message may have at most ${limits.socketMessageParts} values. Send less at once.`,
            )
          const message = readMessage(String(data))
          if (message instanceof BerthError) return socket.close(tooLarge, message.message)
          handle(message).catch((error: unknown) => {
            log.error({ err: error }, 'a web socket message failed')
            socket.close(CloseCode.InternalServerError, 'Something went wrong on our side.')
          })
        }),
    },
    peer,
  )
  socket.on('error', (error) => log.debug({ reason: error.message }, 'a web socket broke')) // the close that follows cleans up
  socket.once('close', (code, reason) => {
    peer.leave()
    for (const id of peer.open.keys()) finish(peer, id)
    closed(code, String(reason)).catch((error: unknown) =>
      log.error({ err: error }, 'a web socket could not be closed'),
    )
  })
}

/** A message for graphql-ws: its text, or what it says where that reading would change a number; or why it is refused. */
function readMessage(text: string): string | BerthError {
  if (!mayHaveUnusualNumbers(text)) return text
  try {
    return parseExactly(text) as string // it parses texts only, and checks the shape of anything
  } catch (error) {
    return error instanceof BerthError ? error : text // it says what is wrong with JSON
  }
}

function protocolOptions(parts: GraphqlParts): ServerOptions<Init, Peer> {
  const { operations } = parts.engine
  const requestIdOf = (socket: Socket, id: string): string =>
    socket.extra.open.get(id)?.call.requestId ?? newId('request')
  return {
    connectionInitWaitTimeout: initWaitMs,
    onConnect: (socket) => connect(socket, parts),
    onSubscribe: (socket, id, payload) => begin(socket, id, payload, parts),
    execute: (admitted) => operations.execute(admitted),
    subscribe: (admitted) => operations.execute(admitted),
    onOperation: (socket, id, _payload, _args, result) =>
      Symbol.asyncIterator in result
        ? abortable(result as AsyncGenerator<ExecutionResult>, socket.extra.open.get(id))
        : undefined,
    onNext: (socket, id, _payload, _args, result) => nextResult(socket.extra, result, requestIdOf(socket, id)),
    onError: (socket, id, _payload, errors) => errors.map((error) => showError(error, requestIdOf(socket, id)).error),
    onComplete: (socket, id) => finish(socket.extra, id),
  }
}

/**
 * A result for graphql-ws, which serializes it at once. A large result is serialized in steps here and replaced by a
 * placeholder until it is sent.
 */
async function nextResult(
  { largeResults }: Peer,
  result: ExecutionResult,
  requestId: string,
): Promise<ExecutionResult> {
  if (!isLargeJson(result.data)) return showResult(result, requestId)
  const mark = newUuid()
  largeResults.set(mark, Buffer.from(await eventText(result, requestId)))
  return { data: mark as never } // graphql-ws checks no more than this
}

/** A message of graphql-ws, with the placeholder of a large result replaced by its text. */
function withLargeResult({ largeResults }: Peer, text: string): string | Buffer {
  if (largeResults.size === 0) return text
  const [payload = '', mark = ''] = /\{"data":"([0-9a-f-]{36})"\}\}$/.exec(text) ?? []
  const result = largeResults.get(mark)
  if (!result) return text
  largeResults.delete(mark)
  return Buffer.concat([Buffer.from(text.slice(0, -payload.length)), result, Buffer.from('}')])
}
