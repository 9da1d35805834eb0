/** Requests whose bodies or answers are bytes: who may send them, and how they are answered. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { IncomingHttpHeaders } from 'node:http'
import { bearerOf } from '#schema/context.ts'
import { allow } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { setAllowance } from '#src/platform/http/headers.ts'
import { spendRequest } from '#src/platform/rate-limits.ts'
import type { Call } from '#src/platform/services.ts'
import { findUnknownKey, unknownKeySentence } from '#src/platform/shapes/unknown-keys.ts'
import { contextOf } from '../answers.ts'
import { attachmentOf } from '../byte-streams.ts'
import type { SurfaceParts } from '../routes.ts'
import { ignoredParameters, refuseWorkspace } from '../variables.ts'

/** Who asks, before the body is read. @throws BerthError as `allow`; invalid_request, rate_limited. */
export async function admitted(
  { services, authenticator }: SurfaceParts,
  request: FastifyRequest,
  reply: FastifyReply,
  permission: 'files:read' | 'files:write' | 'peers:read' | 'skills:read' | 'skills:write',
): Promise<Call> {
  const caller = await authenticator.authenticate(bearerOf(request.headers))
  allow(caller, permission)
  setAllowance(reply, await spendRequest(services.limiter, caller, permission.endsWith(':write')))
  refuseWorkspace(request.headers)
  const unknown = findUnknownKey(request.query as object, new Set(Object.keys(ignoredParameters)))
  if (unknown !== undefined) throw new BerthError('invalid_request', unknownKeySentence('query parameter', unknown, []))
  return contextOf(services, caller, request)
}

/**
 * Refuses the key of a request that is not repeated by it.
 * @param advice what to do instead.
 * @throws BerthError invalid_request.
 */
export function refuseIdempotencyKey(headers: IncomingHttpHeaders, advice: string): void {
  if (headers['idempotency-key'] !== undefined)
    throw new BerthError(
      'invalid_request',
      `An upload is not repeated by its Idempotency-Key. Leave the header out; ${advice}`,
    )
}

/** A file that is sent as an attachment, in OpenAPI: it is of the media type that it has. */
export const attached = { '*/*': { type: 'string', format: 'binary' } }

/** The headers of a file that is sent as an attachment. */
export function attach(
  reply: FastifyReply,
  { filename, mimeType, sizeBytes }: { filename: string; mimeType: string; sizeBytes: number },
): void {
  reply
    .header('content-type', mimeType)
    .header('content-length', sizeBytes)
    .header('content-disposition', attachmentOf(filename))
    .header('cache-control', 'private, no-store')
    .header('x-content-type-options', 'nosniff')
    .header('content-security-policy', 'sandbox') // a file that is opened in a browser must not get the rights of this origin
}
