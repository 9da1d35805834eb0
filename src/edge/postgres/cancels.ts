/** The keys by which clients may cancel: the proxy's own, which say nothing of the server. */
import { randomToken } from '#src/platform/ids.ts'
import { backendKey } from './protocol/messages.ts'

/** A client's key. */
export type CancelKey = { processId: number; secret: number }

/** Who may be cancelled now. */
export type Cancels = {
  /** Makes a key for a client. @returns the message for the client with it, and how to forget it */
  add(cancel: () => void): { message: Buffer; remove: () => void }
  /** Does what the key's client would have cancelled; nothing, for a key that nobody has. */
  request(key: CancelKey): void
}

const keyBytes = 8
const randomBytesAtOnce = 4096 // asking the system for each client would take longer than all else here

/** Starts without anybody. */
export function createCancels(): Cancels {
  let random = Buffer.alloc(0)
  const nextKey = (): Buffer => {
    if (random.length < keyBytes) random = Buffer.from(randomToken(randomBytesAtOnce), 'base64url')
    const taken = random.subarray(0, keyBytes)
    random = random.subarray(keyBytes)
    return taken
  }
  const keys = new Map<number, { secret: number; cancel: () => void }>() // as many as there are clients
  return {
    add(cancel) {
      let bytes: Buffer
      do bytes = nextKey()
      while (keys.has(bytes.readInt32BE(0) & 0x7fff_ffff))
      const [processId, secret] = [bytes.readInt32BE(0) & 0x7fff_ffff, bytes.readInt32BE(4)]
      keys.set(processId, { secret, cancel })
      return { message: backendKey(processId, secret), remove: () => void keys.delete(processId) }
    },
    request({ processId, secret }) {
      const known = keys.get(processId)
      if (known?.secret === secret) known.cancel()
    },
  }
}
