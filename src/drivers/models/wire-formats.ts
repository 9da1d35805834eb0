/** What several wire formats share. */
import type { BerthError } from '#src/platform/errors.ts'
import type { UpstreamTarget } from './model.ts'
import { upstreamError } from './upstream-errors.ts'

/**
 * The headers of a request in OpenAI's formats, as alternating names and values: JSON, and the key if the server has
 * one.
 */
export function bearerHeaders({ apiKey }: Pick<UpstreamTarget, 'apiKey'>): string[] {
  return ['content-type', 'application/json', ...(apiKey === null ? [] : ['authorization', `Bearer ${apiKey}`])]
}

/** The 400 for audio in a format that does not support it. */
export function cannotListen(target: UpstreamTarget): BerthError {
  return upstreamError(
    target,
    'invalid_parameter',
    `The upstream ${target.slug} cannot listen to audio. Send text, or use another model.`,
  )
}
