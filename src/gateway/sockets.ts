/** /graphql over web sockets: the protocol graphql-transport-ws, with the checks and limits of HTTP. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { GraphQLError, type ExecutionArgs, type ExecutionResult } from 'graphql'
import {
  CloseCode,
  handleProtocols,
  makeServer,
  type Context as SocketContext,
  type ServerOptions,
  type SubscribePayload,
} from 'graphql-ws'
import { WebSocketServer, type WebSocket } from 'ws'
import { bearerOf, countRefusedCredential } from '#schema/context.ts'
import { watchCaller } from '#schema/watch-caller.ts'
import { allowAgain, callerName, noting, type Caller, type Grant } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { newId } from '#src/platform/ids.ts'
import { hasManyParts } from '#src/platform/json/pieces.ts'
import { limits } from '#src/platform/limits.ts'
import { log } from '#src/platform/log.ts'
import { beginStream } from '#src/platform/streams/open-streams.ts'
import { withoutEnding } from '#src/platform/texts.ts'
import type { GraphqlCall } from './graphql.ts'
import { showError, showResult } from './graphql-errors.ts'
import type { GraphqlParts } from './graphql-http.ts'

const initWaitMs = 5_000
const pingMs = 10_000
const closeReasonBytes = 123 // what RFC 6455 leaves for a reason
const tryAgainLater = 1013
const goingAway = 1001
const tooLarge = 1009
const ended = 4401 // the caller's permission ended while the socket was open

/** One socket: its caller once it said who it is, and what is still open on it. */
type Peer = {
  socket: WebSocket
  request: IncomingMessage
  address: string
  caller: Caller | null
  credential: string | undefined
  leave: () => void
  open: Map<string, Operation>
}
/** One operation on it: what its caller was let through for, and why it was ended, when they no longer are. */
type Operation = { call: GraphqlCall; grants: readonly Grant[]; gone: AbortController; refusal: BerthError | null }
type Init = Record<string, unknown>
type Socket = SocketContext<Init, Peer>

/** Adds the web socket to /graphql. Sockets close with 1001 when `stopping` fires. */
export function serveSockets(app: FastifyInstance, parts: GraphqlParts): void {
  const protocol = makeServer<Init, Peer>(protocolOptions(parts))
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload:
      4 * limits.graphqlBodyBytes /* one that is larger than allowed is told so below; beyond this it is cut unread */,
    handleProtocols: (offered) => handleProtocols(offered),
  })
  const alive = new WeakSet<WebSocket>()
  const beat = setInterval(() => {
    for (const socket of sockets.clients) {
      if (!alive.delete(socket))
        socket.terminate() // did not answer the last ping
      else socket.ping()
    }
  }, pingMs)
  beat.unref()

  app.server.on('upgrade', (request: IncomingMessage, connection: Duplex, head: Buffer) => {
    connection.on('error', (error) =>
      log.debug({ reason: error.message }, 'a connection broke while it became a web socket'),
    )
    if (request.url?.split('?')[0] !== '/graphql')
      return connection.end('HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n')
    sockets.handleUpgrade(request, connection, head, (socket) => {
      alive.add(socket)
      socket.on('pong', () => alive.add(socket))
      attach(protocol, socket, request)
    })
  })
  parts.stopping.addEventListener('abort', () => {
    clearInterval(beat)
    for (const socket of sockets.clients) socket.close(goingAway, 'Berth is stopping; connect again soon.')
  })
}

/** Whether a request wants to become a web socket. Others offer HTTP/2 with it (`curl --http2`, Java): those are answered as HTTP/1.1. */
export function asksForSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket'
}

