/**
 * The errors that callers see when an upstream fails: one code and one sentence, whatever the wire format. A sentence
 * never contains the operator's keys or URLs; the upstream's own message is shown only when the request is at fault.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { BerthError, type ErrorCode } from '#src/platform/errors.ts'
import { nowMs } from '#src/platform/clock.ts'
import type { UpstreamTarget } from './model.ts'
import { countOf, jsonOf, objectOf, textOf, type Values } from './json-values.ts'
import { startOf } from '#src/platform/texts.ts'

const sentenceCharactersMax = 500
/** The longest Retry-After that is passed on; a longer one is ignored. */
const retryAfterSecondsMax = 24 * 60 * 60

/** An error of this upstream. */
export function upstreamError(
  target: UpstreamTarget,
  code: ErrorCode,
  sentence: string,
  details: Record<string, unknown> = {},
): BerthError {
  return new BerthError(code, sentence, { ...details, upstream: target.slug })
}

/** The error for an invalid answer: `what` continues the sentence "The upstream x …". */
export function brokenAnswer(target: UpstreamTarget, what: string): BerthError {
  return upstreamError(target, 'upstream_error', `The upstream ${target.slug} ${what}. Try again, or another model.`)
}

/** The error for a refused request: from its status, its headers and as much of its body as was read. */
export function refusedByStatus(
  target: UpstreamTarget,
  status: number,
  headers: IncomingHttpHeaders,
  body: string,
): BerthError {
  const parsed = jsonOf(body)
  const reported = objectOf(Array.isArray(parsed) ? parsed[0] : parsed) // Gemini sends a list of one
  return describe(target, status, reported && errorIn(reported), headers)
}

/** The error for one that was reported inside an answer: `error` is the error object. */
export function refusedInAnswer(target: UpstreamTarget, error: unknown): BerthError {
  const values = typeof error === 'string' ? { message: error } : objectOf(error)
  return describe(target, statusOf(values), values, {})
}

/** The error object of an answer: `{error: {…}}`, `{error: "…"}`, or vLLM's old `{object: "error", message}`. */
export function errorIn(answer: Values): Values | null {
  const { error } = answer
  if (typeof error === 'string') return { ...answer, message: error }
  return objectOf(error) ?? (answer['object'] === 'error' || typeof answer['message'] === 'string' ? answer : null)
}

/** HTTP statuses by providers' names of errors, in `type` or `code`. */
const namedStatuses: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  BadRequestError: 400,
  invalid_prompt: 400,
  context_length_exceeded: 400,
  string_above_max_length: 400,
  authentication_error: 401,
  invalid_api_key: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  NotFoundError: 404,
  model_not_found: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  api_error: 500,
  server_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
  server_is_overloaded: 529,
  slow_down: 529,
}

function statusOf(error: Values | null): number {
  if (!error) return 500
  for (const key of ['status', 'code', 'type']) {
    const value = error[key]
    const status = typeof value === 'string' ? (namedStatuses[value] ?? Number(value)) : countOf(value)
    if (status !== undefined && status >= 400 && status <= 599) return status
  }
  return 500
}

function describe(
  target: UpstreamTarget,
  status: number,
  error: Values | null,
  headers: IncomingHttpHeaders,
): BerthError {
  const { slug } = target
  const reason = reasonFrom(target, error)
  switch (status) {
    case 401:
    case 402:
    case 403:
      return upstreamError(
        target,
        'upstream_error',
        `The upstream ${slug} refused this installation's own ${status === 402 ? 'account' : 'key'} (${status}). Tell your operator, or use another model.`,
      )
    case 408:
    case 504:
      return upstreamError(target, 'upstream_timeout', `The upstream ${slug} did not answer in time. Try again.`)
    case 429: {
      const retryAfterSeconds = retryAfter(headers)
      return upstreamError(
        target,
        'upstream_rate_limited',
        `The upstream ${slug} has received too many requests. Try again ${retryAfterSeconds === undefined ? 'later' : `in ${retryAfterSeconds} seconds`}.`,
        retryAfterSeconds === undefined ? {} : { retryAfterSeconds },
      )
    }
    case 503:
    case 529:
      return upstreamError(
        target,
        'upstream_overloaded',
        `The upstream ${slug} is overloaded. Try again in a few seconds.`,
      )
    case 404: // a missing URL or model is not the caller's fault, and another upstream may have it
      if (reason)
        return upstreamError(
          target,
          'upstream_error',
          `The upstream ${slug} does not have the model: ${reason} Tell your operator, or use another model.`,
        )
      break
    case 400:
    case 413:
    case 422:
      if (isTooLong(error, reason))
        return upstreamError(
          target,
          'context_length_exceeded',
          `The conversation is longer than the model can read: ${reason || 'shorten it'}`,
        )
      return upstreamError(
        target,
        'invalid_parameter',
        `The upstream ${slug} refused the request: ${reason || `it answered ${status} without a reason.`}`,
      )
  }
  return upstreamError(
    target,
    'upstream_error',
    `The upstream ${slug} failed (${status}). Try again, or another model.`,
  )
}

function isTooLong(error: Values | null, message: string): boolean {
  return (
    error?.['code'] === 'context_length_exceeded' ||
    /prompt is too long|maximum context length|context[_ ]length[_ ]exceeded|exceeds? the (?:available )?context (?:size|window)/i.test(
      message,
    )
  )
}

/** The upstream's own sentence: without its key, control characters, or more than 500 characters. */
function reasonFrom({ apiKey }: UpstreamTarget, error: Values | null): string {
  const sentence = textOf(error?.['message']) ?? ''
  // The key first: a truncated key would not be found.
  const scrubbed = apiKey ? sentence.replaceAll(apiKey, '[key]') : sentence
  return startOf(scrubbed.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim(), sentenceCharactersMax)
}

/** Whole seconds, from a number of seconds or a date (RFC 9110, 10.2.3). */
function retryAfter(headers: IncomingHttpHeaders): number | undefined {
  const text = headers['retry-after']
  if (text === undefined) return undefined
  const seconds = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : (Date.parse(text) - nowMs()) / 1000
  return seconds >= 0 && seconds <= retryAfterSecondsMax ? Math.ceil(seconds) : undefined
}
