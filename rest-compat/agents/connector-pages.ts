/** The two addresses of each connector that browsers and authorization servers open. */
import { setAllowance } from '#src/platform/http/headers.ts'
import { connectorLimits } from '#src/platform/limits/connectors.ts'
import { clientDocument, comeBack, type Brought } from '#src/resources/agents/mcp-services/coming-back.ts'
import { send } from '../answers.ts'
import type { HandWritten, JsonSchema } from '../routes.ts'

const inQuery = (name: string, description: string): JsonSchema => ({
  name,
  in: 'query',
  required: name === 'state',
  description,
  schema: { type: 'string' },
})

/** Where browsers come back to from signing in; they go on to the application that began. */
export const connectorCallbackRoute: HandWritten = {
  reason: 'It answers a browser by sending it on.',
  name: 'comeBackFromSignIn',
  status: 303,
  errors: [400, 429],
  summary: 'Where browsers come back to from signing in; they are sent on to the return_url',
  requests: {},
  responses: {},
  headers: { location: 'The return_url, with code and state, or with error and state.' },
  parameters: [
    inQuery('state', 'The state of the sign-in.'),
    inQuery('code', 'The code that completes it.'),
    inQuery('iss', 'The authorization server that sent the browser, if it says so.'),
    inQuery('error', 'Why there is no code.'),
  ],
  open: true,
  additive: true,
  make: ({ services }) => ({
    async admit(request, reply) {
      reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
      setAllowance(
        reply,
        await services.limiter.spend(`connector-callback:${request.clientAddress}`, connectorLimits.callbacksPerMinute),
      )
    },
    async handle(request, reply) {
      const { id = '' } = request.params as { id?: string } // the route's pattern has it
      const onward = await comeBack(services, id, request.query as Brought) // whatever was in the address
      return reply.code(303).header('location', onward).send()
    },
  }),
}

/** Berth’s metadata as a client for a service, at the address that is its client id. */
export const clientDocumentRoute: HandWritten = {
  reason: 'Its form is that of RFC 7591, and it is the same for everybody.',
  name: 'getConnectorClient',
  status: 200,
  errors: [404, 429],
  summary: 'Berth’s metadata as a client for this service, for authorization servers that read it at a client id',
  requests: {},
  responses: {
    'application/json': {
      type: 'object',
      properties: {
        client_id: { type: 'string', description: 'The address of this document.' },
        client_name: { type: 'string' },
        client_uri: { type: 'string' },
        redirect_uris: { type: 'array', items: { type: 'string' } },
        grant_types: { type: 'array', items: { type: 'string' } },
        response_types: { type: 'array', items: { type: 'string' } },
        token_endpoint_auth_method: { type: 'string' },
        application_type: { type: 'string' },
      },
      required: ['client_id', 'client_name', 'redirect_uris'],
    },
  },
  headers: {},
  open: true,
  additive: true,
  make: ({ services }) => ({
    async admit(request, reply) {
      setAllowance(
        reply,
        await services.limiter.spend(`connector-client:${request.clientAddress}`, connectorLimits.callbacksPerMinute),
      )
    },
    async handle(request, reply) {
      const { id = '' } = request.params as { id?: string } // the route's pattern has it
      return send(reply, 200, JSON.stringify(clientDocument(services.config, id)))
    },
  }),
}
