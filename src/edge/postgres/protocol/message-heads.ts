/**
 * Follows the messages in a stream of bytes that is passed on as it comes: heads are read, contents are skipped, except
 * those that are asked for. A message may be cut anywhere.
 */
import { headBytes } from './messages.ts'
import { violation } from '../refusals.ts'

/** What is made of what passes. */
export type Watcher = {
  /** A message whose type is `watched` begins. @returns whether its content is to be gathered */
  begins(type: number, size: number): boolean
  /** The whole content of such a message: the bytes between two positions, which are not its own. */
  gathered(type: number, bytes: Buffer, from: number, to: number): void
}

/** Follows one direction; what it is given next continues where the last chunk ended. */
export type Follower = {
  /**
   * Reads a chunk. Hot.
   * @returns how much of it there is to pass on: all of it, or what stands before the message at which to stop.
   * @throws PostgresRefusal
   */
  follow(chunk: Buffer): number
  /** Whether the last chunk ended with a message. */
  atBoundary(): boolean
}

const sizeMax = 0x3fff_ffff // a message of Postgres has less than a gigabyte

/**
 * Makes a follower.
 * @param watched by type, 1 for those that the watcher is told of.
 * @param stopAt the type of message that is not passed on, and nothing behind it.
 */
export function followMessages(watched: Uint8Array, watcher: Watcher, stopAt = -1): Follower {
  const head = Buffer.alloc(headBytes)
  let headFilled = 0
  /** How much of the message's content is still to come. */
  let left = 0
  let kept: { type: number; bytes: Buffer } | null = null

  /** Takes what there is of a content that a chunk before began. @returns where it ends */
  function continueContent(chunk: Buffer, at: number): number {
    const taken = Math.min(left, chunk.length - at)
    if (kept) chunk.copy(kept.bytes, kept.bytes.length - left, at, at + taken)
    left -= taken
    if (left === 0 && kept) {
      const { type, bytes } = kept
      kept = null
      watcher.gathered(type, bytes, 0, bytes.length)
    }
    return at + taken
  }

  /** Takes what there is of a content that begins here. @returns where it ends */
  function begin(chunk: Buffer, at: number, type: number, size: number): number {
    if (size < 0 || size > sizeMax) throw violation('invalid message length')
    const there = chunk.length - at
    if (watched[type] === 1 && watcher.begins(type, size)) {
      if (size <= there) {
        watcher.gathered(type, chunk, at, at + size)
        return at + size
      }
      kept = { type, bytes: Buffer.allocUnsafe(size) }
      left = size
      return continueContent(chunk, at)
    }
    if (size <= there) return at + size
    left = size - there
    return chunk.length
  }

  return {
    follow(chunk) {
      const end = chunk.length
      let at = left > 0 ? continueContent(chunk, 0) : 0
      while (at < end) {
        if (headFilled === 0 && chunk[at] === stopAt) return at
        if (headFilled === 0 && end - at >= headBytes) {
          const size = chunk.readInt32BE(at + 1) - 4
          at = begin(chunk, at + headBytes, chunk[at] ?? 0, size)
          continue
        }
        head[headFilled++] = chunk[at++] ?? 0
        if (headFilled < headBytes) continue
        headFilled = 0
        at = begin(chunk, at, head[0] ?? 0, head.readInt32BE(1) - 4)
      }
      return end
    },
    atBoundary: () => headFilled === 0 && left === 0,
  }
}

/** Follows messages of which nobody is told. */
export function skipMessages(): Follower {
  return followMessages(new Uint8Array(256), { begins: () => false, gathered: () => undefined })
}
