/** Compressed responses for clients that accept them: brotli or gzip, off the main thread, never for streams. */
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip, type BrotliOptions, type ZlibOptions } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { sha256 } from './secrets.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Responses of this route are never compressed: they are short, requested often, or streams. */
    neverCompressed?: boolean
  }
}

/** The encodings, the preferred one first. */
type Encoding = 'br' | 'gzip'
type Work = { brotli: BrotliOptions; gzip: ZlibOptions }

/** Below this the headers cost as much as is saved. Unit: bytes. */
const smallestBytes = 1024
const compressibleTypes = ['text/', 'application/json', 'application/graphql', 'application/problem+json']
/** For a single response: a tenth of the time of the best level, for a tenth more bytes. */
const quick: Work = {
  brotli: {
    params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT },
  },
  gzip: { level: 4 },
}
/** For a text that is compressed once and sent often. */
const thorough: Work = {
  brotli: {
    params: { [constants.BROTLI_PARAM_QUALITY]: 6, [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT },
  },
  gzip: { level: 6 },
}

const toBrotli = promisify<Buffer | string, BrotliOptions, Buffer>(brotliCompress)
const toGzip = promisify<Buffer | string, ZlibOptions, Buffer>(gzip)

function compress(encoding: Encoding, text: Buffer | string, work: Work): Promise<Buffer> {
  return encoding === 'br' ? toBrotli(text, work.brotli) : toGzip(text, work.gzip)
}

/**
 * The supported encoding that this `Accept-Encoding` prefers; null when there is none, and the response is not
 * compressed.
 */
export function preferredEncoding(header: string | undefined): Encoding | null {
  if (!header) return null
  const likes = new Map<string, number>()
  for (const one of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = one.split(';').map((part) => part.trim())
    const quality = parameters.find((parameter) => parameter.startsWith('q='))
    likes.set(name, quality === undefined ? 1 : Number(quality.slice(2)) || 0)
  }
  const liking = (encoding: string): number => likes.get(encoding) ?? likes.get('*') ?? 0
  const best: Encoding = liking('br') >= liking('gzip') ? 'br' : 'gzip'
  return liking(best) > 0 ? best : null
}

/** Adds a name to the header `Vary`, once. */
export function addVary(reply: FastifyReply, name: string): void {
  const before = reply.getHeader('vary')
  const names = typeof before === 'string' ? before.split(', ') : []
  if (!names.includes(name)) reply.header('vary', [...names, name].join(', '))
}

/** Compresses the app's responses: text of at least 1 KiB. */
export function compressAnswers(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    if (!isWorth(request, reply, payload)) return done(null, payload)
    addVary(reply, 'accept-encoding')
    const encoding = preferredEncoding(headerOf(request, 'accept-encoding'))
    if (!encoding) return done(null, payload)
    compress(encoding, payload as string | Buffer, quick).then((compressed) => {
      // isWorth has checked it
      reply.header('content-encoding', encoding).removeHeader('content-length')
      done(null, compressed)
    }, done)
  })
}

function isWorth(request: FastifyRequest, reply: FastifyReply, payload: unknown): boolean {
  if ((typeof payload !== 'string' && !Buffer.isBuffer(payload)) || payload.length < smallestBytes) return false
  if (request.routeOptions.config?.neverCompressed || reply.getHeader('content-encoding') !== undefined) return false
  const type = String(reply.getHeader('content-type') ?? '')
  return compressibleTypes.some((one) => type.startsWith(one)) && !type.startsWith('text/event-stream')
}

/** A text that is the same for everybody: one buffer for each encoding, made at its first request and shared by all responses. */
export type KeptText = { type: string; plain: Buffer; etag: string; compressed: Map<Encoding, Promise<Buffer>> }

/** @param type its media type. */
export function keepText(type: string, text: string): KeptText {
  const plain = Buffer.from(text)
  // Weak: the encodings differ in their bytes, but not in their meaning.
  return { type, plain, etag: `W/"${sha256(plain).toString('base64url').slice(0, 22)}"`, compressed: new Map() }
}

/** Sends the text, or 304 to a client that already has it. */
export async function sendKept(
  request: FastifyRequest,
  reply: FastifyReply,
  { type, plain, etag, compressed }: KeptText,
): Promise<FastifyReply> {
  addVary(reply, 'accept-encoding')
  reply.header('etag', etag)
  if (reply.getHeader('cache-control') === undefined) reply.header('cache-control', 'public, no-cache')
  if (hasTag(headerOf(request, 'if-none-match'), etag)) return reply.code(304).send()
  reply.type(type)
  const encoding = plain.length < smallestBytes ? null : preferredEncoding(headerOf(request, 'accept-encoding'))
  if (!encoding) return reply.send(plain)
  let made = compressed.get(encoding)
  if (!made) compressed.set(encoding, (made = compress(encoding, plain, thorough)))
  return reply.header('content-encoding', encoding).send(await made)
}

/** Whether `If-None-Match` names the tag; compared weakly, as RFC 9110 requires here. */
function hasTag(header: string | undefined, etag: string): boolean {
  const bare = (tag: string): string => (tag.startsWith('W/') ? tag.slice(2) : tag)
  return header?.split(',').some((one) => bare(one.trim()) === bare(etag) || one.trim() === '*') ?? false
}

function headerOf({ headers }: FastifyRequest, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}
