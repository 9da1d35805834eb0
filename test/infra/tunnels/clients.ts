/** Tunnels in tests: a client of the web socket, and a program that listens as one of the VM's. */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { WebSocket } from 'ws'
import { until } from '../../support/until.ts'

/** What a client was told; bytes are beside it. */
export type Told = { type: string; offset?: number; code?: string; message?: string }

/** A client of one tunnel. It acknowledges what it gets, unless told otherwise. */
export class TunnelClient {
  readonly socket: WebSocket
  readonly told: Told[] = []
  readonly closed: Promise<{ code: number; reason: string }>
  acknowledges = true
  /** How far the server has passed on what was sent. */
  passedOn = 0
  sent = 0
  receivedBytes = 0
  #pieces: Buffer[] = []
  #whole = Buffer.alloc(0)

  constructor(url: string, headers: Record<string, string> = {}) {
    this.socket = new WebSocket(`${url.replace('http', 'ws')}/tunnel`, 'berth.tunnel.v1', { headers })
    this.closed = once(this.socket, 'close').then(([code, reason]) => ({ code: Number(code), reason: String(reason) }))
    this.socket.on('message', (data: Buffer, isBinary: boolean) => {
      if (isBinary) {
        this.#pieces.push(data)
        this.receivedBytes += data.length
        if (this.acknowledges) this.acknowledge()
        return
      }
      const told = JSON.parse(data.toString()) as Told
      if (told.type === 'ack') this.passedOn = told.offset ?? 0
      else this.told.push(told)
    })
  }

  /** All that came. */
  get received(): Buffer {
    if (this.#pieces.length > 0) this.#whole = Buffer.concat([this.#whole, ...this.#pieces.splice(0)])
    return this.#whole
  }

  get text(): string {
    return this.received.toString()
  }

  say(message: object): void {
    this.socket.send(JSON.stringify(message))
  }

  acknowledge(): void {
    this.say({ type: 'ack', offset: this.receivedBytes })
  }

  send(bytes: string | Buffer): void {
    this.sent += bytes.length
    this.socket.send(Buffer.from(bytes as string)) // a Buffer is copied as it is
  }

  /** Until it is open, or refused. */
  async open(ticket: string): Promise<this> {
    if (this.socket.readyState !== WebSocket.OPEN) await once(this.socket, 'open')
    this.say({ type: 'open', ticket })
    await until('it is open or refused', () => this.told.length > 0)
    return this
  }
}

/** A program that listens at a port of this host, as if it were the VM's. */
export type Listening = {
  port: number
  server: Server
  /** The next connection that came. */
  next(): Promise<Socket>
  stop(): Promise<void>
}

/** Starts one; `serve` deals with each connection. */
export async function startListening(serve: (socket: Socket) => void): Promise<Listening> {
  const sockets = new Set<Socket>()
  const came: Socket[] = []
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => socket.destroy()) // 'close' follows
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    came.push(socket)
    serve(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port, // it listens at one
    server,
    async next() {
      await until('a connection came', () => came.length > 0)
      return came.shift() as Socket // there is one
    },
    async stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
