/** Files and folders of a VM as streams: `GET`, `HEAD` and `PUT /api/v1/vms/{vm_id}/files`. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FileAnswer } from '#src/drivers/node/file-transfers.ts'
import { momentAt } from '#src/platform/clock.ts'
import { BerthError } from '#src/platform/errors.ts'
import { fileLimits } from '#src/platform/limits/files.ts'
import {
  checkUpload,
  findUploadProgress,
  openVmFile,
  putVmFile,
  type FileAddress,
} from '#src/resources/infra/vm-files/streams.ts'
import { notSigned } from '#src/resources/infra/vm-files/urls.ts'
import { lingerAfter, send } from '../../answers.ts'
import { attachmentOf, cutSlowReader, handleAdmitted, streamOf } from '../../byte-streams.ts'
import type { HandWritten, JsonSchema } from '../../routes.ts'
import { readFileRequest, readUpload, type FileRequest } from './requests.ts'

const bytes: JsonSchema = { type: 'string', format: 'binary' }
const reason = 'A file of any size passes as a stream of bytes; a GraphQL answer would have to be in memory as a whole.'
const offsetHeader = 'upload-offset'
const inQuery = (name: string, schema: JsonSchema, required = false): JsonSchema => ({
  name,
  in: 'query',
  required,
  schema,
})
const inHeader = (name: string, description: string): JsonSchema => ({
  name,
  in: 'header',
  required: false,
  description,
  schema: { type: 'string' },
})
const inAddress: readonly JsonSchema[] = [
  inQuery('path', { type: 'string', description: 'The absolute path in the VM.' }, true),
  inQuery('format', {
    type: 'string',
    enum: ['file', 'tar'],
    default: 'file',
    description: '`tar`: the path is a folder, which passes as a tar archive.',
  }),
  ...['expires', 'by', 'signature'].map((name) =>
    inQuery(name, { type: 'string', description: 'Part of a signed URL, which needs no token.' }),
  ),
]
const answerHeaders = {
  'Accept-Ranges': '`bytes`.',
  ETag: 'The version of the file, or of everything in the folder.',
  'Last-Modified': 'When the file, or the folder itself, last changed.',
  'Content-Range': 'With 206: which part this is.',
  'Upload-Offset': 'To HEAD: how many bytes of an unfinished upload to this path have arrived.',
}

/** Gets a file, or a folder as a tar archive. HEAD is answered as GET, without the body. */
export const getFileRoute: HandWritten = {
  reason,
  name: 'getVmFile',
  status: 200,
  errors: [400, 404, 415, 502, 503, 504],
  summary:
    'Gets a file of any size, or a folder as a tar archive; a part of it with Range. HEAD answers the same headers',
  requests: {},
  responses: { 'application/octet-stream': bytes, 'application/x-tar': bytes },
  headers: answerHeaders,
  otherAnswers: {
    206: 'The requested part',
    304: 'The version in If-None-Match is the current one',
    416: 'Nothing of the file is in the requested range',
  },
  parameters: [
    ...inAddress,
    inHeader('Range', 'One range of bytes, such as `bytes=1048576-`. Several are answered with the whole.'),
    inHeader('If-Range', 'The ETag that the range is a part of; the answer is the whole when it is another one.'),
    inHeader('If-None-Match', 'ETags; 304 when the current one is among them.'),
  ],
  takesStream: true,
  takesSignedUrls: true,
  additive: true,
  make: (parts) =>
    handleAdmitted(
      (request, reply) => readFileRequest(parts, request, reply),
      (asked, request, reply) => hidingVm(asked, () => sendFile(asked, request, reply)),
    ),
}

/** Puts a file, or what is in a tar archive into a folder. */
export const putFileRoute: HandWritten = {
  reason,
  name: 'putVmFile',
  status: 200,
  errors: [400, 404, 409, 413, 415, 502, 503, 504],
  summary:
    'Stores the body as a file of any size, or unpacks it as a tar archive into a folder; a part of it with Content-Range',
  requests: { 'application/octet-stream': bytes, 'application/x-tar': bytes },
  responses: {
    'application/json': {
      type: 'object',
      properties: {
        path: { type: 'string' },
        size_bytes: { type: 'integer', description: 'How many bytes have arrived in all.' },
        complete: { type: 'boolean', description: 'Whether the upload is complete. Until then nothing has its name.' },
      },
      required: ['path', 'size_bytes', 'complete'],
    },
  },
  headers: {},
  otherAnswers: { 202: 'The part is stored; the upload is not complete. Upload-Offset says where to go on' },
  parameters: [
    ...inAddress,
    inHeader(
      'Content-Range',
      'Which part of the upload the body is, such as `bytes 1048576-2097151/5242880`; `*` for a size that is not known yet.',
    ),
  ],
  takesStream: true,
  takesSignedUrls: true,
  additive: true,
  make: (parts) =>
    handleAdmitted(
      async (request, reply) => {
        lingerAfter(request, reply)
        const asked = await readFileRequest(parts, request, reply)
        readUpload(request)
        await hidingVm(asked, () => checkUpload(asked.call, asked.address))
        return asked
      },
      (asked, request, reply) => hidingVm(asked, () => takeFile(asked, request, reply)),
    ),
}

