/** HTTP/1.1 towards clients: simple requests are read and answered here, and everything else by Node's server. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import { readInParts } from '#src/drivers/parted-reads.ts'
import { createPieceTurns } from '#src/drivers/small-pieces.ts'
import { ingressLimits } from './limits.ts'
import type { Incoming, Outgoing } from './messages.ts'
import { refused } from './metrics.ts'
import { pages, rawPage, type Page } from './pages.ts'
import { createSimpleConnections } from './simple/connections.ts'

/** What is done with connections and their requests. */
export type Http1Handlers = {
  /** @returns whether a connection may come in, or has been let in before */
  admit(socket: Socket): boolean
  serve(request: Incoming, answer: Outgoing, socket: Socket): void
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
}

/** Makes the server, with strict parsing and limits on what a client may be slow with. It does not listen yet. */
export function createHttp1(
  limits: typeof ingressLimits,
  everyMs: number,
  { admit, serve, upgrade }: Http1Handlers,
): Server {
  const server = createNodeServer(limits, everyMs)
  const turns = createPieceTurns(limits)
  /** The answers that are not over. A request may be read while that to the one before is written. */
  const open = new WeakMap<Duplex, Set<ServerResponse>>()
  const take = (request: IncomingMessage, answer: ServerResponse): void => {
    const { socket } = request
    turns.watch(request)
    const answers = open.get(socket) ?? new Set()
    open.set(socket, answers.add(answer))
    answer.once('close', () => answers.delete(answer))
    serve(request, answer, socket)
  }
  server.on('clientError', (error, socket) => answerBadHttp(error, socket, open.get(socket) ?? new Set()))
  server.on('connect', (_request, socket) => endWith(socket, pages.method))
  server.on('request', take)
  server.on('checkContinue', take)
  server.on('upgrade', upgrade)
  // What Node does with a connection, when it is needed.
  const toNode = server.listeners('connection') as ((this: Server, socket: Socket) => void)[] // as it is called
  const simple = createSimpleConnections(
    {
      serve: (socket, request, answer) => serve(request, answer, socket),
      take(socket, bytes) {
        const cut = (): void => void socket.destroy()
        socket.on('error', cut)
        const begin = (): void =>
          turns.begin(socket, allThatCame(socket, bytes), () => {
            socket.off('error', cut)
            if (socket.destroyed) return
            socket.unshift(bytes)
            for (const listener of toNode) listener.call(server, socket)
            readInParts(socket, turns, limits.smallPiecesAtOnce)
            socket.resume()
          })
        if (socket instanceof TLSSocket) setImmediate(begin)
        else begin()
      },
      refuse: refuseLate,
    },
    limits,
    everyMs,
  )
  server.on('close', () => simple.close())
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    if (admit(socket)) simple.begin(socket)
  })
  return server
}

/** These bytes, and those behind them that were read too: TLS gives what came at once in several parts. */
function allThatCame(socket: Socket, bytes: Buffer): Buffer {
  const more = socket.readableLength > 0 ? (socket.read() as Buffer | null) : null // no encoding is set
  if (!more) return bytes
  socket.unshift(more)
  return Buffer.concat([bytes, more])
}

function createNodeServer(limits: typeof ingressLimits, everyMs: number): Server {
  const server = createServer({
    insecureHTTPParser: false,
    maxHeaderSize: limits.headBytes,
    headersTimeout: limits.headSeconds * 1000,
    requestTimeout: 0, // uploads may be large: they have a rate of their own
    keepAliveTimeout: limits.idleSeconds * 1000,
    connectionsCheckingInterval: everyMs,
    requireHostHeader: false, // it is read here, and said more plainly
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: limits.keepAliveSeconds * 1000,
    optimizeEmptyRequests: true,
    shouldUpgradeCallback: (request) =>
      request.method === 'GET' && request.headers.upgrade?.toLowerCase() === 'websocket',
  })
  server.maxHeadersCount = 0 // readRequest counts them: Node would leave out the others
  server.setTimeout((limits.stalledSeconds * 1000) / 2)
  server.on('timeout', (socket: Socket) => {
    // Silent both ways: while bytes wait to be sent, that is somebody who does not read.
    if (socket.writableLength === 0) return
    refused.inc({ reason: 'unread-answer' })
    socket.destroy()
  })
  server.on('dropRequest', (_request, socket) => socket.destroy())
  return server
}

/** What cannot be read as HTTP. One answer is enough, and nothing is written into one that has begun. */
function answerBadHttp(error: NodeJS.ErrnoException, socket: Duplex, answers: ReadonlySet<ServerResponse>): void {
  if (socket.destroyed || !socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const begun = [...answers].filter(({ headersSent }) => headersSent)
  if (begun.some(({ writableEnded }) => !writableEnded)) return void socket.destroy()
  if (begun.some(({ shouldKeepAlive }) => !shouldKeepAlive)) return
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return refuseLate(socket)
  const isLarge = error.code === 'HPE_HEADER_OVERFLOW'
  const page = isLarge
    ? { status: 431, title: 'Request Header Fields Too Large', sentence: 'The headers of the request are too large.' }
    : { status: 400, title: 'Bad Request', sentence: 'The request is no proper HTTP.' }
  endWith(socket, page)
}

/** A request that does not come. */
function refuseLate(socket: Duplex): void {
  endWith(socket, { status: 408, title: 'Request Timeout', sentence: 'The request came too slowly.' })
}

/** Answers what is no proper request, and closes the connection. */
function endWith(socket: Duplex, page: Page): void {
  refused.inc({ reason: 'bad-http' })
  socket.on('error', () => socket.destroy())
  socket.resume() // what is left unread would cut the answer
  socket.end(rawPage(page, false), () => socket.destroy())
}
