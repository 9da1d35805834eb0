/** What a code host sends of a push: little of it is needed. Its signature is checked before it is read. */
import { isUtf8 } from 'node:buffer'
import { z } from 'zod'
import { BerthError } from '#src/platform/errors.ts'
import { readInPieces } from '#src/platform/json/pieces.ts'
import { limits } from '#src/platform/limits.ts'
import { pushLimits } from '#src/platform/limits/pushes.ts'

/** A push: the ref, the commit that it now has, and, if the code host says so, the repository's own id and when, in Unix seconds. */
export type PushPayload = {
  ref: string
  commitSha: string
  isDeletion: boolean
  repositoryId: number | null
  pushedAt: number | null
}

const shape = z.object({
  ref: z.string().min(1).max(pushLimits.refLength),
  after: z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/),
  deleted: z.boolean().nullish(),
  repository: z
    .object({
      id: z.int().positive().nullish().catch(null),
      pushed_at: z.int().positive().nullish().catch(null), // Unix seconds here, unlike elsewhere in GitHub's API
    })
    .nullish()
    .catch(null),
})

/** Reads the body of a push. @throws BerthError invalid_request, request_too_large. */
export async function readPushPayload(body: Buffer): Promise<PushPayload> {
  if (!isUtf8(body)) throw unreadable('it is no UTF-8')
  const { conversationParts: parts, jsonNumbers: numbers } = limits
  const value = await readInPieces(body, { parts, numbers, anyText: true })
  const outcome = shape.safeParse(value)
  if (!outcome.success) {
    const key = String(outcome.error.issues[0]?.path[0] ?? '')
    throw unreadable(key === '' ? 'it is no object' : `its ${key} is missing, or not as expected`)
  }
  const { ref, after, deleted, repository } = outcome.data
  return {
    ref,
    commitSha: after,
    isDeletion: deleted === true || /^0+$/.test(after),
    repositoryId: repository?.id ?? null,
    pushedAt: repository?.pushed_at ?? null,
  }
}

function unreadable(why: string): BerthError {
  return new BerthError(
    'invalid_request',
    `The body is no push that could be read: ${why}. Send JSON with at least {"ref": "refs/heads/main", "after": "<the commit’s 40 hexadecimal digits>"}; at the code host, set the content type to application/json.`,
  )
}
