/** What a client is told that speaks HTTP/2 with prior knowledge to the web process: in HTTP/2, because it reads nothing else. */

/** Node's code for a connection that begins as HTTP/2 does. */
export const beginsAsHttp2 = 'HPE_PAUSED_H2_UPGRADE'

const settingsFrame = 4
const goAwayFrame = 7
const http11Required = 13
const sentence =
  'This address speaks HTTP/1.1. Use it without HTTP/2 with prior knowledge, or put a web server that speaks HTTP/2 in front of it.'

/** The whole answer: the server's settings, and a GOAWAY that says why. */
export const http2Refusal: Buffer = Buffer.concat([
  frame(settingsFrame, Buffer.alloc(0)),
  frame(goAwayFrame, Buffer.concat([Buffer.alloc(4), Buffer.from([0, 0, 0, http11Required]), Buffer.from(sentence)])),
])

/** A frame of the connection itself (RFC 9113, 4.1). */
function frame(type: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  return Buffer.concat([head, payload])
}
