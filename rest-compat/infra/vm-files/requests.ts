/** Reads the requests for files as streams: who asks, for what, and which part of an upload it is. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { bearerOf } from '#schema/context.ts'
import { readContentRange, type FileFormat, type FileUpload } from '#src/drivers/node/file-transfers.ts'
import type { Caller } from '#src/platform/access.ts'
import { BerthError } from '#src/platform/errors.ts'
import { setAllowance } from '#src/platform/http/headers.ts'
import { spendRequest } from '#src/platform/rate-limits.ts'
import { findUnknownKey, unknownKeySentence } from '#src/platform/shapes/unknown-keys.ts'
import type { Call } from '#src/platform/services.ts'
import type { FileAddress } from '#src/resources/infra/vm-files/streams.ts'
import { callerOfUrl, notSigned, signedParameters, type FileUrlMethod } from '#src/resources/infra/vm-files/urls.ts'
import { contextOf } from '../../answers.ts'
import { refuseEncoding } from '../../byte-streams.ts'
import type { SurfaceParts } from '../../routes.ts'

/** A request for a file: `method` is what a signed URL was made for, null with a token. */
export type FileRequest = { call: Call; address: FileAddress; signedFor: FileUrlMethod | null }

const known: ReadonlySet<string> = new Set(['path', 'format', ...signedParameters])

/**
 * Finds out who asks for which file, by the request's token or its signed URL, and counts the request.
 * @throws BerthError unauthorized, forbidden, invalid_request, rate_limited.
 */
export async function readFileRequest(
  { services, authenticator }: SurfaceParts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FileRequest> {
  if (!isDecodable(request.url))
    throw new BerthError(
      'invalid_request',
      'The query is not UTF-8 text in percent-encoding. A file whose name is not UTF-8 passes in an archive of its folder: format=tar.',
    )
  const query = request.query as Record<string, string | string[]> // as Fastify reads it
  const { vm_id: vmId = '' } = request.params as { vm_id?: string } // the route's pattern has it
  const isSigned = Object.keys(query).some((key) => signedParameters.includes(key))
  const signedFor: FileUrlMethod[] =
    request.method === 'PUT' ? ['PUT'] : request.method === 'HEAD' ? ['GET', 'PUT'] : ['GET']
  const { caller, method } = isSigned
    ? await signer(services, signedFor, query, vmId)
    : { caller: await withToken(authenticator.authenticate(bearerOf(request.headers))), method: null }
  setAllowance(reply, await spendRequest(services.limiter, caller, request.method === 'PUT'))
  const unknown = findUnknownKey(query, known)
  if (unknown !== undefined)
    throw new BerthError('invalid_request', unknownKeySentence('query parameter', unknown, ['path', 'format']))
  return {
    call: contextOf(services, caller, request),
    address: { vmId, path: textAt(query, 'path'), format: formatIn(query) },
    signedFor: method,
  }
}

/** Fastify would take what cannot be decoded as it stands, which names another file. */
function isDecodable(url: string): boolean {
  try {
    decodeURIComponent(url)
    return true
  } catch (error) {
    if (error instanceof URIError) return false
    throw error
  }
}

/** A signed URL is wrong in one way only for whoever has no right to know more. */
async function signer(
  services: SurfaceParts['services'],
  methods: readonly FileUrlMethod[],
  query: Record<string, string | string[]>,
  vmId: string,
): Promise<{ caller: Caller; method: FileUrlMethod }> {
  const [expires, by, signature, path, format = 'file'] = ['expires', 'by', 'signature', 'path', 'format'].map(
    (key) => query[key],
  )
  const texts = [expires, by, signature, path].every((one) => typeof one === 'string')
  if (!texts || (format !== 'file' && format !== 'tar') || findUnknownKey(query, known) !== undefined) throw notSigned()
  const given = { expires: String(expires), by: String(by), signature: String(signature) }
  for (const method of methods) {
    try {
      return { caller: await callerOfUrl(services, method, { vmId, path: String(path), format }, given), method }
    } catch (error) {
      if (method === methods.at(-1)) throw error
    }
  }
  throw notSigned()
}

async function withToken(authenticating: Caller | Promise<Caller>): Promise<Caller> {
  const caller = await authenticating
  if (caller.kind === 'nobody') throw caller.refusal
  return caller
}

function textAt(query: Record<string, string | string[]>, key: string): string {
  const value = query[key]
  if (typeof value === 'string') return value
  throw new BerthError(
    'invalid_request',
    value === undefined
      ? `Name the file in the query parameter ${key}, such as ?path=/home/user/notes.txt.`
      : `The query parameter ${key} may be there once only.`,
  )
}

function formatIn(query: Record<string, string | string[]>): FileFormat {
  const format = query['format'] === undefined ? 'file' : textAt(query, 'format')
  if (format === 'file' || format === 'tar') return format
  throw new BerthError('invalid_request', 'format must be file, or tar for a folder as a tar archive.')
}

/** Headers of an upload that would be dropped otherwise, with what to do instead. */
const refusedHeaders: Readonly<Record<string, string>> = {
  'if-match': 'Leave it out: uploads take no conditions.',
  'if-none-match': 'Leave it out: uploads take no conditions.',
  'if-unmodified-since': 'Leave it out: uploads take no conditions.',
}

/**
 * Which part of an upload the body is.
 * @throws BerthError invalid_request, unsupported_encoding.
 */
export function readUpload({
  headers,
}: FastifyRequest): Pick<FileUpload, 'offset' | 'lengthBytes' | 'totalBytes' | 'isLast'> {
  for (const [name, advice] of Object.entries(refusedHeaders))
    if (headers[name] !== undefined)
      throw new BerthError('invalid_request', `The header ${name} is not supported here. ${advice}`)
  refuseEncoding(headers, 'A file is stored as it is sent. Send it without a content-encoding.')
  const length = headers['content-length'] === undefined ? null : Number(headers['content-length'])
  const range = headers['content-range']
  if (range === undefined) return { offset: 0, lengthBytes: length, totalBytes: length, isLast: true }
  const part = readContentRange(range)
  if (!part)
    throw new BerthError(
      'invalid_request',
      'Content-Range must be `bytes FIRST-LAST/SIZE`, with SIZE `*` while the size is not known, such as bytes 1048576-2097151/5242880; or `bytes */SIZE` with an empty body when everything has arrived.',
    )
  const lengthBytes = part.last - part.first + 1
  if (length !== null && length !== lengthBytes)
    throw new BerthError(
      'invalid_request',
      `The body has ${length} bytes, but Content-Range is of ${lengthBytes}. Correct one of them.`,
    )
  return {
    offset: part.first,
    lengthBytes,
    totalBytes: part.totalBytes,
    isLast: part.totalBytes !== null && part.last === part.totalBytes - 1,
  }
}
