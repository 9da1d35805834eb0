/**
 * Reads server-sent events (HTML standard, "Event stream interpretation") as the bytes come, however they are split. In
 * all wire formats here the data itself names the event, so only the data is passed on.
 */

import { JoinedPieces } from '../joined-pieces.ts'

/** Longest line, and longest data of one event, in bytes and characters. */
const lineBytesMax = 1024 * 1024

/** A stream that cannot be read further. */
export class EventStreamError extends Error {}

/** The receiver of the data of each event that has any; lines of one event are joined by line feeds. */
export type EventSink = { event(data: string): void }

const lineFeed = 0x0a
const carriageReturn = 0x0d
const bytesPerCharacterMax = 3

/** One stream being read. Only whole lines are decoded, so no character is ever split. */
export class EventStream {
  readonly #sink: EventSink
  /** The beginning of an incomplete line. */
  readonly #held = new JoinedPieces()
  #data: string | null = null
  #isFirst = true
  #skipLineFeed = false

  constructor(sink: EventSink) {
    this.#sink = sink
  }

  /** The next bytes. @throws EventStreamError for a line or an event that is too long; what the sink throws. */
  push(chunk: Buffer): void {
    if (this.#skipLineFeed && chunk.length > 0) {
      this.#skipLineFeed = false
      if (chunk[0] === lineFeed) chunk = chunk.subarray(1)
    }
    const end = Math.max(chunk.lastIndexOf(lineFeed), chunk.lastIndexOf(carriageReturn)) + 1
    if (end === 0) return this.#hold(chunk)
    this.#skipLineFeed = end === chunk.length && chunk[end - 1] === carriageReturn
    let text: string
    if (this.#held.bytes === 0) text = chunk.toString('utf8', 0, end)
    else {
      this.#held.add(chunk, 0, end)
      text = this.#held.take()?.toString('utf8') ?? ''
    }
    this.#hold(chunk.subarray(end))
    if (this.#isFirst) {
      this.#isFirst = false
      if (text.charCodeAt(0) === 0xfeff) text = text.slice(1)
    }
    this.#readLines(text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text)
  }

  /**
   * Ends the stream: an event whose last line is complete is passed on even without an empty line after it. The
   * standard would drop it.
   */
  end(): void {
    this.#dispatch()
  }

  #hold(rest: Buffer): void {
    if (rest.length === 0) return
    this.#held.add(rest)
    if (this.#held.bytes > lineBytesMax) throw new EventStreamError(`a line is longer than ${lineBytesMax} bytes`)
  }

  /** Lines that all end in a line feed. */
  #readLines(text: string): void {
    let start = 0
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      if (end === start) this.#dispatch()
      else if (text.startsWith('data', start)) this.#readData(text, start + 4, end)
      else refuseLong(text, start, end)
      start = end + 1
    }
  }

  #readData(text: string, colon: number, end: number): void {
    refuseLong(text, colon - 4, end)
    if (colon < end && text.charCodeAt(colon) !== 0x3a) return // another field whose name begins the same
    const start = colon + (text.charCodeAt(colon + 1) === 0x20 ? 2 : 1)
    const value = start < end ? text.slice(start, end) : ''
    this.#data = this.#data === null ? value : `${this.#data}\n${value}`
    if (this.#data.length > lineBytesMax)
      throw new EventStreamError(`an event is longer than ${lineBytesMax} characters`)
  }

  #dispatch(): void {
    const data = this.#data
    this.#data = null
    if (data !== null && data !== '') this.#sink.event(data)
  }
}

/** Refuses a long line like one that arrived in pieces, whose bytes were counted. */
function refuseLong(text: string, start: number, end: number): void {
  if ((end - start) * bytesPerCharacterMax > lineBytesMax && Buffer.byteLength(text.slice(start, end)) > lineBytesMax) {
    throw new EventStreamError(`a line is longer than ${lineBytesMax} bytes`)
  }
}
