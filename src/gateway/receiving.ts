/**
 * Requests whose body is still arriving; slow ones are cut. All are checked together once a second, because a timer and
 * two listeners for each request would cost a busy server more than reading the body.
 */
import type { IncomingMessage } from 'node:http'

const lookEveryMs = 1_000

/** The requests of one server that are being received. */
export type Receiving = {
  begin: (request: IncomingMessage) => void
  /** Its body has arrived. Requests that end in another way are found at the next check. */
  end: (request: IncomingMessage) => void
  close: () => void
}

/** @param cut called for a request that has not arrived completely after `limitMs`, at most a second later. */
export function watchReceiving(limitMs: number, cut: (request: IncomingMessage) => void): Receiving {
  const since = new Map<IncomingMessage, number>()
  const timer = setInterval(() => {
    const lateMs = performance.now() - limitMs
    for (const [request, startedMs] of since) {
      if (request.complete || request.destroyed) since.delete(request)
      else if (startedMs > lateMs) continue
      else {
        since.delete(request)
        cut(request)
      }
    }
  }, lookEveryMs).unref()
  return {
    begin: (request) => void since.set(request, performance.now()),
    end: (request) => void since.delete(request),
    close: () => clearInterval(timer),
  }
}
