/** Answers to simple requests, written to the client's connection at once: head and body of a short one together. */
import type { Socket } from 'node:net'
import { now } from '#src/platform/clock.ts'

type Listener = () => void

/** What all answers of a connection have in common. */
export type AnswerWays = {
  /** The last lines of a head, where another request may follow. */
  keepAlive: string
  /** The connection has taken a part: `wrote` is to be called. */
  wrote: (error?: Error | null) => void
  /** An answer is over, and everybody else has been told. */
  over: (answer: SimpleAnswer) => void
}

/** Where an answer goes: as much of Node's ServerResponse as the ingress uses. */
export class SimpleAnswer {
  /** Whether another request may follow on the connection. */
  shouldKeepAlive = true
  headersSent = false
  writableEnded = false
  readonly #socket: Socket
  readonly #isHead: boolean
  readonly #ways: AnswerWays
  #head = ''
  #isChunked = false
  #hasBody = true
  #pending = 0
  #isClosed = false
  #closing: Listener | null = null
  #draining: Listener | null = null

  constructor(socket: Socket, isHead: boolean, ways: AnswerWays) {
    this.#socket = socket
    this.#isHead = isHead
    this.#ways = ways
  }

  get destroyed(): boolean {
    return this.#socket.destroyed
  }

  /** Calls back when the answer is over: sent, or cut. */
  on(_event: 'close', listener: Listener): this {
    const before = this.#closing
    this.#closing = before
      ? () => {
          before()
          listener()
        }
      : listener
    return this
  }

  /** The same, and once when more may be written after `write` returned false. */
  once(event: 'close' | 'drain', listener: Listener): this {
    if (event === 'close') return this.on(event, listener)
    this.#draining = listener
    return this
  }

  /** Prepares the head, which goes with the first part of the body. Headers are names and values in turn, and have been checked. */
  writeHead(status: number, reason: string, headers: readonly string[]): void {
    let text = `HTTP/1.1 ${status} ${reason}\r\n`
    let hasLength = false
    let hasDate = false
    for (let at = 0; at < headers.length; at += 2) {
      const name = headers[at] ?? ''
      if (name.length === 14) hasLength ||= name.toLowerCase() === 'content-length'
      else if (name.length === 4) hasDate ||= name.toLowerCase() === 'date'
      text += `${name}: ${headers[at + 1]}\r\n`
    }
    this.#hasBody = !this.#isHead && status !== 204 && status !== 304
    this.#isChunked = this.#hasBody && !hasLength
    if (!hasDate) text += dateLine()
    if (this.#isChunked) text += 'Transfer-Encoding: chunked\r\n'
    this.#head = text + (this.shouldKeepAlive ? this.#ways.keepAlive : 'Connection: close\r\n\r\n')
    this.headersSent = true
  }

  /** Sends the head now. */
  flushHeaders(): void {
    const head = this.#head
    if (head === '') return
    this.#head = ''
    this.#send(head)
  }

  /** A simple request waits for no such thing. */
  writeContinue(): void {
    /* nothing to say */
  }

  /** @returns false when no more is wanted for now */
  write(bytes: Buffer): boolean {
    if (this.writableEnded) return false
    const socket = this.#socket
    socket.cork()
    this.flushHeaders()
    if (this.#hasBody) this.#sendBody(bytes)
    socket.uncork()
    return !socket.writableNeedDrain
  }

  end(body?: Buffer | string): void {
    if (this.writableEnded) return
    this.writableEnded = true
    const socket = this.#socket
    socket.cork()
    this.flushHeaders()
    if (this.#hasBody) {
      if (body !== undefined && body.length > 0) this.#sendBody(typeof body === 'string' ? Buffer.from(body) : body)
      if (this.#isChunked) this.#send('0\r\n\r\n')
    }
    socket.uncork()
    if (this.#pending === 0) this.close()
  }

  #sendBody(bytes: Buffer): void {
    if (this.#isChunked) {
      this.#send(`${bytes.length.toString(16)}\r\n`)
      this.#send(bytes)
      this.#send('\r\n')
    } else this.#send(bytes)
  }

  #send(part: string | Buffer): void {
    this.#pending++
    this.#socket.write(part, 'latin1', this.#ways.wrote)
  }

  /** Ends the connection: what was begun cannot be finished. */
  destroy(): void {
    this.#socket.destroy()
  }

  /** The connection has taken a part. */
  wrote(): void {
    if (--this.#pending === 0 && this.writableEnded) this.close()
  }

  /** The connection takes more. */
  drained(): void {
    const listener = this.#draining
    this.#draining = null
    listener?.()
  }

  /** It is over: everything has been sent, or the connection has gone. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#closing?.()
    this.#ways.over(this)
  }
}

let date = { second: -1, line: '' }

/** What the time is, for targets that do not say it. */
function dateLine(): string {
  const second = Math.floor(performance.now() / 1000)
  if (second !== date.second) date = { second, line: `Date: ${now().toUTCString()}\r\n` }
  return date.line
}