/** For a signed URL, a VM that is gone is a URL that is no longer valid. */
async function hidingVm<Result>({ signedFor }: FileRequest, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    const isGone = error instanceof BerthError && error.code === 'not_found' && error.details['noun'] === 'VM'
    throw signedFor !== null && isGone ? notSigned() : error
  }
}

async function sendFile(asked: FileRequest, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { call, address, signedFor } = asked
  const { format } = address
  if (signedFor === 'PUT') {
    const offset = await findUploadProgress(call, address)
    return reply
      .code(204)
      .header(offsetHeader, offset ?? 0)
      .send()
  }
  const headOnly = request.method === 'HEAD'
  const { answer, body } = await openVmFile(call, address, {
    range: textOf(request.headers.range),
    ifRange: textOf(request.headers['if-range']),
    ifNoneMatch: textOf(request.headers['if-none-match']),
    headOnly,
    progressOnly: false,
  })
  const { facts, part, uploadedBytes } = answer
  if (uploadedBytes !== null) reply.header(offsetHeader, uploadedBytes)
  if (facts === null)
    throw new BerthError(
      'not_found',
      `There is nothing at ${address.path} yet; an upload to it is not complete. Upload-Offset says where to go on with it.`,
    )
  describe(reply, address, answer)
  if (part.status === 304) return reply.code(304).send()
  if (part.status === 416) {
    const message = `The file has ${facts.sizeBytes} bytes; nothing of it is in this range.`
    return send(
      reply.header('content-range', `bytes */${facts.sizeBytes}`),
      416,
      JSON.stringify({ error: 'invalid_request', message }),
    )
  }
  reply.code(part.status).header('content-length', part.lengthBytes)
  if (part.status === 206)
    reply.header('content-range', `bytes ${part.startByte}-${part.startByte + part.lengthBytes - 1}/${facts.sizeBytes}`)
  if (headOnly || body === null) return reply.send()
  const startsLate = format === 'tar' && part.startByte > 0
  cutSlowReader(request, reply, body, startsLate ? fileLimits.firstByteSeconds : fileLimits.stalledSeconds)
  return reply.send(body)
}

function describe(reply: FastifyReply, { path, format }: FileAddress, { facts }: FileAnswer): void {
  const name = `${path.split('/').findLast((part) => part !== '') ?? 'root'}${format === 'tar' ? '.tar' : ''}`
  reply
    .header('accept-ranges', 'bytes')
    .header('etag', facts?.etag)
    .header('last-modified', momentAt(facts?.modifiedMs ?? 0).toUTCString())
    .header('content-type', format === 'tar' ? 'application/x-tar' : 'application/octet-stream')
    .header('cache-control', 'private, no-cache')
    .header('content-disposition', attachmentOf(name))
    .header('content-security-policy', 'sandbox') // a file that is opened in a browser must not get the rights of this origin
}

function textOf(header: string | string[] | undefined): string | null {
  return typeof header === 'string' ? header : null
}

async function takeFile(
  { call, address }: FileRequest,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const result = await putVmFile(call, address, readUpload(request), streamOf(request))
  if ('aheadOf' in result) {
    reply.header(offsetHeader, result.aheadOf)
    throw new BerthError(
      'invalid_transition',
      `Only ${result.aheadOf} bytes of this upload have arrived. Go on there, with the same number in Content-Range.`,
    )
  }
  const { uploadedBytes, isComplete } = result
  if (!isComplete) reply.header(offsetHeader, uploadedBytes)
  return send(
    reply,
    isComplete ? 200 : 202,
    JSON.stringify({ path: address.path, size_bytes: uploadedBytes, complete: isComplete }),
  )
}
