/** Why a function did not start, as everybody may know it. */
import { BerthError } from '#src/platform/errors.ts'

/** It has failed, took too long, waits behind others of its organization, or nothing is deployed. */
type Why = 'failed' | 'late' | 'busy' | 'empty'

/** A function that did not start. */
export class FunctionUnavailable extends BerthError {
  readonly why: Why
  readonly retryAfterSeconds: number

  constructor(why: Why, sentence: string, retryAfterSeconds: number) {
    super('service_unavailable', `${sentence} Try again later.`, { retryAfterSeconds })
    this.why = why
    this.retryAfterSeconds = retryAfterSeconds
  }
}
