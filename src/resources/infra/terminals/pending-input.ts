/**
 * What a client has typed and the program in the guest has not taken: a part of it is on its way, the rest waits. The guest says
 * how far it has come, so that what was on its way to a worker that died is sent again, once.
 */
import { BerthError } from '#src/platform/errors.ts'
import { terminalLimits } from '#src/platform/limits/terminals.ts'

const { inputBytes, unconfirmedInputBytes } = terminalLimits
/** Single keys are held together: a buffer for each would take a hundred times their size. */
const blockBytes = 16 * 1024

/** Offsets are the guest's, which counts all bytes that any client has sent it. */
export class PendingInput {
  #waiting: { bytes: Buffer; used: number }[] = []
  #waitingBytes = 0
  /** What is on its way. */
  #sent: Buffer = Buffer.alloc(0)
  /** The offset of the first byte on its way; null until the guest has said where it is. */
  #confirmed: number | null = null

  /** @throws BerthError rate_limited when the program takes nothing for too long. */
  add(bytes: Buffer): void {
    if (this.#waitingBytes + this.#sent.length + bytes.length > inputBytes)
      throw new BerthError(
        'rate_limited',
        'You send more than the program takes. Wait until it reads, or end it, and attach again.',
      )
    this.#waitingBytes += bytes.length
    const last = this.#waiting.at(-1)
    if (last && last.used + bytes.length <= last.bytes.length) last.used += bytes.copy(last.bytes, last.used)
    else {
      const block = Buffer.allocUnsafeSlow(Math.max(blockBytes, bytes.length))
      this.#waiting.push({ bytes: block, used: bytes.copy(block) })
    }
  }

  /** A new connection to the guest, which has taken input up to this offset: what is behind it goes again. */
  begin(offset: number): void {
    this.confirm(offset)
    this.#confirmed = offset
    if (this.#sent.length === 0) return
    this.#waiting.unshift({ bytes: this.#sent, used: this.#sent.length })
    this.#waitingBytes += this.#sent.length
    this.#sent = Buffer.alloc(0)
  }

  /** The program has taken what is before this offset. */
  confirm(offset: number): void {
    const from = this.#confirmed ?? offset
    const count = Math.min(Math.max(offset - from, 0), this.#sent.length)
    this.#sent = this.#sent.subarray(count)
    this.#confirmed = from + count
  }

  /** What may be sent now; it counts as sent. */
  take(): Buffer {
    const parts: Buffer[] = []
    let room = this.#confirmed === null ? 0 : unconfirmedInputBytes - this.#sent.length
    for (let first = this.#waiting[0]; first && room > 0; first = this.#waiting[0]) {
      const part = first.bytes.subarray(0, Math.min(first.used, room))
      parts.push(part)
      room -= part.length
      this.#waitingBytes -= part.length
      if (part.length === first.used) this.#waiting.shift()
      else this.#waiting[0] = { bytes: first.bytes.subarray(part.length), used: first.used - part.length }
    }
    const next = Buffer.concat(parts)
    this.#sent = Buffer.concat([this.#sent, next])
    return next
  }
}
