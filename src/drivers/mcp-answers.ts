/**
 * Reads responses of tool servers before the protocol's library does: large messages are parsed in steps, and their long
 * texts bypass the library, which would scan each of them several times.
 */
import { ReadableStream as EventBytes } from 'node:stream/web'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { JsonAnswerError, readAnswer } from '#src/platform/json/answers.ts'
import { newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { readBeginning, type OutboundFetch } from './outbound-fetch.ts'
import { OutboundError } from './outbound.ts'

/** A longer text in a result bypasses the library; one outside of results is truncated. Unit: characters. */
const textLengthMax = 256
const errorLengthMax = 32 * 1024
const errorBytesMax = 64 * 1024
const messagesMax = 100
const eventsBetweenTurns = 50

/** The answers of a tool server to one client. */
export type McpAnswers = {
  fetch: OutboundFetch
  /** Restores the long texts in the library's result. */
  restore: (value: unknown) => unknown
}

/** Reads the answers to a client's requests. @param refused called with the reason when one is refused. */
export function readMcpAnswers(fetch: OutboundFetch, refused: (error: OutboundError) => void): McpAnswers {
  const texts = new Map<string, string>()
  const read = async (bytes: Buffer): Promise<string> => {
    try {
      return JSON.stringify(
        withoutTexts(
          await readAnswer(bytes, { parts: limits.mcpAnswerParts, numbers: limits.mcpAnswerNumbers }),
          texts,
        ),
      )
    } catch (error) {
      if (!(error instanceof JsonAnswerError)) throw error
      const refusal =
        error.reason === 'too_many_parts'
          ? tooManyValues()
          : new OutboundError('refused', 'The host answered with something that is not JSON.')
      refused(refusal)
      throw refusal
    }
  }
  return {
    async fetch(url, init) {
      const response = await fetch(url, init)
      const type = response.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase()
      const { status, statusText, headers, body } = response
      if (!body) return response
      if (response.ok && type === 'text/event-stream')
        return new Response(EventBytes.from(steppedEvents(body, read)) as ReadableStream<Uint8Array<ArrayBuffer>>, {
          status,
          statusText,
          headers,
        })
      if (response.ok && type === 'application/json')
        return new Response(await read(await wholeOf(body)), { status, statusText, headers })
      return new Response((await readBeginning(response, errorBytesMax)).text, { status, statusText, headers })
    },
    restore: (value) => (texts.size === 0 ? value : restored(value, texts)),
  }
}

function tooManyValues(): OutboundError {
  return new OutboundError(
    'refused',
    `The host answered with more than ${limits.mcpAnswerParts} values in one message.`,
  )
}

async function wholeOf(body: ReadableStream<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/**
 * A message, or several, with long texts replaced by short placeholders. Those are valid base64, because some texts
 * must be.
 */
function withoutTexts(answer: unknown, texts: Map<string, string>): unknown {
  if (Array.isArray(answer)) {
    if (answer.length > messagesMax) throw new JsonAnswerError('too_many_parts')
    return answer.map((message) => withoutTexts(message, texts))
  }
  const kept = (text: string): string => {
    if (text.length <= textLengthMax) return text
    const name = Buffer.from(newUuid()).toString('base64')
    texts.set(name, text)
    return name
  }
  if (typeof answer !== 'object' || answer === null) return answer
  return Object.fromEntries(
    Object.entries(answer).map(([key, value]) => [
      key,
      mapTexts(
        value,
        key === 'result' ? kept : (text, place) => text.slice(0, place === 'message' ? errorLengthMax : textLengthMax),
      ),
    ]),
  )
}

function restored(value: unknown, texts: ReadonlyMap<string, string>): unknown {
  return mapTexts(value, (text) => texts.get(text) ?? text)
}

/** The same value with its texts replaced. Its depth was limited when it was parsed. */
function mapTexts(value: unknown, change: (text: string, key: string) => string, key = ''): unknown {
  if (typeof value === 'string') return change(value, key)
  if (Array.isArray(value)) return value.map((one) => mapTexts(one, change))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, mapTexts(one, change, name)]))
}

/** The same events, a few per turn of the event loop; large ones without their long texts. */
async function* steppedEvents(
  body: ReadableStream<Uint8Array>,
  read: (bytes: Buffer) => Promise<string>,
): AsyncGenerator<Uint8Array> {
  let others: string[] = []
  let data: string[] = []
  let dataLength = 0
  let events = 0
  for await (const lines of linesOf(body)) {
    for (const line of lines) {
      if (line.startsWith('data:')) {
        data.push(line.slice(line.startsWith('data: ') ? 6 : 5))
        dataLength += line.length
      } else if (line !== '') others.push(line)
      else {
        const dataLines = dataLength > errorBytesMax ? [await read(Buffer.from(data.join('\n')))] : data
        yield Buffer.from(`${[...others, ...dataLines.map((one) => `data: ${one}`)].join('\n')}\n\n`)
        others = []
        data = []
        dataLength = 0
        if (++events % eventsBetweenTurns === 0) await nextTurn()
      }
    }
  }
}

/** Whole lines as they come: those that one chunk ended. */
async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string[]> {
  let held: Uint8Array[] = []
  let endedInReturn = false
  for await (const chunk of body) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    const from = endedInReturn && bytes[0] === 0x0a ? 1 : 0 // a line end that was split
    const end = Math.max(bytes.lastIndexOf(0x0a), bytes.lastIndexOf(0x0d)) + 1
    endedInReturn = bytes.at(-1) === 0x0d
    if (end <= from) {
      held.push(bytes.subarray(from))
      continue
    }
    const text = Buffer.concat([...held, bytes.subarray(from, end)]).toString()
    held = [bytes.subarray(end)]
    yield (text.includes('\r') ? text.replaceAll('\r\n', '\n').replaceAll('\r', '\n') : text).slice(0, -1).split('\n')
  }
}
