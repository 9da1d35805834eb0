/**
 * Connections with simple requests, one after the other. At the first one that is anything else, a connection is given to Node's
 * server for good, with all bytes that have not been answered, so that there is one way only to read what is not simple.
 */
import type { Socket } from 'node:net'
import { ingressLimits } from '../limits.ts'
import { refused } from '../metrics.ts'
import { SimpleAnswer, type AnswerWays } from './answers.ts'
import { SimpleReader, type SimpleRequest } from './requests.ts'

/** The limits of these connections; smaller in tests. */
export type SimpleLimits = Pick<
  typeof ingressLimits,
  'headBytes' | 'headSeconds' | 'idleSeconds' | 'stalledSeconds' | 'pipelinedPieces'
>

/** Who answers simple requests. */
export type SimpleServer = {
  serve(socket: Socket, request: SimpleRequest, answer: SimpleAnswer): void
  /** Takes a connection, which is paused, with bytes that are to be read as if none had been. */
  take(socket: Socket, bytes: Buffer): void
  /** Tells a client that was too slow. */
  refuse(socket: Socket): void
}

/** Connections with simple requests. */
export type SimpleConnections = {
  begin(socket: Socket): void
  /** Looks no more for what takes too long. */
  close(): void
}

/** Begins without any. */
export function createSimpleConnections(
  server: SimpleServer,
  limits: SimpleLimits,
  everyMs: number,
): SimpleConnections {
  const all = new Set<SimpleConnection>()
  const sweeping = setInterval(() => {
    const nowMs = performance.now()
    for (const connection of all) connection.look(nowMs)
  }, everyMs).unref()
  return {
    begin: (socket) => void all.add(new SimpleConnection(socket, { server, limits, all })),
    close: () => clearInterval(sweeping),
  }
}

type Around = { server: SimpleServer; limits: SimpleLimits; all: Set<SimpleConnection> }

/** One of them. */
class SimpleConnection {
  readonly #socket: Socket
  readonly #around: Around
  readonly #reader = new SimpleReader()
  readonly #listeners: Readonly<Record<'data' | 'drain' | 'end' | 'error' | 'close', (bytes: Buffer) => void>>
  readonly #ways: AnswerWays
  #answer: SimpleAnswer | null = null
  /** What came before the answer to the request before it had ended. */
  #held: Buffer[] = []
  #heldBytes = 0
  #isProven = false
  #sinceMs = performance.now()
  #seenBytes = -1

  constructor(socket: Socket, around: Around) {
    this.#socket = socket
    this.#around = around
    this.#ways = {
      keepAlive: `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(around.limits.idleSeconds)}\r\n\r\n`,
      wrote: (error) => {
        if (!error) this.#answer?.wrote() // otherwise the connection closes
      },
      over: (answer) => this.#answered(answer),
    }
    this.#listeners = {
      data: (bytes) => this.#take(bytes),
      drain: () => this.#answer?.drained(),
      end: () => void socket.end(), // nobody waits for an answer any more
      error: () => void socket.destroy(), // 'close' follows
      close: () => {
        around.all.delete(this)
        this.#answer?.close()
      },
    }
    for (const [event, listener] of Object.entries(this.#listeners)) socket.on(event, listener)
  }

  #take(bytes: Buffer): void {
    if (this.#answer) return this.#hold(bytes)
    if (!this.#socket.writable) return // it ends
    const request = this.#reader.read(bytes)
    if (!request) return this.#giveAway(bytes)
    const answer = new SimpleAnswer(this.#socket, request.method === 'HEAD', this.#ways)
    this.#answer = answer
    this.#isProven = true
    this.#sinceMs = performance.now()
    this.#around.server.serve(this.#socket, request, answer)
  }

  #hold(bytes: Buffer): void {
    this.#held.push(bytes)
    this.#heldBytes += bytes.length
    if (this.#held.length > this.#around.limits.pipelinedPieces) {
      refused.inc({ reason: 'too-many-pipelined' })
      return void this.#socket.destroy() // paused, it would still be read piece by piece
    }
    if (this.#heldBytes >= this.#around.limits.headBytes) this.#socket.pause()
  }

  #answered({ shouldKeepAlive }: SimpleAnswer): void {
    const socket = this.#socket
    this.#answer = null
    this.#sinceMs = performance.now()
    if (socket.destroyed) return
    if (!shouldKeepAlive) return socket.destroySoon()
    if (this.#heldBytes === 0) return
    const held = Buffer.concat(this.#held)
    this.#held = []
    this.#heldBytes = 0
    socket.resume()
    this.#take(held)
  }

  #giveAway(bytes: Buffer): void {
    const socket = this.#socket
    const { all, server } = this.#around
    all.delete(this)
    for (const [event, listener] of Object.entries(this.#listeners)) socket.off(event, listener)
    socket.pause()
    server.take(socket, bytes)
  }

  /** Ends what takes too long. */
  look(nowMs: number): void {
    const { limits, server, all } = this.#around
    const socket = this.#socket
    const { bytesWritten, writableLength } = socket
    if (this.#answer && (writableLength === 0 || bytesWritten !== this.#seenBytes)) {
      this.#seenBytes = bytesWritten // more was written since, so the client has taken something
      this.#sinceMs = nowMs
    }
    const ms = nowMs - this.#sinceMs
    if (this.#answer) {
      if (ms <= limits.stalledSeconds * 1000) return
      refused.inc({ reason: 'unread-answer' })
      socket.destroy()
    } else if (this.#isProven) {
      if (ms > limits.idleSeconds * 1000) socket.destroy()
    } else if (ms > limits.headSeconds * 1000) {
      all.delete(this)
      server.refuse(socket)
    }
  }
}
