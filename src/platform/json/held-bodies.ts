/**
 * Limits the memory of large requests. A body stays in memory, in several forms, until its answer is over, and a slow
 * model or many clients can hold up many. Each organization has a maximum per process, so that one cannot use up
 * everybody's memory.
 */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { Caller } from '#src/platform/access.ts'
import { BerthError, type ErrorCode } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'

/** Smaller bodies are not counted: the limits on requests and streams are enough. */
const smallBytes = 64 * 1024

const held = new Map<string, number>()

/** The declared length of a request's body; undefined when there is none, or only that of a compressed body. */
export function bodyLength(headers: IncomingHttpHeaders): number | undefined {
  const length = headers['content-length']
  return length === undefined || headers['content-encoding'] !== undefined ? undefined : Number(length)
}

/**
 * Counts a body towards its organization's maximum until its answer is over.
 * @param code of the refusal, as the service calls it.
 * @throws BerthError of this code when the organization has too much.
 */
export function holdBody(
  organizationId: string,
  bytes: number,
  answer: Pick<ServerResponse, 'once' | 'destroyed'>,
  code: ErrorCode = 'rate_limited',
): void {
  if (bytes < smallBytes || answer.destroyed) return // a closed response emits no second 'close'
  const before = held.get(organizationId) ?? 0
  if (before + bytes > limits.bodyBytesPerOrganization) {
    throw new BerthError(
      code,
      `The bodies of this organization’s requests that are not answered yet together may have at most ${limits.bodyBytesPerOrganization / 1024 / 1024} MiB. Try again when some have ended.`,
      { retryAfterSeconds: 1 },
    )
  }
  held.set(organizationId, before + bytes)
  answer.once('close', () => {
    const left = (held.get(organizationId) ?? bytes) - bytes
    if (left > 0) held.set(organizationId, left)
    else held.delete(organizationId)
  })
}

/** The same for the organization of a caller; what comes from nobody, or from a person without one, is not counted. @throws BerthError rate_limited. */
export function holdBodyOf(caller: Caller, bytes: number, answer: Parameters<typeof holdBody>[2]): void {
  const organizationId = 'organizationId' in caller ? caller.organizationId : null
  if (organizationId !== null) holdBody(organizationId, bytes, answer)
}