function attach(
  protocol: ReturnType<typeof makeServer<Init, Peer>>,
  socket: WebSocket,
  request: IncomingMessage,
): void {
  const peer: Peer = {
    socket,
    request,
    address: request.socket.remoteAddress ?? '',
    caller: null,
    credential: undefined,
    leave: () => {
      /* nothing is watched yet */
    },
    open: new Map(),
  }
  const closed = protocol.opened(
    {
      protocol: socket.protocol,
      send: (text) =>
        new Promise((resolve) => {
          if (socket.readyState !== socket.OPEN) return resolve()
          // A reader further behind than this is cut; the others on this host need the memory.
          if (socket.bufferedAmount > limits.streamQueuedBytes) socket.terminate()
          socket.send(text, () => resolve()) // an error here is told by the close that follows
        }),
      close: (code, reason) => socket.close(code, reason),
      onMessage: (handle) =>
        socket.on('message', (data: Buffer) => {
          if (data.length > limits.graphqlBodyBytes)
            return socket.close(
              tooLarge,
              `A message may have ${limits.graphqlBodyBytes / 1024 / 1024} MiB. Send less at once.`,
            )
          if (hasManyParts(data, limits.socketMessageParts))
            return socket.close(tooLarge, `A message may have ${limits.socketMessageParts} values. Send less at once.`)
          handle(String(data)).catch((error: unknown) => {
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
      log.error({ err: error }, 'a web socket could not be left behind'),
    )
  })
}

function protocolOptions(parts: GraphqlParts): ServerOptions<Init, Peer> {
  const { engine } = parts
  const running = new WeakMap<object, ReturnType<typeof engine.yoga.getEnveloped>>()
  const enveloped = (args: ExecutionArgs): ReturnType<typeof engine.yoga.getEnveloped> => {
    const found = running.get(args.contextValue as object)
    if (!found) throw new Error('an operation runs that was not admitted')
    return found
  }
  const requestIdOf = (socket: Socket, id: string): string =>
    socket.extra.open.get(id)?.call.requestId ?? newId('request')
  return {
    connectionInitWaitTimeout: initWaitMs,
    onConnect: (socket) => connect(socket, parts),
    async onSubscribe(socket, id, payload) {
      const begun = await begin(socket, id, payload, parts)
      if (!('args' in begun)) return begun
      running.set(begun.args.contextValue as object, begun.enveloped)
      return begun.args
    },
    execute: (args) => enveloped(args).execute(args),
    subscribe: (args) => enveloped(args).subscribe(args),
    onOperation: (socket, id, _payload, _args, result) =>
      Symbol.asyncIterator in result
        ? abortable(result as AsyncGenerator<ExecutionResult>, socket.extra.open.get(id))
        : undefined,
    onNext: (socket, id, _payload, _args, result) => showResult(result, requestIdOf(socket, id)),
    onError: (socket, id, _payload, errors) => errors.map((error) => showError(error, requestIdOf(socket, id)).error),
    onComplete: (socket, id) => finish(socket.extra, id),
  }
}

/** Finds out who is calling. A refused credential closes the socket with 4403; none at all is nobody, whom resolvers refuse. */
async function connect(socket: Socket, { services, authenticator }: GraphqlParts): Promise<boolean> {
  const peer = socket.extra
  peer.credential = credentialOf(socket.connectionParams) ?? bearerOf(peer.request.headers)
  try {
    peer.caller = await authenticator.authenticate(peer.credential)
    if (peer.caller.kind !== 'nobody') {
      remain(
        peer,
        callerName(peer.caller),
        peer.credential === undefined
          ? undefined
          : watchCaller(
              authenticator,
              peer.credential,
              (now) => endRefused(peer, now),
              (refusal) => close(peer, ended, refusal),
            ),
      )
      return true
    }
    if (peer.credential === undefined) {
      remain(peer, peer.address)
      return true
    }
    await countRefusedCredential(services.limiter, peer.address)
    close(peer, CloseCode.Forbidden, peer.caller.refusal)
  } catch (error) {
    close(peer, tryAgainLater, showError(error, newId('request')).error)
  }
  return false
}

/** Counts the socket for whom it belongs to, until it closes. @throws BerthError rate_limited when they have too many. */
function remain(
  peer: Peer,
  whose: string,
  unwatch: () => void = () => {
    /* nobody's permission can end */
  },
): void {
  peer.leave = unwatch
  const over = beginStream('websocket', whose)
  peer.leave = () => {
    unwatch()
    over()
  }
  if (peer.socket.readyState !== peer.socket.OPEN) peer.leave() // it closed while we looked
}

/** The credential of the first message: `{"authorization": "Bearer …"}`, in any spelling of the name, or inside `headers`. */
function credentialOf(init: Readonly<Init> | undefined): string | undefined {
  const inner = init?.['headers']
  const said = { ...init, ...(typeof inner === 'object' ? inner : {}) }
  const lowerCase = Object.fromEntries(
    Object.entries(said)
      .filter((entry): entry is [string, string] => typeof entry[1] === 'string')
      .map(([name, value]) => [name.toLowerCase(), value]),
  )
  return bearerOf(lowerCase)
}

/** Checks one operation and makes what it runs with, or the errors for which it does not. */
async function begin(
  socket: Socket,
  id: string,
  payload: SubscribePayload,
  { services, engine, authenticator }: GraphqlParts,
): Promise<readonly GraphQLError[] | { args: ExecutionArgs; enveloped: ReturnType<typeof engine.yoga.getEnveloped> }> {
  const peer = socket.extra
  const gone = new AbortController()
  const requestId = newId('request')
  try {
    if (peer.open.size >= limits.socketOperations)
      throw new BerthError(
        'rate_limited',
        `${limits.socketOperations} operations are open on this socket, which is all it may have. Complete one first.`,
        { retryAfterSeconds: 1 },
      )
    const { caller, grants } = noting(await authenticator.authenticate(peer.credential))
    const call: GraphqlCall = { ...services, caller, requestId, signal: gone.signal, address: peer.address, answer: {} }
    if (peer.socket.readyState !== peer.socket.OPEN) gone.abort()
    peer.open.set(id, { call, grants, gone, refusal: null })
    if (caller.kind === 'nobody' && peer.credential !== undefined) throw caller.refusal
    await engine.admit(payload, call)
    const params = {
      query: payload.query,
      operationName: payload.operationName ?? undefined,
      variables: payload.variables ?? undefined,
    }
    const enveloped = engine.yoga.getEnveloped({ ...call, params } as never) // yoga's type asks for an HTTP request, which there is none of
    const document = enveloped.parse(payload.query)
    const problems: readonly GraphQLError[] = enveloped.validate(enveloped.schema, document)
    if (problems.length > 0) {
      finish(peer, id)
      return problems.map((problem) => showError(problem, requestId).error)
    }
    return {
      args: {
        schema: enveloped.schema,
        document,
        operationName: params.operationName,
        variableValues: params.variables,
        contextValue: await enveloped.contextFactory(),
      },
      enveloped,
    }
  } catch (error) {
    finish(peer, id)
    return [showError(error, requestId).error]
  }
}

/** Ends the operations for which the caller, as they are now, would not be let through any more; the others go on. */
function endRefused({ open }: Peer, now: Caller): void {
  for (const operation of open.values()) {
    try {
      allowAgain(now, operation.grants)
    } catch (refusal) {
      if (!(refusal instanceof BerthError)) throw refusal
      operation.refusal = refusal
      operation.gone.abort()
    }
  }
}

/**
 * The same events; whoever ends them also ends what they wait for, which a generator by itself does only at its next
 * event. Where the caller's permission ended them, the last one says so.
 */
function abortable(
  events: AsyncGenerator<ExecutionResult>,
  operation: Operation | undefined,
): AsyncGenerator<ExecutionResult> {
  const gone = operation?.gone
  let told = false
  return {
    next: async () => {
      const next = await events.next()
      const refusal = operation?.refusal
      if (!refusal || told) return refusal ? { done: true, value: undefined } : next
      told = true
      return { done: false, value: { errors: [new GraphQLError(refusal.message, { originalError: refusal })] } }
    },
    return: (value) => {
      gone?.abort()
      return events.return(value)
    },
    throw: (error) => {
      gone?.abort()
      return events.throw(error)
    },
    [Symbol.asyncIterator]() {
      return this
    },
    async [Symbol.asyncDispose]() {
      await this.return(undefined)
    },
  }
}

function finish({ open }: Peer, id: string): void {
  const entry = open.get(id)
  if (!entry) return
  open.delete(id)
  entry.gone.abort()
}

function close({ socket }: Peer, code: number, { message }: { message: string }): void {
  const bytes = Buffer.from(message)
  socket.close(
    code,
    bytes.length <= closeReasonBytes
      ? bytes
      : `${withoutEnding(bytes.subarray(0, closeReasonBytes - 3).toString('utf8'), '\uFFFD')}…`,
  )
}
