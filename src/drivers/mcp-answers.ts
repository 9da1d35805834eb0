/**
 * Reads responses of tool servers before the protocol's library does: large messages are parsed in steps, and what the
 * library would scan several times or change bypasses it: long texts, and numbers that are no doubles.
 */
import { ReadableStream as EventBytes } from 'node:stream/web'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { JsonAnswerError, readAnswer } from '#src/platform/json/answers.ts'
import { ExactNumber, mayHaveUnusualNumbers } from '#src/platform/json/numbers.ts'
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
  /** Restores what bypassed the library in its result. */
  restore: (value: unknown) => unknown
}

/** Reads the answers to a client's requests. @param refused called with the reason when one is refused. */
export function readMcpAnswers(fetch: OutboundFetch, refused: (error: OutboundError) => void): McpAnswers {
  const held: Held = new Map()
  const read = async (bytes: Buffer): Promise<string> => {
    try {
      return JSON.stringify(
        placeholding(await readAnswer(bytes, { parts: limits.mcpAnswerParts, numbers: limits.mcpAnswerNumbers }), held),
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
    restore: (value) => (held.size === 0 ? value : restored(value, held)),
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

/** What bypasses the library, by its placeholder. */
type Held = Map<string, string | ExactNumber>

/** What of a result is JSON of the server's own, in which a placeholder may be instead of a number. */
const ownJson = new Set(['structuredContent', 'inputSchema', 'outputSchema', '_meta'])

/**
 * A message, or several, with long texts and unusual numbers replaced by short placeholders. Those are valid base64,
 * because some texts must be.
 */
function placeholding(answer: unknown, held: Held): unknown {
  if (Array.isArray(answer)) {
    if (answer.length > messagesMax) throw new JsonAnswerError('too_many_parts')
    return answer.map((message) => placeholding(message, held))
  }
  const kept = (value: string | ExactNumber): string => {
    if (typeof value === 'string' && value.length <= textLengthMax) return value
    const name = Buffer.from(newUuid()).toString('base64')
    held.set(name, value)
    return name
  }
  if (typeof answer !== 'object' || answer === null) return answer
  return Object.fromEntries(
    Object.entries(answer).map(([key, value]) => [
      key,
      key === 'result'
        ? mapLeaves(value, (leaf, _place, isOwn) =>
            typeof leaf === 'string' || (isOwn && leaf instanceof ExactNumber) ? kept(leaf) : leaf,
          )
        : mapLeaves(value, (leaf, place) =>
            typeof leaf === 'string' ? leaf.slice(0, place === 'message' ? errorLengthMax : textLengthMax) : leaf,
          ),
    ]),
  )
}

function restored(value: unknown, held: Held): unknown {
  return mapLeaves(value, (leaf) => (typeof leaf === 'string' ? (held.get(leaf) ?? leaf) : leaf))
}

/** The same value with what is no list and no object replaced. Its depth was limited when it was parsed. */
function mapLeaves(
  value: unknown,
  change: (leaf: unknown, key: string, isOwn: boolean) => unknown,
  key = '',
  isOwn = false,
): unknown {
  if (Array.isArray(value)) return value.map((one) => mapLeaves(one, change, '', isOwn))
  if (typeof value !== 'object' || value === null) return change(value, key, isOwn)
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, mapLeaves(one, change, name, isOwn || ownJson.has(name))]),
  )
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
        const text = data.join('\n')
        const isRead = dataLength > errorBytesMax || mayHaveUnusualNumbers(text)
        const dataLines = isRead ? [await read(Buffer.from(text))] : data
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
