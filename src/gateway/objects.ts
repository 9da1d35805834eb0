/**
 * The files of the local object store, read and written with signed URLs. There is no token: the signature is the
 * permission.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Readable } from 'node:stream'
import { isSigned, objectsPath } from '#src/drivers/objects/local.ts'
import { objectStore } from '#src/drivers/objects.ts'
import type { SignedMethod } from '#src/drivers/objects/store.ts'
import { BerthError, notFound } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import type { Services } from '#src/platform/services.ts'
import { writeUpload } from '#src/resources/infra/uploads/writes.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** This route accepts files: its body may take as long as an upload. */
    takesFiles?: boolean
  }
}

type Parts = Pick<Services, 'config' | 'db' | 'sealer'>
type Range = { startByte: number; endByte: number }

/** Adds GET, HEAD and PUT of files; does nothing when an S3 service stores them. */
export async function serveObjects(app: FastifyInstance, parts: Parts): Promise<void> {
  if (parts.config.s3) return
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload)) // the store reads the stream
    scope.route({
      method: ['GET', 'HEAD'],
      url: `${objectsPath}/*`,
      exposeHeadRoute: false,
      handler: (request, reply) => sendFile(parts, request, reply),
    })
    scope.put(
      `${objectsPath}/*`,
      { config: { takesFiles: true }, bodyLimit: limits.uploadBytes },
      async (request, reply) => {
        const key = signedKey(parts, 'PUT', request)
        const length = request.headers['content-length']
        const sha256 = await writeUpload(
          parts,
          key,
          (request.body ?? request.raw) as Readable,
          length === undefined ? null : Number(length),
        ) // what the parser above made
        return reply.code(200).header('etag', `"${sha256}"`).send()
      },
    )
  })
}

async function sendFile(parts: Parts, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const key = signedKey(parts, 'GET', request)
  const store = objectStore(parts)
  const found = await store.find(key)
  if (!found) throw notFound('file')
  reply
    .header('accept-ranges', 'bytes')
    .header('content-type', 'application/octet-stream')
    .header('cache-control', 'private, no-store')
  reply.header('content-disposition', queryOf(request).get('response-content-disposition') ?? 'attachment')
  reply.header('content-security-policy', 'sandbox') // an uploaded file that is opened in a browser must not get the rights of this origin
  const range = readRange(request.headers.range, found.sizeBytes)
  if (range === 'unsatisfiable') return reply.code(416).header('content-range', `bytes */${found.sizeBytes}`).send()
  const sizeBytes = range ? range.endByte - range.startByte + 1 : found.sizeBytes
  if (range) reply.code(206).header('content-range', `bytes ${range.startByte}-${range.endByte}/${found.sizeBytes}`)
  reply.header('content-length', sizeBytes)
  if (request.method === 'HEAD') return reply.send()
  return reply.send(await store.read(key, range ?? undefined))
}

/** The key in the path. @throws BerthError forbidden unless the URL was signed for this method and has not expired. */
function signedKey({ sealer }: Parts, method: SignedMethod, request: FastifyRequest): string {
  const key = (request.params as { '*': string })['*'] // the route's pattern has it
  if (!isSigned(sealer, method, key, queryOf(request)))
    throw new BerthError('forbidden', 'This URL is not signed for this request, or has expired. Get a new one.')
  return key
}

function queryOf(request: FastifyRequest): URLSearchParams {
  const at = request.url.indexOf('?')
  return new URLSearchParams(at < 0 ? '' : request.url.slice(at + 1))
}

/** One range of bytes; several ranges, and invalid ones, are answered with the whole file, as RFC 9110 allows. */
function readRange(header: string | undefined, sizeBytes: number): Range | 'unsatisfiable' | null {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? []
  if (first === '' && last === '') return null
  if (first === '')
    return Number(last) === 0 || sizeBytes === 0
      ? 'unsatisfiable'
      : { startByte: Math.max(0, sizeBytes - Number(last)), endByte: sizeBytes - 1 }
  if (Number(first) >= sizeBytes) return 'unsatisfiable'
  if (last !== '' && Number(last) < Number(first)) return null
  return { startByte: Number(first), endByte: last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1) }
}
