/** `/anthropic`: one base address for Anthropic's clients, whose parts the gateway and the agents service have. */

import type { FastifyRequest } from 'fastify'
import type { Surface } from './routes.ts'

const base = '/anthropic'
/** What the gateway has, or says of it what to use instead; also behind a `/v1` too many, which it names. */
const ofGateway = /^(?:\/v1)+\/(?:messages|models|complete)(?:[/?]|$)/

/** The address at which a request is served: itself, unless it begins with the base address. */
export function servedAt(url: string): string {
  if (!isBelow(base, url)) return url
  const path = url.slice(base.length)
  return (ofGateway.test(path) ? '/llm' : '/agents') + path
}

/** Whether a URL is this path, or below it. */
export function isBelow(path: string, url: string): boolean {
  return url.startsWith(path) && /^(?:[/?]|$)/.test(url.slice(path.length))
}

/**
 * The body of errors that the sender of a request reads: Anthropic's clients ask at their base address, for messages, or
 * with the header that they always send.
 */
export function envelopeFor(
  { envelope, anthropicEnvelope }: Pick<Surface, 'envelope' | 'anthropicEnvelope'>,
  { originalUrl, headers }: Pick<FastifyRequest, 'originalUrl' | 'headers'>,
): Surface['envelope'] {
  const isAnthropic =
    isBelow(base, originalUrl) || isBelow('/llm/v1/messages', originalUrl) || headers['anthropic-version'] !== undefined
  return (isAnthropic ? anthropicEnvelope : undefined) ?? envelope
}

const oneAddress = `with the base URL ${base} one client has both.`

/** What Anthropic's clients ask the agents service for, and the gateway has. */
export const gatewaysOwn = {
  '/v1/messages': `Messages are at /llm/v1/messages; ${oneAddress}`,
}

/** The other way round. */
export const agentsOwn = Object.fromEntries(
  ['agents', 'deployments', 'environments', 'files', 'sessions', 'skills', 'vaults'].map((noun) => [
    `/v1/${noun}`,
    `It is at /agents/v1/${noun}; ${oneAddress}`,
  ]),
)
