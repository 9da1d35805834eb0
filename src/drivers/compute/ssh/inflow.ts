/**
 * Flow control of what a guest sends on the channels of its SSH connection, until it is read. ssh2 grants windows of 2
 * MiB and does not enforce them; here windows are small when many channels are open, sending more than the window
 * allows is detected, and small chunks are joined: a million chunks of one byte would take a hundred times their size.
 */
import type { Readable } from 'node:stream'

/** A channel's window: at first, and once it is used, as long as all channels together hold less than the budget. Unit: bytes. */
export const firstWindowBytes = 32 * 1024
const windowBytes = 256 * 1024
const budgetBytes = 8 * 1024 * 1024
/** Small chunks are joined into blocks of this size. */
const blockBytes = 16 * 1024

/** The two streams of a channel that the guest fills. */
export type Filled = { stdout: Readable; stderr: Readable }

/** What comes in on one channel. */
export type Inflow = {
  /** Takes a piece; false when it exceeds the guest's window. */
  take(stream: keyof Filled, piece: Buffer): boolean
  /** Ends the input: what is held goes to the streams. */
  end(): void
}

/** Counts what the channels of one connection hold: open windows and unread data. */
export type Inflows = {
  open(streams: Filled, grant: (bytes: number) => void): Inflow
}

/** The inflows of one connection. */
export function createInflows(): Inflows {
  let heldBytes = 0
  return {
    open(streams, grant) {
      let granted = firstWindowBytes
      let counted = 0
      let ended = false
      const gathered = {
        stdout: gather(streams.stdout, () => settle()),
        stderr: gather(streams.stderr, () => settle()),
      }
      /** Recounts, and reopens the window for what was read. */
      const settle = (): void => {
        const unread = gathered.stdout.unreadBytes() + gathered.stderr.unreadBytes()
        heldBytes -= counted
        counted = ended ? 0 : granted + unread
        heldBytes += counted
        const window = heldBytes < budgetBytes ? windowBytes : firstWindowBytes
        const more = window - unread - granted
        if (ended || more < window / 2) return
        granted += more
        counted += more
        heldBytes += more
        grant(more)
      }
      settle()
      return {
        take(stream, piece) {
          if (piece.length > granted) return false
          granted -= piece.length
          gathered[stream].add(piece)
          settle()
          return true
        },
        end() {
          gathered.stdout.flush()
          gathered.stderr.flush()
          ended = true
          settle()
        },
      }
    },
  }
}

type Gathered = { add(piece: Buffer): void; flush(): void; unreadBytes(): number }

/** Pushes a piece to a stream when it has nothing unread, and collects further pieces until then. */
function gather(stream: Readable, onRead: () => void): Gathered {
  let blocks: { bytes: Buffer; used: number }[] = []
  const flush = (): void => {
    const full = blocks
    blocks = []
    for (const { bytes, used } of full) stream.push(bytes.subarray(0, used))
  }
  const read = stream.read.bind(stream)
  stream.read = (sizeBytes?: number): unknown => {
    const piece: unknown = read(sizeBytes)
    if (stream.readableLength === 0 && blocks.length > 0) flush()
    onRead()
    return piece
  }
  return {
    flush,
    unreadBytes: () => blocks.reduce((sum, { used }) => sum + used, stream.readableLength),
    add(piece) {
      if (stream.readableLength === 0 && blocks.length === 0) {
        stream.push(piece)
        return
      }
      const last = blocks.at(-1)
      if (last && last.used + piece.length <= last.bytes.length) {
        last.used += piece.copy(last.bytes, last.used)
        return
      }
      const bytes = Buffer.allocUnsafeSlow(Math.max(blockBytes, piece.length))
      blocks.push({ bytes, used: piece.copy(bytes) })
    },
  }
}
