/** Requests that a code host has signed, and what those who receive them share. */
import type { FastifyRequest } from 'fastify'
import { countRefusedCredential } from '#schema/context.ts'
import { BerthError } from '#src/platform/errors.ts'
import type { Services } from '#src/platform/services.ts'
import type { JsonSchema } from './routes.ts'

/** Why such a route is written by hand. */
export const signedReason =
  'The signature is over the bytes of the body, which are checked before they are read as JSON.'

/** A header as OpenAPI describes it. */
export function describeHeader(name: string, description: string, required = true): JsonSchema {
  return { name, in: 'header', required, description, schema: { type: 'string' } }
}

/** What the headers say of a delivery; undefined for one that is missing. */
export function readSignedHeaders(
  request: FastifyRequest,
): Record<'signature' | 'event' | 'delivery', string | undefined> {
  return {
    signature: headerOf(request, 'x-hub-signature-256'),
    event: headerOf(request, 'x-github-event'),
    delivery: headerOf(request, 'x-github-delivery'),
  }
}

function headerOf({ headers }: FastifyRequest, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value : undefined
}

/** Does something that may refuse the signature, and counts that as other refused credentials. @throws what `work` throws. */
export async function countRefusals<Result>(
  { limiter }: Services,
  { ip }: FastifyRequest,
  work: () => Promise<Result> | Result,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const isStranger = error instanceof BerthError && error.code === 'unauthorized'
    if (isStranger) await countRefusedCredential(limiter, ip)
    throw error
  }
}
