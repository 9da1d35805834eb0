/** What a failed attempt means: what its owner reads, and when the next one is. */
import { AcmeRefusal, AcmeUnreachable } from '#src/drivers/acme/requests.ts'
import { certificateLimits } from '#src/platform/limits/certificates.ts'
import { log } from '#src/platform/log.ts'
import type { Failure } from '#src/resources/infra/certificates/claims.ts'
import { OutOfTime, TooManyOrders, UnusableCertificate } from './orders.ts'

/** Refusals that say nothing about the order. */
const passing = ['rateLimited', 'serverInternal', 'badNonce', 'accountDoesNotExist']
const rateLimitedSeconds = 3600

/** What an error of an attempt means. */
export function failureOf(error: unknown): Failure & { losesAccount?: true } {
  if (error instanceof TooManyOrders)
    return { reason: error.message, endsOrder: false, counts: false, retrySeconds: error.retrySeconds }
  if (error instanceof OutOfTime)
    return {
      reason: 'The certificate authority has not decided yet. It is asked again soon.',
      endsOrder: false,
      counts: true,
    }
  if (error instanceof UnusableCertificate) return { reason: error.message, endsOrder: true, counts: true }
  if (error instanceof AcmeUnreachable)
    return {
      reason: `The certificate authority could not be reached (${cleaned(error.message)}). It is tried again by itself.`,
      endsOrder: false,
      counts: true,
    }
  if (!(error instanceof AcmeRefusal)) {
    log.error({ err: error }, 'a certificate could not be obtained')
    return {
      reason: 'The certificate could not be obtained. It is tried again by itself.',
      endsOrder: true,
      counts: true,
    }
  }
  const isPassing = passing.includes(error.type) || error.status >= 500
  return {
    reason: `The certificate authority refused: ${cleaned(error.message)}`,
    endsOrder: !isPassing,
    counts: true,
    ...(error.type === 'rateLimited' || error.retryAfterSeconds !== undefined
      ? { holdSeconds: error.retryAfterSeconds ?? rateLimitedSeconds }
      : {}),
    ...(error.type === 'accountDoesNotExist' ? { losesAccount: true } : {}),
  }
}

/** Foreign words in one line, without control characters and not too many. */
function cleaned(words: string): string {
  return words
    .slice(0, certificateLimits.reasonLength)
    .replace(/[\s\p{C}]+/gu, ' ')
    .trim()
}
