/** Events of a stream (`text/event-stream`) as bytes, read in time and memory that are linear in them. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { McpAnswerError } from './faults.ts'

/** Between two turns of the event loop. */
const eventsBetweenTurns = 50
const stepMs = 8
/** Read between two looks at the clock: a chunk may be of nothing but ends of lines. */
const stepBytes = 4096
/** Of one stream. */
const eventsMax = 100_000
/** Lines of data in one event: messages are one line, unless they are printed for people. */
const dataLinesMax = 10_000
/** A longer id or name of an event is left out; bytes. */
const fieldBytesMax = 1024
const firstBufferBytes = 16 * 1024

const newline = 0x0a
const carriageReturn = 0x0d
const colon = 0x3a
const space = 0x20

/** An event. `data` null: it has none. */
export type ServerEvent = { id: string | null; name: string | null; retryMs: string | null; data: Buffer | null }

/** Bytes that come in pieces: kept in one buffer that doubles, however small the pieces are. */
export class GatheredBytes {
  #bytes = Buffer.alloc(0)
  #length = 0

  get length(): number {
    return this.#length
  }

  add(piece: Uint8Array): void {
    const needed = this.#length + piece.byteLength
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(firstBufferBytes, needed, this.#bytes.length * 2))
      this.#bytes.copy(larger, 0, 0, this.#length)
      this.#bytes = larger
    }
    this.#bytes.set(piece, this.#length)
    this.#length = needed
  }

  /** What came so far; from now on it begins anew. */
  take(): Buffer {
    const taken = this.#bytes.subarray(0, this.#length)
    this.#bytes = Buffer.alloc(0)
    this.#length = 0
    return taken
  }
}

/** The events of a stream. @throws McpAnswerError when they are too many, or one has too many lines. */
export async function* eventsOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reading = new EventReading()
  let events = 0
  let untilMs = performance.now() + stepMs
  for await (const chunk of body)
    for (let from = 0; from < chunk.length; from += stepBytes) {
      if (performance.now() >= untilMs) {
        await nextTurn() // lines that are no events take their time too
        untilMs = performance.now() + stepMs
      }
      for (const event of reading.read(chunk.subarray(from, from + stepBytes))) {
        if (++events > eventsMax)
          throw new McpAnswerError(`The server’s answer has more than ${eventsMax} events, which is the limit.`)
        yield event
        if (events % eventsBetweenTurns === 0) await nextTurn()
      }
    }
}

const nothing: Omit<ServerEvent, 'data'> = { id: null, name: null, retryMs: null }

/** Lines end in a newline, a carriage return, or both. Comments and fields that are not known are not kept. */
class EventReading {
  readonly #line = new GatheredBytes()
  readonly #data = new GatheredBytes()
  #dataLines = 0
  #fields = nothing
  #endedInReturn = false

  #endLine(rest: Uint8Array): ServerEvent | null {
    let line = rest
    if (this.#line.length > 0) {
      this.#line.add(rest)
      line = this.#line.take()
    }
    if (line.length === 0) return this.#endEvent()
    if (line[0] === colon) return null // a comment
    const at = line.subarray(0, 'retry:'.length).indexOf(colon)
    const name = Buffer.from(at < 0 ? line.subarray(0, 'event'.length + 1) : line.subarray(0, at)).toString('latin1')
    const value = at < 0 ? line.subarray(line.length) : line.subarray(line[at + 1] === space ? at + 2 : at + 1)
    if (name === 'data') this.#addData(value)
    else if (value.length <= fieldBytesMax) {
      const text = Buffer.from(value).toString()
      if (name === 'id') this.#fields = { ...this.#fields, id: text }
      if (name === 'event') this.#fields = { ...this.#fields, name: text }
      if (name === 'retry') this.#fields = { ...this.#fields, retryMs: text }
    }
    return null
  }

  #addData(value: Uint8Array): void {
    if (++this.#dataLines > dataLinesMax)
      throw new McpAnswerError(
        `The server’s answer has an event of more than ${dataLinesMax} lines, which is the limit.`,
      )
    if (this.#dataLines > 1) this.#data.add(lineEnd)
    this.#data.add(value)
  }

  #endEvent(): ServerEvent | null {
    if (this.#dataLines === 0 && this.#fields === nothing) return null
    const event = { ...this.#fields, data: this.#dataLines === 0 ? null : this.#data.take() }
    this.#dataLines = 0
    this.#fields = nothing
    return event
  }

  *read(chunk: Uint8Array): Generator<ServerEvent> {
    let from = 0
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]
      const splitsEnd = byte === newline && at === 0 && this.#endedInReturn
      if (byte !== newline && byte !== carriageReturn) continue
      if (!splitsEnd) {
        const event = this.#endLine(chunk.subarray(from, at))
        if (event) yield event
      }
      if (byte === carriageReturn && chunk[at + 1] === newline) at++
      from = at + 1
    }
    this.#endedInReturn = chunk.at(-1) === carriageReturn
    if (from < chunk.length) this.#line.add(chunk.subarray(from))
  }
}

const lineEnd = Buffer.from('\n')
