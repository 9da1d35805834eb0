/** Terminals: opened in the graph, attached to at a socket of their own, and resumed where it was cut. */
import { backoffMs, pause } from './chance.ts'
import { mutationOf, type Base } from './calls.ts'
import type { CallOptions } from './connection.ts'
import { BerthError } from './errors.ts'
import {
  CloseTerminalDocument,
  CreateTerminalTicketDocument,
  OpenTerminalDocument,
  type OpenTerminalInput,
} from './generated/documents.ts'
import { webSocketOf } from './sockets.ts'

const protocol = 'berth.terminal.v1'
const ackBytes = 64 * 1024
const attemptsMax = 40 // in a row
const again = { firstMs: 300, mostMs: 10_000 }
const messageBytesMax = 64 * 1024
const typedBytesMax = 64 * 1024 // while nobody is attached
/** Closed so, a socket is opened again: its process stops, the network was cut, the node does not answer. */
const passing = [1001, 1005, 1006, 1011, 1013]

/** What draws a terminal. `write` is done when the bytes are drawn; what is not drawn holds the program back. */
export type Screen = { columns: number; rows: number; write(bytes: Uint8Array): void | Promise<void>; reset(): void }

/** One that is attached. `ended` is the exit code; it fails with a BerthError when the terminal is lost. */
export type AttachedTerminal = {
  ended: Promise<number>
  type(bytes: Uint8Array): void
  resize(columns: number, rows: number): void
  /** Leaves it, after which `ended` is 0; the program runs on for 15 minutes. */
  leave(): void
}

type Message =
  | { type: 'attached'; offset: number }
  | { type: 'gap'; offset: number }
  | { type: 'exit'; code: number }
  | { type: 'replaced' }
  | { type: 'error'; code: string; message: string }

/** `berth.vms.terminals`. */
export function terminalsOf(base: Base) {
  const open = mutationOf(base, OpenTerminalDocument, (data) => data.openTerminal)
  const close = mutationOf(base, CloseTerminalDocument, (data) => data.closeTerminal?.terminal)
  const ticketOf = mutationOf(base, CreateTerminalTicketDocument, (data) => data.createTerminalTicket)
  return {
    open,
    close: (id: string, options?: CallOptions) => close({ id }, options),
    /** Attaches to a terminal that is open. */
    attach: (id: string, screen: Screen): AttachedTerminal =>
      attach(base, screen, async (signal) => (await ticketOf({ id }, { signal })).ticket),
    /** Opens a terminal in a VM, and attaches to it. */
    async start(input: OpenTerminalInput, screen: Screen): Promise<AttachedTerminal & { id: string }> {
      const { terminal, ticket } = await open(input)
      const first = [ticket]
      const attached = attach(
        base,
        screen,
        async (signal) => first.pop() ?? (await ticketOf({ id: terminal.id }, { signal })).ticket,
      )
      return { ...attached, id: terminal.id }
    },
  }
}

type TakeTicket = (signal: AbortSignal) => Promise<string>

