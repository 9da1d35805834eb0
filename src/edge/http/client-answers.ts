/** How answers are written to clients, over HTTP/1.1 and HTTP/2. */
import { constants } from 'node:http2'
import type { Socket } from 'node:net'
import { ingressLimits as limits } from './limits.ts'
import type { Incoming, Outgoing } from './messages.ts'
import { countAnswer } from './metrics.ts'
import { SimpleRequest } from './simple/requests.ts'

/** Writes the head of an answer; headers are names and values in turn. @throws Error when one cannot be sent */
export function writeHead(
  answer: Outgoing,
  status: number,
  reason: string,
  headers: readonly string[],
  extra: readonly string[] = [],
): void {
  countAnswer(status)
  const isBare = status === 204
  if ('stream' in answer) return void answer.writeHead(status, objectOf([...headers, ...extra], isBare))
  const flat = extra.length > 0 ? [...headers, ...extra] : headers
  answer.writeHead(status, reason, (isBare ? withoutLength(flat) : flat) as string[]) // Node does not change it
}

/** Writes a part of the body. @returns false when no more is wanted for now */
export function writePiece(answer: Outgoing, bytes: Buffer): boolean {
  return 'stream' in answer ? answer.write(bytes) : answer.write(bytes)
}

/** Ends it, with this as its body or the rest of it. */
export function endAnswer(answer: Outgoing, body?: Buffer | string): void {
  if ('stream' in answer) answer.end(body ?? '')
  else answer.end(body ?? '')
}

/** Sends the head now, though nothing of the body has come. HTTP/2 has done so. */
export function flushHead(answer: Outgoing): void {
  if (!('stream' in answer)) answer.flushHeaders()
}

/** HTTP/2 wants names in lower case, and several values of one as a list. */
function objectOf(headers: readonly string[], isBare: boolean): Record<string, string | string[]> {
  const made: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]> // a header may be called __proto__
  for (let at = 0; at < headers.length; at += 2) {
    const name = (headers[at] ?? '').toLowerCase()
    const value = headers[at + 1] ?? ''
    if (isBare && name === 'content-length') continue
    const before = made[name]
    if (before === undefined) made[name] = value
    else if (Array.isArray(before)) before.push(value)
    else made[name] = [before, value]
  }
  return made
}

function withoutLength(headers: readonly string[]): string[] {
  return headers.filter((_, at) => (headers[at - (at % 2)] ?? '').toLowerCase() !== 'content-length')
}

/**
 * Prepares for an answer that comes before its request has ended: nobody wants the rest. It is read for a little while
 * longer, because a client that is cut while it sends may not see the answer.
 */
export function endEarly(request: Incoming, answer: Outgoing): void {
  if ('stream' in answer) {
    const { stream } = answer
    answer.once('finish', () => {
      if (!request.complete && !stream.closed) stream.close(constants.NGHTTP2_NO_ERROR)
    })
    return
  }
  answer.shouldKeepAlive = false // which sends Connection: close
  if (request instanceof SimpleRequest) return // it has ended
  const { socket } = request
  socket.destroySoon = () => linger(socket)
}

/** Ends our side, and reads on for a while. */
function linger(socket: Socket): void {
  let left = limits.lingerBytes
  const late = setTimeout(() => socket.destroy(), limits.lingerSeconds * 1000).unref()
  socket.once('close', () => clearTimeout(late))
  // As bytes, and not as a request: its pieces would each cost something.
  socket.removeAllListeners('data')
  socket.removeAllListeners('resume')
  socket.on('data', (piece: Buffer) => {
    left -= piece.length
    if (left < 0) socket.destroy()
  })
  socket.once('end', () => socket.destroy())
  socket.resume()
  socket.end()
}
