/**
 * Limits the memory of large chat requests. A body stays in memory, in several forms, until its answer is over, and a
 * slow model can hold up many. Each organization has a maximum per process, so that one cannot use up everybody's
 * memory.
 */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { BerthError } from '#src/platform/errors.ts'
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
 * @throws BerthError key_rate_limited when the organization has too much.
 */
export function holdBody(
  organizationId: string,
  bytes: number,
  answer: Pick<ServerResponse, 'once' | 'destroyed'>,
): void {
  if (bytes < smallBytes || answer.destroyed) return // a closed response emits no second 'close'
  const before = held.get(organizationId) ?? 0
  if (before + bytes > limits.chatBodyBytesPerOrganization) {
    throw new BerthError(
      'key_rate_limited',
      `The requests of this organization’s running chats together may have at most ${limits.chatBodyBytesPerOrganization / 1024 / 1024} MiB. Try again when some have ended.`,
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