function attach({ connection }: Base, screen: Screen, takeTicket: TakeTicket): AttachedTerminal {
  const Socket = webSocketOf(connection)
  const url = connection.at('/terminal')
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
  const state: State = { screen, drawn: 0, acknowledged: 0, attempts: 0, writing: Promise.resolve() }
  const typed = new Typed()
  let socket: WebSocket | undefined
  const leaving = new AbortController()
  const isLeft = (): boolean => leaving.signal.aborted

  const once = (ticket: string): Promise<number> =>
    new Promise((resolve) => {
      const own = new Socket(url, protocol)
      socket = own
      own.binaryType = 'arraybuffer'
      own.onopen = () =>
        send(own, { type: 'attach', ticket, columns: screen.columns, rows: screen.rows, after: state.offset })
      own.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
        if (typeof data !== 'string') return print(state, own, new Uint8Array(data))
        const message = JSON.parse(data) as Message
        hear(state, message)
        if (message.type === 'attached') typed.flowTo(own)
      }
      own.onerror = () => undefined // the close that follows says the same
      own.onclose = ({ code, reason }) => {
        typed.flowTo(undefined)
        if (!passing.includes(code) && state.exitCode === undefined)
          state.failure = state.reason ?? (reason || 'The terminal has ended.')
        resolve(code)
      }
    })

  async function run(): Promise<number> {
    for (; !isLeft(); state.attempts++) {
      if (state.attempts >= attemptsMax)
        throw new BerthError({ code: 'CONNECTION_FAILED', message: 'The connection to this terminal was cut.' })
      if (state.attempts > 0) await pause(backoffMs(state.attempts - 1, again), leaving.signal)
      if (isLeft()) break
      const ticket = await takeTicket(leaving.signal).catch((error: unknown) => {
        if (isLeft() || (error instanceof BerthError && isPassing(error))) return undefined // it is asked for again
        throw error
      })
      if (ticket === undefined || isLeft()) continue
      await once(ticket)
      await state.writing
      if (state.exitCode !== undefined) return state.exitCode
      if (state.failure !== undefined && !isLeft())
        throw new BerthError({ code: 'INVALID_TRANSITION', status: 409, message: state.failure })
    }
    return 0
  }

  return {
    ended: run(),
    type: (bytes) => typed.add(bytes),
    resize(columns, rows) {
      screen.columns = columns
      screen.rows = rows
      if (socket?.readyState === Socket.OPEN) send(socket, { type: 'resize', columns, rows })
    },
    leave() {
      leaving.abort()
      socket?.close(1000)
    },
  }
}

/** Whether a ticket may be had in a moment. */
function isPassing({ code, status }: BerthError): boolean {
  return code === 'CONNECTION_FAILED' || status === 429 || status >= 500
}

/** What is typed: sent to whoever is attached, and kept until somebody is. */
class Typed {
  #socket: WebSocket | undefined
  #waiting: Uint8Array<ArrayBuffer>[] = []
  #bytes = 0

  add(bytes: Uint8Array): void {
    const copy = new Uint8Array(bytes)
    if (this.#socket) return this.#send(this.#socket, copy)
    if (this.#bytes + copy.length > typedBytesMax) return // as on any line that nobody reads
    this.#bytes += copy.length
    this.#waiting.push(copy)
  }

  flowTo(socket: WebSocket | undefined): void {
    this.#socket = socket
    if (!socket) return
    const waiting = this.#waiting
    this.#waiting = []
    this.#bytes = 0
    for (const bytes of waiting) this.#send(socket, bytes)
  }

  #send(socket: WebSocket, bytes: Uint8Array<ArrayBuffer>): void {
    for (let at = 0; at < bytes.length; at += messageBytesMax) socket.send(bytes.slice(at, at + messageBytesMax))
  }
}

type State = {
  screen: Screen
  /** Of the next byte that is printed, once it is known. */
  offset?: number
  drawn: number
  acknowledged: number
  attempts: number
  exitCode?: number
  /** What the server said last of why it closes the socket. */
  reason?: string
  failure?: string
  writing: Promise<void>
}

function send(socket: WebSocket, message: Record<string, unknown>): void {
  socket.send(JSON.stringify(message))
}

function hear(state: State, message: Message): void {
  if (message.type === 'attached') {
    state.attempts = 0
    state.offset = message.offset
    state.drawn = Math.max(state.drawn, message.offset)
  } else if (message.type === 'gap') {
    state.screen.reset()
    state.offset = state.drawn = state.acknowledged = message.offset
  } else if (message.type === 'exit') state.exitCode = message.code
  else state.reason = message.type === 'replaced' ? 'Another client has attached to this terminal.' : message.message
}

function print(state: State, socket: WebSocket, bytes: Uint8Array): void {
  state.offset = (state.offset ?? 0) + bytes.length
  const upTo = state.offset
  state.writing = state.writing
    .then(() => state.screen.write(bytes))
    .then(() => {
      state.drawn = Math.max(state.drawn, upTo)
      if (state.drawn - state.acknowledged < ackBytes || socket.readyState !== socket.OPEN) return
      state.acknowledged = state.drawn
      send(socket, { type: 'ack', offset: state.drawn })
    })
}
