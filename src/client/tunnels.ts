/** Tunnels: connections to ports of a VM, each over a socket of its own, with backpressure both ways. */
import { mutationOf, type Base } from './calls.ts'
import type { CallOptions } from './connection.ts'
import { BerthError } from './errors.ts'
import { CreateTunnelTicketDocument, OpenVmSshDocument } from './generated/documents.ts'
import { webSocketOf } from './sockets.ts'

const protocol = 'berth.tunnel.v1'
const messageBytesMax = 64 * 1024
/** Sent and not acknowledged, in each direction. */
const unacknowledgedBytes = 512 * 1024
const ackBytes = 64 * 1024
const normal = 1000
const clientError = 4000 // a socket that closes with this and an HTTP status was refused

/** What takes what the VM sends. `write` is done when the bytes are dealt with: what is not holds the VM's program back. */
export type TunnelReceiver = { write(bytes: Uint8Array): void | Promise<void>; end(): void }

/** One that is open. `ended` fails with a BerthError when it was cut. */
export type OpenTunnel = {
  /** Done when there is room for more. Fails when the tunnel is over. */
  write(bytes: Uint8Array): Promise<void>
  /** Sends no more; what the VM sends still comes. */
  end(): void
  leave(): void
  ended: Promise<void>
}

type Message =
  | { type: 'opened' }
  | { type: 'ack'; offset: number }
  | { type: 'end' }
  | { type: 'error'; code: string; message: string }

/** `berth.vms.tunnels`. */
export function tunnelsOf(base: Base) {
  const ticketOf = mutationOf(base, CreateTunnelTicketDocument, (data) => data.createTunnelTicket)
  const openSsh = mutationOf(base, OpenVmSshDocument, (data) => data.openVmSsh)
  return {
    /** Connects to a port of a VM. */
    async open(vmId: string, port: number, receiver: TunnelReceiver, options?: CallOptions): Promise<OpenTunnel> {
      const { ticket } = await ticketOf({ vmId, port }, options)
      return connect(base, ticket, receiver)
    },
    /** Lets a public key in by SSH, and answers the host key and a ticket for `connect`. */
    openSsh: (input: { vmId: string; publicKey: string }, options?: CallOptions) => openSsh(input, options),
    /** Connects by a ticket. */
    connect: (ticket: string, receiver: TunnelReceiver): Promise<OpenTunnel> => connect(base, ticket, receiver),
  }
}

async function connect({ connection }: Base, ticket: string, receiver: TunnelReceiver): Promise<OpenTunnel> {
  const Socket = webSocketOf(connection)
  const url = connection.at('/tunnel')
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
  const socket = new Socket(url, protocol)
  socket.binaryType = 'arraybuffer'
  const sending = new Sending(socket)
  const receiving = new Receiving(socket, receiver)
  let reason: { code: string; message: string } | undefined
  let isLeft = false
  let opened: () => void = () => undefined
  const isOpen = new Promise<void>((resolve) => (opened = resolve))
  const ended = new Promise<void>((resolve, reject) => {
    socket.onopen = () => socket.send(JSON.stringify({ type: 'open', ticket }))
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data !== 'string') return receiving.take(new Uint8Array(data))
      const message = JSON.parse(data) as Message
      if (message.type === 'opened') opened()
      else if (message.type === 'ack') sending.acknowledge(message.offset)
      else if (message.type === 'end') receiving.end()
      else reason = message
    }
    socket.onerror = () => undefined // the close that follows says the same
    socket.onclose = ({ code, reason: text }) => {
      const error = cutError(code, reason, text)
      sending.stop(error)
      receiving.done.then(() => (code === normal || isLeft ? resolve() : reject(error)), reject)
    }
  })
  ended.catch(() => undefined) // whoever wants to know awaits it
  await Promise.race([isOpen, ended])
  return {
    write: (bytes) => sending.write(bytes),
    end: () => sending.end(),
    leave() {
      isLeft = true
      socket.close(normal)
    },
    ended,
  }
}

function cutError(code: number, reason: { code: string; message: string } | undefined, text: string): BerthError {
  return new BerthError({
    code: reason?.code.toUpperCase() ?? 'CONNECTION_FAILED',
    status: code > clientError ? code - clientError : 0,
    message: reason?.message ?? (text || 'The connection of this tunnel was cut.'),
  })
}

/** What goes to the VM. */
class Sending {
  readonly #socket: WebSocket
  #sent = 0
  #acknowledged = 0
  #stopped: BerthError | undefined
  #wake: () => void = () => undefined
  /** What was to be written before: it is sent one after another, whether somebody waits for it or not. */
  #last: Promise<void> = Promise.resolve()

  constructor(socket: WebSocket) {
    this.#socket = socket
  }

  write(bytes: Uint8Array): Promise<void> {
    const written = this.#last.then(() => this.#pass(bytes))
    this.#last = written.catch(() => undefined) // whoever wrote has the error
    return written
  }

  async #pass(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; at += messageBytesMax) {
      const piece = bytes.slice(at, at + messageBytesMax)
      while (!this.#stopped && this.#sent + piece.length - this.#acknowledged > unacknowledgedBytes)
        await new Promise<void>((resolve) => (this.#wake = resolve))
      if (this.#stopped) throw this.#stopped
      this.#sent += piece.length
      this.#socket.send(piece)
    }
  }

  acknowledge(offset: number): void {
    this.#acknowledged = offset
    this.#wake()
  }

  /** Behind all that was to be written. */
  end(): void {
    void this.#last.then(() => {
      if (!this.#stopped) this.#socket.send(JSON.stringify({ type: 'end' }))
    })
  }

  stop(error: BerthError): void {
    this.#stopped = error
    this.#wake()
  }
}

/** What comes from the VM, in order. */
class Receiving {
  readonly #socket: WebSocket
  readonly #receiver: TunnelReceiver
  #received = 0
  #acknowledged = 0
  /** When all that came so far is dealt with. */
  done: Promise<void> = Promise.resolve()

  constructor(socket: WebSocket, receiver: TunnelReceiver) {
    this.#socket = socket
    this.#receiver = receiver
  }

  take(bytes: Uint8Array): void {
    this.#received += bytes.length
    const upTo = this.#received
    this.#then(async () => {
      await this.#receiver.write(bytes)
      if (upTo - this.#acknowledged < ackBytes || this.#socket.readyState !== this.#socket.OPEN) return
      this.#acknowledged = upTo
      this.#socket.send(JSON.stringify({ type: 'ack', offset: upTo }))
    })
  }

  end(): void {
    this.#then(async () => this.#receiver.end())
  }

  /** Whose receiver fails has nobody there any more. */
  #then(work: () => Promise<void>): void {
    this.done = this.done.then(work)
    this.done.catch(() => this.#socket.close(normal))
  }
}
