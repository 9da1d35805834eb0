/**
 * What passes between a web process and the program in the guest that has a terminal's pty (guest/terminals/terminal.py): a
 * letter, the length in 4 bytes, that many bytes. The node's worker only joins the two.
 */
import { BerthError } from '#src/platform/errors.ts'

const headBytes = 5
/** The largest frame that the guest sends. Unit: bytes. */
const frameBytesMax = 64 * 1024
/** How much input goes into one frame. Unit: bytes. */
const inputFrameBytes = 32 * 1024

/** What the guest says. `wasClosed`: it did not exit by itself. Offsets count bytes since the terminal was opened. */
export type GuestFrame =
  | { kind: 'attached'; offset: number; inputOffset: number }
  | { kind: 'output'; bytes: Buffer }
  | { kind: 'input'; offset: number }
  | { kind: 'exit'; code: number; wasClosed: boolean }
  | { kind: 'replaced' }

/** What the guest is told. */
export const terminalFrames = {
  /**
   * Brings a client.
   * @param after what it has; null: nothing.
   * @param attachment 8 bytes that name it: after another one has taken its place it cannot come again.
   */
  attach(after: number | null, { columns, rows }: TerminalSize, attachment: Buffer): Buffer {
    const body = Buffer.alloc(12)
    body.writeBigInt64BE(BigInt(after ?? -1), 0)
    body.writeUInt16BE(columns, 8)
    body.writeUInt16BE(rows, 10)
    return frame('a', Buffer.concat([body, attachment]))
  },
  input: (bytes: Buffer): Buffer => {
    const parts: Buffer[] = []
    for (let at = 0; at < bytes.length; at += inputFrameBytes)
      parts.push(frame('d', bytes.subarray(at, at + inputFrameBytes)))
    return Buffer.concat(parts)
  },
  resize({ columns, rows }: TerminalSize): Buffer {
    const body = Buffer.alloc(4)
    body.writeUInt16BE(columns, 0)
    body.writeUInt16BE(rows, 2)
    return frame('r', body)
  },
  /** The client has all up to this offset. */
  acknowledge(offset: number): Buffer {
    const body = Buffer.alloc(8)
    body.writeBigUInt64BE(BigInt(offset), 0)
    return frame('k', body)
  },
  /** The program's end is known, so that nothing need be kept. */
  endTaken: (): Buffer => frame('e'),
  close: (): Buffer => frame('c'),
} as const

/** The size of a screen, in characters. */
export type TerminalSize = { columns: number; rows: number }

function frame(kind: string, body: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(headBytes)
  head.write(kind, 0, 'latin1')
  head.writeUInt32BE(body.length, 1)
  return Buffer.concat([head, body])
}

/**
 * Cuts what the guest sends into frames. It is not trusted.
 * @returns what takes each piece. @throws BerthError vm_unreachable for what is no frame.
 */
export function createFrameReader(onFrame: (frame: GuestFrame) => void): (piece: Buffer) => void {
  let pieces: Buffer[] = []
  let heldBytes = 0
  let wantedBytes = headBytes
  return (piece) => {
    pieces.push(piece)
    heldBytes += piece.length
    if (heldBytes < wantedBytes && pieces.length < piecesMax) return
    let rest = Buffer.concat(pieces)
    wantedBytes = headBytes
    while (rest.length >= headBytes) {
      const length = rest.readUInt32BE(1)
      if (length > frameBytesMax) throw brokenTerminal()
      wantedBytes = headBytes + length
      if (rest.length < wantedBytes) break
      onFrame(readFrame(rest.toString('latin1', 0, 1), rest.subarray(headBytes, wantedBytes)))
      rest = rest.subarray(wantedBytes)
      wantedBytes = headBytes
    }
    pieces = [rest]
    heldBytes = rest.length
  }
}

/** How many pieces of an incomplete frame are held before they are joined. */
const piecesMax = 1024

const sizes: Readonly<Record<string, number>> = { A: 16, I: 8, X: 5, R: 0 }

function readFrame(kind: string, body: Buffer): GuestFrame {
  if (kind === 'D' && body.length > 0) return { kind: 'output', bytes: body }
  if (sizes[kind] !== body.length) throw brokenTerminal()
  if (kind === 'A') return { kind: 'attached', offset: readOffset(body, 0), inputOffset: readOffset(body, 8) }
  if (kind === 'I') return { kind: 'input', offset: readOffset(body, 0) }
  if (kind === 'X') return { kind: 'exit', code: body.readInt32BE(0) & 0xff, wasClosed: body[4] === 1 }
  return { kind: 'replaced' }
}

function readOffset(body: Buffer, at: number): number {
  const offset = Number(body.readBigUInt64BE(at))
  if (!Number.isSafeInteger(offset)) throw brokenTerminal()
  return offset
}

/** A guest that does not keep to the frames. */
export function brokenTerminal(): BerthError {
  return new BerthError('vm_unreachable', 'The VM answered as no terminal does. Open another terminal.')
}
