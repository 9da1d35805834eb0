/** Files of the agents service over REST, as Anthropic's client asks for them. */
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import { openFile } from '#src/resources/agents/files.ts'
import { agentFileLimits } from '#src/resources/agents/files/limits.ts'
import { receiveFile } from '#src/resources/agents/files/receiving.ts'
import { asCaller } from '#src/resources/identity/audit-events/recording.ts'
import { lingerAfter, send } from '../answers.ts'
import { cutSlowReader, handleAdmitted, refuseEncoding, streamOf } from '../byte-streams.ts'
import { pageInfo } from '../lists.ts'
import type { HandWritten, JsonSchema, Routes } from '../routes.ts'
import { admitted, attach, attached, refuseIdempotencyKey } from './byte-streams.ts'
import { readFileForm } from './file-forms.ts'

const fields =
  'id type filename mime_type: mimeType size_bytes: sizeBytes downloadable: isDownloadable created_at: createdAt expires_at: expiresAt'

/** Lists, reads and deletes files. */
export const fileRoutes: Routes = {
  'GET /v1/files': {
    status: 200,
    errors: [400],
    additive: true,
    summary: 'The caller’s files, newest first',
    list: { shape: 'page', most: agentFileLimits.listMax, usual: agentFileLimits.listDefault },
    filter: { 'ids[]': 'ids' },
    operation: `query listFiles ($first: Int, $after: String, $filter: FileFilter) {
      body: files(first: $first, after: $after, filter: $filter) { nodes { ${fields} } ${pageInfo} } }`,
  },
  'GET /v1/files/{id}': {
    status: 200,
    errors: [404],
    additive: true,
    summary: 'What is known of a file',
    operation: `query getFile ($id: ID!) { body: file(id: $id) { ${fields} } }`,
  },
  'DELETE /v1/files/{id}': {
    status: 200,
    errors: [404],
    additive: true,
    deletes: 'file',
    summary: 'Deletes a file',
    operation: 'mutation deleteFile ($input: DeleteFileInput!) { deleteFile(input: $input) { deletedId } }',
  },
}

const bytes: JsonSchema = { type: 'string', format: 'binary' }
const reason = 'A file of any size passes as a stream of bytes; a GraphQL answer would have to be in memory as a whole.'

/** Stores a file that is sent as a form. */
export const uploadFileRoute: HandWritten = {
  reason,
  name: 'uploadFile',
  status: 200,
  errors: [400, 413, 415, 503, 504],
  summary: 'Stores a file of at most 500 MiB, sent as a form',
  requests: {
    'multipart/form-data': {
      type: 'object',
      properties: {
        file: { ...bytes, description: 'The file. Only the last component of its name is kept.' },
        expires_in_seconds: {
          type: 'integer',
          minimum: agentFileLimits.expirySecondsMin,
          maximum: agentFileLimits.expirySecondsMax,
          description: 'The file is deleted by itself so many seconds after its upload.',
        },
      },
      required: ['file'],
    },
  },
  responses: {},
  answersAs: 'GET /v1/files/{id}',
  headers: {},
  takesStream: true,
  additive: true,
  make: (parts) =>
    handleAdmitted(
      async (request, reply) => {
        lingerAfter(request, reply)
        const call = await admitted(parts, request, reply, 'files:write')
        const { headers } = request
        refuseIdempotencyKey(headers, 'delete a file that was stored twice.')
        refuseEncoding(headers, 'A file is stored as it is sent. Send it without a content-encoding.')
        if (Number(headers['content-length'] ?? 0) > agentFileLimits.bytes + agentFileLimits.formBytes)
          throw new BerthError(
            'request_too_large',
            `A file may have at most ${agentFileLimits.bytes / 1024 / 1024} MiB. Send a smaller one.`,
          )
        return call
      },
      async (call, request, reply) => {
        const length = request.headers['content-length']
        const most = length === undefined ? agentFileLimits.bytes : Number(length)
        const file = await asCaller(call, 'createFile', () =>
          receiveFile(call, most, (store) =>
            readFileForm(streamOf(request), request.headers['content-type'] ?? '', store),
          ),
        )
        return send(reply, 200, await parts.show({ id: encodeId('file', file.id) }, call))
      },
    ),
}

/** Gets the bytes of a file. */
export const downloadFileRoute: HandWritten = {
  reason,
  name: 'downloadFile',
  status: 200,
  errors: [400, 404],
  summary: 'The bytes of a file. HEAD answers the same headers',
  requests: {},
  responses: attached,
  headers: { 'Content-Disposition': '`attachment`, with the file’s name.' },
  additive: true,
  make: (parts) =>
    handleAdmitted(
      (request, reply) => admitted(parts, request, reply, 'files:read'),
      async (call, request, reply) => {
        const { id = '' } = request.params as { id?: string } // the route's pattern has it
        const { file, body } = await openFile(call, id, request.method === 'HEAD')
        attach(reply, file)
        if (body === null) return reply.send()
        cutSlowReader(request, reply, body)
        return reply.send(body)
      },
    ),
}
