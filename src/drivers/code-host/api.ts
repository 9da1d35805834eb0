/** Requests of the code host's REST API, and what its answers say. */
import { z } from 'zod'
import { BerthError } from '#src/platform/errors.ts'
import { startOf, withoutEnding } from '#src/platform/texts.ts'
import type { CodeHostPlace } from './places.ts'
import { askCodeHost, type CodeHostAnswer, type CodeHostRequest } from './requests.ts'

/** What a request is made with: the place, and the person's token. */
export type CodeHostAccess = { place: Pick<CodeHostPlace, 'api' | 'url'>; token: string }

const refusal = z.object({
  message: z.string().max(2_000).catch(''),
  errors: z.array(z.object({ message: z.string().max(2_000) })).catch([]),
})

type ApiRequest = Pick<CodeHostRequest, 'method' | 'body'> & { path: string }

/**
 * Makes a request of the API.
 * @param also statuses that the caller handles, beside success.
 * @throws BerthError provider_token_invalid when the token is refused; rate_limited; upstream_error; timeout.
 */
export async function call(
  { place, token }: CodeHostAccess,
  { path, ...request }: ApiRequest,
  also: readonly number[] = [],
): Promise<CodeHostAnswer> {
  const answer = await askCodeHost({ ...request, url: `${place.api}${path}`, authorization: `Bearer ${token}` })
  const { status, retryAfterSeconds } = answer
  if (status === 401)
    throw new BerthError(
      'provider_token_invalid',
      'The code host no longer accepts the stored token. Connect the account again.',
    )
  if (retryAfterSeconds !== null)
    throw new BerthError(
      'rate_limited',
      'The code host takes no more requests of this account for now. Try again later.',
      {
        retryAfterSeconds,
      },
    )
  if (status === 200 || status === 201 || also.includes(status)) return answer
  throw new BerthError(
    'upstream_error',
    `The code host answered with the status ${status}. Try again; if it persists, tell your operator.`,
  )
}

/** An answer in its documented shape. @throws BerthError upstream_error when it is none. */
export function parsed<Shape extends z.ZodType>(shape: Shape, answer: CodeHostAnswer): z.infer<Shape> {
  const outcome = shape.safeParse(answer.body)
  if (outcome.success) return outcome.data
  throw new BerthError('upstream_error', 'The code host’s answer is not what its API promises. Tell your operator.')
}

const reasonLengthMax = 200

/** Why the code host refused, in its own words, which must not repeat these secrets. */
export function reasonOf(secrets: readonly string[], answer: CodeHostAnswer): string {
  const parsed = refusal.safeParse(answer.body).data
  const reason = parsed?.errors[0]?.message ?? parsed?.message ?? ''
  const masked = secrets.reduce((text, secret) => text.replaceAll(secret, '***'), reason)
  const shown = withoutEnding(startOf(masked, reasonLengthMax).trim(), '.')
  return `${shown === '' ? 'it gave no reason' : shown}.`
}
