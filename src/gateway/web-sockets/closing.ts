/** Closing a web socket with a sentence, and refusing to open one. */
import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { withoutEnding } from '#src/platform/texts.ts'

const closeReasonBytes = 123 // the maximum length of a reason in RFC 6455

/** Closes it; a sentence that is too long for the protocol is cut. */
export function closeSaying(socket: WebSocket, code: number, sentence: string): void {
  const bytes = Buffer.from(sentence)
  socket.close(
    code,
    bytes.length <= closeReasonBytes
      ? bytes
      : `${withoutEnding(bytes.subarray(0, closeReasonBytes - 3).toString('utf8'), '\uFFFD')}…`,
  )
}

/** Answers a request for a socket that does not offer the protocol which it speaks. */
export function refuseUpgrade(connection: Duplex, protocol: string): void {
  const message = `This socket speaks ${protocol}: offer it as a subprotocol.`
  const body = JSON.stringify({ error: 'invalid_request', message })
  connection.end(
    `HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}
