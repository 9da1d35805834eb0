/** Requests whose bodies or answers are bytes: who may send them, and how they are answered. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Readable } from 'node:stream'
import { bearerOf } from '#schema/context.ts'
import { watchPace } from '#src/drivers/node/files.ts'
import { allow } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { fileLimits } from '#src/platform/limits/files.ts'
import { spendRequest } from '#src/platform/rate-limits.ts'
import type { Call } from '#src/platform/services.ts'
import { findUnknownKey, unknownKeySentence } from '#src/platform/shapes/unknown-keys.ts'
import { contextOf, setAllowance } from '../answers.ts'
import type { SurfaceParts } from '../routes.ts'
import { ignoredParameters, refuseWorkspace } from '../variables.ts'

/** Who asks, before the body is read. @throws BerthError as `allow`; invalid_request, rate_limited. */
export async function admitted(
  { services, authenticator }: SurfaceParts,
  request: FastifyRequest,
  reply: FastifyReply,
  permission: 'files:read' | 'files:write' | 'skills:read' | 'skills:write',
): Promise<Call> {
  const caller = await authenticator.authenticate(bearerOf(request.headers))
  allow(caller, permission)
  setAllowance(reply, await spendRequest(services.limiter, caller, permission.endsWith(':write')))
  refuseWorkspace(request.headers)
  const unknown = findUnknownKey(request.query as object, new Set(Object.keys(ignoredParameters)))
  if (unknown !== undefined) throw new BerthError('invalid_request', unknownKeySentence('query parameter', unknown, []))
  return contextOf(services, caller, request.id)
}

/** The call of a request that was admitted. */
export function admittedCall(calls: WeakMap<FastifyRequest, Call>, request: FastifyRequest): Call {
  const call = calls.get(request)
  if (!call) throw new Error('a request for bytes was not admitted')
  return call
}

/** The headers of a file that is sent as an attachment. */
export function attach(
  reply: FastifyReply,
  { filename, mimeType, sizeBytes }: { filename: string; mimeType: string; sizeBytes: number },
): void {
  const plain = filename.replaceAll(/[^\w .-]/g, '_')
  const encoded = encodeURIComponent(filename).replaceAll(
    /['()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`, // as RFC 8187 wants it
  )
  reply
    .header('content-type', mimeType)
    .header('content-length', sizeBytes)
    .header('content-disposition', `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`)
    .header('cache-control', 'private, no-store')
    .header('x-content-type-options', 'nosniff')
    .header('content-security-policy', 'sandbox') // a file that is opened in a browser must not get the rights of this origin
}

/** Cuts a reader that takes next to nothing: it would keep its connection and the file open for ever. */
export function cutSlowReader(request: FastifyRequest, reply: FastifyReply, body: Readable): void {
  const { socket } = request.raw
  const before = socket.bytesWritten
  const timer = watchPace(
    () => socket.bytesWritten - before,
    () => reply.raw.destroy(),
    fileLimits.stalledSeconds,
  )
  body.once('close', () => clearInterval(timer))
}
