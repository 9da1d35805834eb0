/**
 * /terminal: the web socket of terminals, protocol berth.terminal.v1 (docs/terminals.md). A ticket is the only credential: no
 * header, cookie or query counts.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { WebSocketServer, type WebSocket } from 'ws'
import { countRefusedCredential } from '#schema/context.ts'
import { isFromOurPage } from '#src/identity/browser-cookies.ts'
import { BerthError, publicError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import type { Proxies } from '#src/platform/http/proxies.ts'
import { limits } from '#src/platform/limits.ts'
import { terminalLimits } from '#src/platform/limits/terminals.ts'
import { log } from '#src/platform/log.ts'
import type { Services } from '#src/platform/services.ts'
import { attachTerminal } from '#src/resources/infra/terminals/attaching.ts'
import type { Attachment, TerminalClient } from '#src/resources/infra/terminals/attachments.ts'
import { closeSaying, refuseUpgrade } from '../web-sockets/closing.ts'
import { keepAlive } from '../web-sockets/heartbeats.ts'
import { readMessage, type ClientMessage, type ServerMessage } from './messages.ts'

/** The path of the socket. */
export const terminalPath = '/terminal'
/** The protocol that a client must offer. */
export const terminalProtocol = 'berth.terminal.v1'

const normal = 1000
const ourFault = 1011
const tryAgainLater = 1013
const replacedCode = 4409
/** An error of a client closes with this and its HTTP status: 4401, 4404. */
const clientError = 4000
/** What a client sends at once behind `attach`, before it is attached. Unit: messages. */
const earlyMax = 16

/** What the sockets need. */
export type TerminalSocketParts = { services: Services; proxies: Proxies; stopping: AbortSignal }

/** Adds the web socket. */
export function serveTerminals(app: FastifyInstance, { services, proxies, stopping }: TerminalSocketParts): void {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: terminalLimits.messageBytes,
    handleProtocols: () => terminalProtocol,
  })
  const watch = keepAlive(sockets, stopping)
  app.server.on('upgrade', (request: IncomingMessage, connection: Duplex, head: Buffer) => {
    if (request.url?.split('?')[0] !== terminalPath) return // ../sockets.ts takes or refuses it
    const offered = request.headers['sec-websocket-protocol']?.split(',').map((one) => one.trim())
    if (!offered?.includes(terminalProtocol)) return refuseUpgrade(connection, terminalProtocol)
    sockets.handleUpgrade(request, connection, head, (socket) => {
      watch(socket, connection)
      talk(services, socket, request, proxies.clientOf(request))
    })
  })
}

type Message = { data: Buffer; isBinary: boolean }

/** One socket, from its first message on. */
function talk(services: Services, socket: WebSocket, request: IncomingMessage, address: string): void {
  let attachment: Attachment | null = null
  let early: Message[] | null = null
  const waiting = setTimeout(
    () => fail(socket, new BerthError('invalid_request', 'Send the message attach first, with a ticket.')),
    terminalLimits.attachSeconds * 1000,
  )
  const attach = async (first: ClientMessage): Promise<void> => {
    if (first.type !== 'attach') throw new BerthError('invalid_request', 'Send the message attach first.')
    clearTimeout(waiting)
    const origin = isFromOurPage(request.headers, services.config)
    const client = clientAt(socket, () => attachment)
    attachment = await attachTerminal(services, { ...first, isFromOurPage: origin }, client).catch(
      async (error: unknown) => {
        if (error instanceof BerthError && error.status === 401) await countRefusedCredential(services.limiter, address)
        throw error
      },
    )
    if (socket.readyState !== socket.OPEN) attachment.leave()
    const held = early ?? []
    early = null
    for (const message of held) obey(attachment, message)
  }
  const take = (message: Message): void => {
    if (attachment && !early) return obey(attachment, message)
    if (early) {
      if (early.push(message) > earlyMax) throw new BerthError('invalid_request', 'Wait for the message attached.')
      return
    }
    if (message.isBinary) throw new BerthError('invalid_request', 'Send the message attach first.')
    const first = readMessage(message.data)
    early = []
    attach(first).catch((error: unknown) => fail(socket, error))
  }
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    try {
      if (socket.readyState === socket.OPEN) take({ data, isBinary })
    } catch (error) {
      fail(socket, error)
    }
  })
  socket.on('error', (error) => log.debug({ reason: error.message }, 'the socket of a terminal broke')) // 'close' follows
  socket.once('close', () => {
    clearTimeout(waiting)
    attachment?.leave()
  })
}

/** @throws BerthError invalid_request, rate_limited. */
function obey(attachment: Attachment, { data, isBinary }: Message): void {
  if (isBinary) return attachment.type(data)
  const message = readMessage(data)
  if (message.type === 'ack') return attachment.acknowledge(message.offset)
  if (message.type === 'resize') return attachment.resize(message)
  throw new BerthError('invalid_request', 'This socket is attached already. Open another one.')
}

/** The client behind a socket. While it does not take what it is sent, nothing more is read. */
function clientAt(socket: WebSocket, attachment: () => Attachment | null): TerminalClient {
  return {
    attached: ({ id }, offset) => say(socket, { type: 'attached', terminalId: encodeId('terminal', id), offset }),
    output(bytes) {
      if (socket.readyState !== socket.OPEN) return
      socket.send(bytes, { binary: true }, () => {
        if (socket.bufferedAmount < limits.streamQueuedBytes / 2) attachment()?.resume()
      })
      if (socket.bufferedAmount > limits.streamQueuedBytes) attachment()?.pause()
    },
    gap: (offset) => say(socket, { type: 'gap', offset }),
    exit(code) {
      say(socket, { type: 'exit', code })
      socket.close(normal)
    },
    replaced() {
      say(socket, { type: 'replaced' })
      closeSaying(socket, replacedCode, 'Another client has attached to this terminal.')
    },
    failed: (error) => fail(socket, error),
  }
}

function say(socket: WebSocket, message: ServerMessage): void {
  if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(message))
}

/** Says why it is over, and closes. */
function fail(socket: WebSocket, error: unknown): void {
  if (!(error instanceof BerthError)) log.error({ err: error }, 'a terminal failed')
  const { code, status, message } = publicError(error)
  say(socket, { type: 'error', code, message })
  const passing = status === 500 ? ourFault : tryAgainLater
  closeSaying(socket, status < 500 ? clientError + status : passing, message)
}
