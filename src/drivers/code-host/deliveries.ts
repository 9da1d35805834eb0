/** What a code host says in the headers of a request that it sends. */
import { BerthError } from '#src/platform/errors.ts'
import { signedRequestLimits } from '#src/platform/limits/signed-requests.ts'

/** The text of a header. @param advice ends the sentence of the error. @throws BerthError invalid_request. */
export function readDeliveryHeader(name: string, given: string | undefined, advice = ', as GitHub sends it'): string {
  const { headerLength } = signedRequestLimits
  if (given !== undefined && given.length <= headerLength && /^[\x21-\x7e]+$/.test(given)) return given
  throw new BerthError(
    'invalid_request',
    `The header ${name} must have 1 to ${headerLength} visible characters${advice}.`,
  )
}
