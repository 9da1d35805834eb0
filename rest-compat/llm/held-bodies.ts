/**
 * Large bodies of chats: one is kept, in several forms, until its answer is over, and a slow model holds many. Nobody has
 * more of them in this process than so many bytes, or one organization could take the memory of all.
 */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'

/** What is smaller is not counted: the limits of requests and streams do for it. */
const smallBytes = 64 * 1024

const held = new Map<string, number>()

/** The length that a request says its body has; undefined when it says none, or only that of the body compressed. */
export function bodyLength(headers: IncomingHttpHeaders): number | undefined {
  const length = headers['content-length']
  return length === undefined || headers['content-encoding'] !== undefined ? undefined : Number(length)
}

/**
 * Counts a body until its answer is over.
 * @throws BerthError key_rate_limited when the organization has too much.
 */
export function holdBody(
  organizationId: string,
  bytes: number,
  answer: Pick<ServerResponse, 'once' | 'destroyed'>,
): void {
  if (bytes < smallBytes || answer.destroyed) return // one that is closed already will not say so again
  const before = held.get(organizationId) ?? 0
  if (before + bytes > limits.chatBodyBytesPerOrganization) {
    throw new BerthError(
      'key_rate_limited',
      `The chats of this organization that are being answered hold ${limits.chatBodyBytesPerOrganization / 1024 / 1024} MiB, which is all they may. Try again when some have ended.`,
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
