/** What the code host sends of pushes: `POST /api/v1/codehost/pushes/{link_id}`. */
import type { FastifyRequest } from 'fastify'
import { setAllowance } from '#src/platform/http/headers.ts'
import { encodeId } from '#src/platform/ids.ts'
import { pushLimits } from '#src/platform/limits/pushes.ts'
import { checkPushAddress, receivePush } from '#src/resources/infra/functions/repositories/pushes.ts'
import { lingerAfter, send } from '../../answers.ts'
import type { HandWritten, JsonSchema } from '../../routes.ts'
import { streamOf } from '../../byte-streams.ts'
import { signedBodies } from '../../signed-bodies.ts'
import { countRefusals, describeHeader, readSignedHeaders, signedReason } from '../../signed-requests.ts'

const push: JsonSchema = {
  type: 'object',
  description: 'The code host’s own event; only these keys are read.',
  properties: {
    ref: { type: 'string', description: 'Such as `refs/heads/main`.' },
    after: { type: 'string', description: 'The commit that it has now, in hexadecimal.' },
    deleted: { type: 'boolean' },
    repository: { type: 'object', properties: { id: { type: 'integer' }, pushed_at: { type: 'integer' } } },
  },
  required: ['ref', 'after'],
}

/** Takes a push to a linked repository. */
export const pushRoute: HandWritten = {
  reason: signedReason,
  name: 'receivePush',
  status: 200,
  errors: [400, 401, 403, 413, 415, 503],
  summary: 'Takes a push to a linked repository from the code host, which has signed it',
  requests: { 'application/json': push },
  responses: {
    'application/json': {
      type: 'object',
      properties: {
        message: { type: 'string', description: 'What became of it.' },
        build_id: { type: ['string', 'null'], description: 'The build that builds it; null when none does.' },
      },
      required: ['message', 'build_id'],
    },
  },
  headers: {},
  otherAnswers: { 204: 'An event that is no push, which is ignored' },
  parameters: [
    describeHeader(
      'X-Hub-Signature-256',
      '`sha256=` and the HMAC-SHA-256 of the body under the webhook’s secret, in hexadecimal.',
    ),
    describeHeader('X-GitHub-Event', '`push`, or `ping`; others are ignored.'),
    describeHeader(
      'X-GitHub-Delivery',
      'The push’s own id: one that was built is not built again. A push needs it.',
      false,
    ),
  ],
  takesStream: true,
  open: true,
  additive: true,
  make({ services }) {
    return {
      async admit(request, reply) {
        lingerAfter(request, reply)
        const { limiter } = services
        setAllowance(reply, await limiter.spend(`pushes:${request.clientAddress}`, pushLimits.requestsPerMinute))
      },
      async handle(request, reply) {
        await countRefusals(services, request, () => checkPushAddress(services, linkOf(request)))
        return signedBodies.read(request, streamOf(request), async (body) => {
          const answer = await countRefusals(services, request, () =>
            receivePush(services, { repositoryId: linkOf(request), ...readSignedHeaders(request), body }),
          )
          if (answer === null) return send(reply, 204, null)
          const { message, buildId } = answer
          return send(reply, 200, JSON.stringify({ message, build_id: buildId && encodeId('build', buildId) }))
        })
      },
    }
  },
}

/** The link's id in the path. */
function linkOf({ params }: FastifyRequest): string {
  return (params as { link_id?: string }).link_id ?? '' // the route's pattern has it
}
