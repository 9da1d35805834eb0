/** Peer exchanges over REST: what one agent asked of another. */
import { openAttachment } from '#src/resources/agents/peers.ts'
import { cutSlowReader, handleAdmitted } from '../byte-streams.ts'
import type { HandWritten, Routes } from '../routes.ts'
import { admitted, attach, attached } from './byte-streams.ts'

const fields = `id type requester_session_id: requesterSessionId responder_session_id: responderSessionId request { text } answer { text } state
  attachment { filename media_type: mediaType size_bytes: sizeBytes sha256 } error { type message }
  created_at: createdAt updated_at: updatedAt expires_at: expiresAt finished_at: finishedAt`

/** Peer exchanges. */
export const peerRoutes: Routes = {
  'GET /v1/peer-exchanges/{id}': {
    status: 200,
    errors: [404],
    summary: 'What one agent asked of another, and what became of it',
    operation: `query getPeerExchange ($id: ID!) { body: peerExchange(id: $id) { ${fields} } }`,
  },
  'POST /v1/peer-exchanges/{id}/stop': {
    status: 204,
    errors: [400, 404],
    summary: 'Cancels an exchange; one that has ended stays as it is',
    operation:
      'mutation stopPeerExchange ($input: StopPeerExchangeInput!) { stopPeerExchange(input: $input) { peerExchange { id } } }',
  },
}

/** Gets the bytes of an attachment. */
export const peerAttachmentRoute: HandWritten = {
  reason: 'A file passes as a stream of bytes; a GraphQL answer would have to be in memory as a whole.',
  name: 'downloadPeerAttachment',
  status: 200,
  errors: [400, 404],
  summary: 'The file that went along with a request, if there is one. HEAD answers the same headers',
  requests: {},
  responses: attached,
  headers: { 'Content-Disposition': '`attachment`, with the file’s name.' },
  make: (parts) =>
    handleAdmitted(
      (request, reply) => admitted(parts, request, reply, 'peers:read'),
      async (call, request, reply) => {
        const { id = '' } = request.params as { id?: string } // the route's pattern has it
        const { file, body } = await openAttachment(call, id, request.method === 'HEAD')
        attach(reply, file)
        if (body === null) return reply.send()
        cutSlowReader(request, reply, body)
        return reply.send(body)
      },
    ),
}
