/** What the code host delivers: `POST /v1/hooks/github`. */
import type { FastifyRequest } from 'fastify'
import type { Readable } from 'node:stream'
import { countRefusedCredential } from '#schema/context.ts'
import { BerthError } from '#src/platform/errors.ts'
import { triggerLimits } from '#src/platform/limits/triggers.ts'
import type { Services } from '#src/platform/services.ts'
import { checkSignatureForm, receiveDelivery } from '#src/resources/agents/triggers/deliveries.ts'
import { lingerAfter, send, setAllowance } from '../answers.ts'
import type { HandWritten, JsonSchema } from '../routes.ts'
import { createBodies } from '../signed-bodies.ts'

const inHeader = (name: string, description: string): JsonSchema => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
})

/** Takes an event of a repository, which fires triggers. */
export const hookRoute: HandWritten = {
  reason: 'The signature is over the bytes of the body, which are checked before they are read as JSON.',
  name: 'receiveHook',
  status: 202,
  errors: [400, 401, 413, 415, 429, 503],
  summary: 'Takes an event of a repository from the code host, which has signed it',
  requests: {
    'application/json': { type: 'object', additionalProperties: true, description: 'The code host’s own event.' },
  },
  responses: {
    'application/json': {
      type: 'object',
      properties: {
        received: { type: 'boolean', description: 'Always true.' },
        delivery_id: { type: 'string', description: 'The `X-GitHub-Delivery` of the request.' },
        fires: { type: 'integer', description: 'How many fires of triggers are new; 0 for what was delivered before.' },
      },
      required: ['received', 'delivery_id', 'fires'],
    },
  },
  headers: {},
  otherAnswers: { 200: 'A ping: `{"ok": true}`' },
  parameters: [
    inHeader(
      'X-Hub-Signature-256',
      '`sha256=` and the HMAC-SHA-256 of the body under the installation’s secret, in hexadecimal.',
    ),
    inHeader('X-GitHub-Event', 'The event, such as `pull_request`, or `ping`.'),
    inHeader('X-GitHub-Delivery', 'The delivery’s own id: what is delivered again fires nothing again.'),
  ],
  takesStream: true,
  open: true,
  make({ services }) {
    const bodies = createBodies()
    return {
      async admit(request, reply) {
        lingerAfter(request, reply)
        const { limiter, config } = services
        setAllowance(reply, await limiter.spend(`hooks:${request.ip}`, triggerLimits.requestsPerMinute))
        await counted(services, request, () => checkSignatureForm(config, headerOf(request, 'x-hub-signature-256')))
      },
      async handle(request, reply) {
        const from = (request.body ?? request.raw) as Readable // the parser of streams made it
        const answer = await bodies.read(request.headers, from, (body) =>
          counted(services, request, () => receiveDelivery(services, { ...headersOf(request), body })),
        )
        if (answer === null) return send(reply, 200, '{"ok":true}')
        const { deliveryId, fires } = answer
        return send(reply, 202, JSON.stringify({ received: true, delivery_id: deliveryId, fires }))
      },
    }
  },
}

function headersOf(request: FastifyRequest): Omit<Parameters<typeof receiveDelivery>[1], 'body'> {
  return {
    signature: headerOf(request, 'x-hub-signature-256'),
    event: headerOf(request, 'x-github-event'),
    delivery: headerOf(request, 'x-github-delivery'),
    contentType: request.headers['content-type'],
  }
}

function headerOf({ headers }: FastifyRequest, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value : undefined
}

/** Counts refused signatures as other credentials. */
async function counted<Result>(
  services: Services,
  { ip }: FastifyRequest,
  work: () => Promise<Result> | Result,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const isStranger = error instanceof BerthError && error.code === 'unauthorized'
    if (isStranger) await countRefusedCredential(services.limiter, ip)
    throw error
  }
}
