/** What a target answers before the body: the status and the headers, read strictly. */
import { isHopByHop, namedByConnection } from '#src/drivers/hop-by-hop.ts'
import { ingressLimits as limits } from './limits.ts'

/** The beginning of an answer. `headers`: names and values in turn, without those that are for one connection only. */
export type AnswerHead = {
  status: number
  reason: string
  headers: readonly string[]
  /** How long the body is: in bytes, as long as its chunks, or until the connection ends. */
  length: number | 'chunked' | 'close'
  keepsAlive: boolean
}

/** A target that does not speak HTTP as it should. */
export class BadAnswer extends Error {
  override name = 'BadAnswer'
}

const tokenPattern = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const statusPattern = /^HTTP\/1\.([01]) ([1-5][0-9]{2})(?: |$)/

/** Reads the lines before the body, without the empty one at their end. @throws BadAnswer */
export function readHead(text: string): AnswerHead {
  const lines = text.split('\r\n')
  const first = lines[0] ?? ''
  const [begin, minor, status] = statusPattern.exec(first) ?? []
  if (begin === undefined || hasControls(first)) throw new BadAnswer('this is no HTTP')
  if (lines.length - 1 > limits.answerHeadersMax) throw new BadAnswer('there are too many headers')
  const read: HeadParts = { headers: [], length: null, isChunked: false, connection: '' }
  for (let at = 1; at < lines.length; at++) readLine(lines[at] ?? '', read)
  if (read.isChunked && (read.length !== null || minor === '0')) throw new BadAnswer('its length is said twice')
  const connection = read.connection.toLowerCase()
  const named = namedByConnection(connection)
  return {
    status: Number(status),
    reason: first.slice(begin.length),
    headers: named ? withoutNamed(read.headers, named) : read.headers,
    length: read.isChunked ? 'chunked' : (read.length ?? 'close'),
    keepsAlive: minor === '1' && !/\bclose\b/.test(connection),
  }
}

/** Whether a text has characters that no header has; the tabulator is one that it may have. */
function hasControls(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if ((code < 0x20 && code !== 0x09) || code === 0x7f) return true
  }
  return false
}

type HeadParts = { headers: string[]; length: number | null; isChunked: boolean; connection: string }

function readLine(line: string, read: HeadParts): void {
  const colon = line.indexOf(':')
  const name = colon < 0 ? '' : line.slice(0, colon)
  const value = line.slice(colon + 1).trim()
  if (!tokenPattern.test(name) || hasControls(value)) throw new BadAnswer('a header is not as it should be')
  const lower = name.toLowerCase()
  if (lower === 'content-length') {
    if (read.length !== null || !/^[0-9]{1,15}$/.test(value)) throw new BadAnswer('its length is no number')
    read.length = Number(value)
  } else if (lower === 'transfer-encoding') {
    if (read.isChunked || value.toLowerCase() !== 'chunked') throw new BadAnswer('its transfer encoding is unknown')
    read.isChunked = true
    return
  } else if (lower === 'connection') {
    read.connection += `${value},`
    return
  } else if (isHopByHop(lower)) return
  read.headers.push(name, value)
}

function withoutNamed(headers: readonly string[], named: ReadonlySet<string>): string[] {
  return headers.filter((_, at) => !named.has((headers[at - (at % 2)] ?? '').toLowerCase()))
}
