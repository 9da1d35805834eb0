/** What the code host delivers: `POST /v1/hooks/github`. */
import { setAllowance } from '#src/platform/http/headers.ts'
import { checkSignatureForm, receiveDelivery } from '#src/resources/agents/triggers/deliveries.ts'
import { triggerLimits } from '#src/resources/agents/triggers/limits.ts'
import { lingerAfter, send } from '../answers.ts'
import type { HandWritten } from '../routes.ts'
import { streamOf } from '../byte-streams.ts'
import { signedBodies } from '../signed-bodies.ts'
import { countRefusals, describeHeader, readSignedHeaders, signedReason } from '../signed-requests.ts'

/** Takes an event of a repository, which fires triggers. */
export const hookRoute: HandWritten = {
  reason: signedReason,
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
    describeHeader(
      'X-Hub-Signature-256',
      '`sha256=` and the HMAC-SHA-256 of the body under the installation’s secret, in hexadecimal.',
    ),
    describeHeader('X-GitHub-Event', 'The event, such as `pull_request`, or `ping`.'),
    describeHeader('X-GitHub-Delivery', 'The delivery’s own id: what is delivered again fires nothing again.'),
  ],
  takesStream: true,
  open: true,
  make({ services }) {
    return {
      async admit(request, reply) {
        lingerAfter(request, reply)
        const { limiter, config } = services
        setAllowance(reply, await limiter.spend(`hooks:${request.clientAddress}`, triggerLimits.requestsPerMinute))
        await countRefusals(services, request, () => checkSignatureForm(config, readSignedHeaders(request).signature))
      },
      async handle(request, reply) {
        const answer = await signedBodies.read(request, streamOf(request), (body) =>
          countRefusals(services, request, () => {
            const contentType = request.headers['content-type']
            return receiveDelivery(services, { ...readSignedHeaders(request), contentType, body })
          }),
        )
        if (answer === null) return send(reply, 200, '{"ok":true}')
        const { deliveryId, fires } = answer
        return send(reply, 202, JSON.stringify({ received: true, delivery_id: deliveryId, fires }))
      },
    }
  },
}
