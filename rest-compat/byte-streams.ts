/** Routes whose bodies or answers are streams of bytes. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { watchPace } from '#src/drivers/node/files.ts'
import { BerthError } from '#src/platform/errors.ts'
import { fileLimits } from '#src/platform/limits/files.ts'
import type { HandWritten } from './routes.ts'

/** The two steps of a route: what `admit` finds out, before the body is read, is given to `handle`. */
export function handleAdmitted<Found extends object>(
  admit: (request: FastifyRequest, reply: FastifyReply) => Promise<Found>,
  handle: (found: Found, request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
): ReturnType<HandWritten['make']> {
  const ofRequests = new WeakMap<FastifyRequest, Found>()
  return {
    admit: async (request, reply) => void ofRequests.set(request, await admit(request, reply)),
    async handle(request, reply) {
      const found = ofRequests.get(request)
      if (!found) throw new Error('a request for bytes was not admitted')
      return handle(found, request, reply)
    },
  }
}

/** The body of a request that is taken as a stream. */
export function streamOf(request: FastifyRequest): Readable {
  return (request.body ?? request.raw) as Readable // what the parser of streams made
}

/** Refuses a body that is packed. @param sentence says why, and what to do. @throws BerthError unsupported_encoding. */
export function refuseEncoding(headers: IncomingHttpHeaders, sentence: string): void {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? ''
  if (encoding !== '' && encoding !== 'identity') throw new BerthError('unsupported_encoding', sentence)
}

/** The header `Content-Disposition` of a file that is sent as an attachment. */
export function attachmentOf(filename: string): string {
  const plain = filename.replaceAll(/[^\w .-]/g, '_')
  const encoded = encodeURIComponent(filename.toWellFormed()).replaceAll(
    /['()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`, // as RFC 8187 wants it
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`
}

/** Cuts a reader that takes next to nothing: it would keep its connection, and what it reads, for ever. */
export function cutSlowReader(
  request: FastifyRequest,
  reply: FastifyReply,
  body: Readable,
  stalledSeconds: number = fileLimits.stalledSeconds,
): void {
  const { socket } = request.raw
  const before = socket.bytesWritten
  const timer = watchPace(
    () => socket.bytesWritten - before,
    () => reply.raw.destroy(),
    stalledSeconds,
  )
  body.once('close', () => clearInterval(timer))
}
