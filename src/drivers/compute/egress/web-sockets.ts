/** The frames that a host sends over a web socket, masked (RFC 6455 §5.2): their payloads keep their lengths, so their headers stay. */
import { Transform } from 'node:stream'
import type { Masker, Masking } from '#src/platform/masking.ts'

/** The maximum bytes of headers and control frames that are held back after the possible beginning of a secret. */
const waitingBytesMax = 64 * 1024

/** A header, and with it the whole of a control frame; `at` counts the bytes of payload before it. */
type Between = { at: number; bytes: Buffer }
type Frame = { isLast: boolean; isControl: boolean; left: number }

/** Masks messages across all their frames. Fails when the bytes are not frames of a server. */
export function frameMaskingStep(masker: Masker): Transform {
  const message = masker.stream({ keepsLength: true })
  const waiting: Between[] = []
  let unread: Buffer = Buffer.alloc(0)
  let frame: Frame | null = null
  let fed = 0
  let given = 0

  /** Puts headers back between the payloads. */
  const joined = (payload: Buffer): Buffer => {
    const parts: Buffer[] = []
    let at = 0
    for (let next = waiting[0]; next && next.at - given <= payload.length - at; next = waiting[0]) {
      const end = at + next.at - given
      parts.push(payload.subarray(at, end), next.bytes)
      given = next.at
      at = end
      waiting.shift()
    }
    parts.push(payload.subarray(at))
    given += payload.length - at
    return Buffer.concat(parts)
  }
  /** The next piece that can be sent; null when more has to arrive first. */
  const read = (): Buffer | null => {
    if (!frame) {
      const header = readHeader(unread)
      if (!header) return null
      if (header.isControl && unread.length < header.bytes + header.left) return null
      if (header.isControl) {
        const whole = Buffer.concat([
          unread.subarray(0, header.bytes),
          maskedWhole(masker.stream({ keepsLength: true }), unread.subarray(header.bytes, header.bytes + header.left)),
        ])
        unread = unread.subarray(whole.length)
        waiting.push({ at: fed, bytes: whole })
        return joined(Buffer.alloc(0))
      }
      waiting.push({ at: fed, bytes: unread.subarray(0, header.bytes) })
      unread = unread.subarray(header.bytes)
      frame = header
    }
    const piece = unread.subarray(0, frame.left)
    if (piece.length === 0 && frame.left > 0) return null
    unread = unread.subarray(piece.length)
    frame.left -= piece.length
    fed += piece.length
    const shown = message.push(piece)
    if (frame.left > 0) return joined(shown)
    const rest = frame.isLast ? message.end() : Buffer.alloc(0)
    frame = null
    return joined(Buffer.concat([shown, rest]))
  }
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      try {
        unread = Buffer.concat([unread, chunk])
        const passed: Buffer[] = []
        for (let piece = read(); piece; piece = read()) passed.push(piece)
        if (waiting.reduce((sum, { bytes }) => sum + bytes.length, 0) > waitingBytesMax)
          throw new Error('too many frames wait for the rest of a message')
        done(null, Buffer.concat(passed))
      } catch (error) {
        done(error instanceof Error ? error : new Error(String(error)))
      }
    },
  })
}

function maskedWhole(masking: Masking, payload: Buffer): Buffer {
  return Buffer.concat([masking.push(payload), masking.end()])
}

/** A frame's header of so many bytes; null while it is not whole. @throws Error for one that a host must not send. */
function readHeader(bytes: Buffer): (Frame & { bytes: number }) | null {
  const [first, second] = bytes
  if (first === undefined || second === undefined) return null
  const isControl = (first & 0x08) !== 0
  const short = second & 0x7f
  const more = short === 127 ? 8 : short === 126 ? 2 : 0
  if ((second & 0x80) !== 0 || (first & 0x70) !== 0 || (isControl && more > 0))
    throw new Error('these are not frames of a server without extensions')
  if (bytes.length < 2 + more) return null
  const left = more === 8 ? Number(bytes.readBigUInt64BE(2)) : more === 2 ? bytes.readUInt16BE(2) : short
  return { isLast: (first & 0x80) !== 0, isControl, left, bytes: 2 + more }
}
