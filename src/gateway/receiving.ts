/**
 * Requests whose body is still arriving. Slow ones are cut: all are checked together once a second, because a timer and
 * two listeners for each request would cost a busy server more than reading the body. Small chunks cost this thread and its
 * memory as much as large ones, so they are joined, and who sends many of them waits for its turn.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { readInParts } from '#src/drivers/parted-reads.ts'
import { createPieceTurns, joinPieces } from '#src/drivers/small-pieces.ts'
import { smallPieceLimits } from '#src/platform/limits/small-pieces.ts'

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

/** However a smaller body of a known length comes, it is little. */
const fewBytes = 16 * 1024

/** Limits what the chunks of a body cost by their number. */
export function holdSmallChunks(app: FastifyInstance): void {
  const turns = createPieceTurns(smallPieceLimits)
  app.server.on('connection', (socket: Socket) => readInParts(socket, turns, smallPieceLimits.smallPiecesAtOnce))
  app.addHook('onRequest', ({ raw }, _reply, done) => {
    const isChunked = raw.headers['transfer-encoding'] !== undefined
    if (isChunked || Number(raw.headers['content-length'] ?? 0) > fewBytes) joinPieces(raw)
    if (isChunked) turns.watch(raw)
    done()
  })
}
