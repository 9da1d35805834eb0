/**
 * Strict parsing of callers' JSON: values that Postgres or a resolver cannot handle are refused. Used for every
 * surface, for GraphQL and for web socket messages.
 */
import { isUtf8 } from 'node:buffer'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { BerthError } from '#src/platform/errors.ts'
import { parseExactly } from './numbers.ts'
import { readInPieces, type Json, type JsonLimits } from './pieces.ts'
import { notJson, prototypeKey, tooDeep } from './refusals.ts'
import { limits } from '#src/platform/limits.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The raw body, for the digest of an idempotency key; null when there was none. */
    rawBody: Buffer | null
  }
  interface FastifyContextConfig {
    /** This route refuses what it does not know, so a key that is not read is refused too: `__proto__`. */
    refusesUnknownKeys?: boolean
  }
}

/**
 * Parses a JSON text. An empty one is undefined, for optional bodies.
 * @param refusesUnknownKeys as checkJson.
 * @throws BerthError invalid_request naming the error, without quoting the text.
 */
export function parseJson(text: string | Buffer, refusesUnknownKeys = false): Json | undefined {
  if (text.length === 0) return undefined
  if (typeof text !== 'string' && !isUtf8(text)) throw notUtf8()
  const source = typeof text === 'string' ? text : text.toString('utf8')
  let value: Json
  try {
    value = parseExactly(source) as Json // what is parsed is JSON
  } catch (error) {
    throw error instanceof BerthError ? error : notJson()
  }
  return typeof text !== 'string' && isPlain(source) ? value : checkJson(value, refusesUnknownKeys)
}

/**
 * The same for a body of any size: a large one is parsed in steps, so that the event loop is not blocked.
 * @param most the limits of a large one.
 * @throws BerthError invalid_request, request_too_large.
 */
export async function readJson(bytes: Buffer, most: JsonLimits): Promise<Json | undefined> {
  if (bytes.length <= limits.jsonInlineBytes) return parseJson(bytes, most.refusesUnknownKeys)
  await nextTurn() // its chunks were just joined, so give way to the event loop
  if (!isUtf8(bytes)) throw notUtf8()
  await nextTurn()
  return readInPieces(bytes, most)
}

function notUtf8(): BerthError {
  return new BerthError('invalid_request', 'The body is not valid UTF-8. Send JSON encoded as UTF-8.')
}

/**
 * Whether a text, decoded from UTF-8, cannot contain anything that `checkJson` refuses or drops: no escaped character,
 * no `__proto__`, too few brackets to be nested too deep. That is true of most bodies, and cheaper than walking the
 * value.
 */
function isPlain(source: string): boolean {
  return !source.includes('\\u') && !source.includes('__proto__') && hasFew(source, '{') && hasFew(source, '[')
}

function hasFew(source: string, bracket: string): boolean {
  let at = -1
  for (let found = 0; found < limits.jsonDepth / 2; found++) {
    at = source.indexOf(bracket, at + 1)
    if (at < 0) return true
  }
  return false
}

/**
 * Refuses what cannot be stored or is an attack: NUL, lone surrogates, and nesting deeper than 64. A key `__proto__` is dropped.
 * @param refusesUnknownKeys whether that key is refused instead.
 * @returns the same value.
 * @throws BerthError invalid_request.
 */
export function checkJson<Value>(value: Value, refusesUnknownKeys = false): Value {
  check(value, 1, refusesUnknownKeys)
  return value
}

function check(value: unknown, depth: number, refusesUnknownKeys: boolean): void {
  if (typeof value === 'string') return checkText(value)
  if (typeof value !== 'object' || value === null) return
  if (depth > limits.jsonDepth) throw tooDeep()
  if (Array.isArray(value)) {
    for (const item of value) check(item, depth + 1, refusesUnknownKeys)
    return
  }
  for (const [key, item] of Object.entries(value)) {
    checkText(key)
    // An own key of this name is harmless until it is copied by assignment.
    if (key !== '__proto__') check(item, depth + 1, refusesUnknownKeys)
    else if (refusesUnknownKeys) throw prototypeKey()
    else delete (value as Record<string, unknown>)[key]
  }
}

/** Refuses a text that cannot be stored. @throws BerthError invalid_request. */
export function checkText(text: string): void {
  if (text.includes('\0'))
    throw new BerthError(
      'invalid_request',
      'A text holds the character NUL (\\u0000), which cannot be stored. Remove it.',
    )
  if (!text.isWellFormed())
    throw new BerthError(
      'invalid_request',
      'A text holds half of a surrogate pair, so it is not Unicode. Send whole characters.',
    )
}

/**
 * Makes the app and its scopes read bodies as JSON and refuse every other type. The maximum size is each route's
 * `bodyLimit`.
 */
export function acceptJsonBodies(app: FastifyInstance): void {
  app.decorateRequest('rawBody', null)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>(
    /^application\/(?:[\w.-]+\+)?json(?:\s*;|$)/i,
    { parseAs: 'buffer' },
    (request, body, done) => {
      request.rawBody = body
      const { refusesUnknownKeys = false } = request.routeOptions.config
      if (body.length > limits.jsonInlineBytes)
        return void readJson(body, {
          // Bodies that may have more bytes may also have more parts.
          parts: request.routeOptions.bodyLimit > limits.agentsBodyBytes ? limits.conversationParts : limits.jsonParts,
          numbers: limits.jsonNumbers,
          refusesUnknownKeys,
        }).then((value) => done(null, value), done)
      try {
        done(null, parseJson(body, refusesUnknownKeys))
      } catch (error) {
        done(error as BerthError) // parseJson throws nothing else
      }
    },
  )
  app.addContentTypeParser<Buffer>('*', { parseAs: 'buffer' }, (_request, body, done) => {
    if (body.length === 0) done(null, undefined)
    else done(new BerthError('invalid_request', 'Send JSON, with the header content-type: application/json.'))
  })
}

const frameworkErrors: Readonly<Record<string, BerthError>> = {
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: new BerthError(
    'invalid_request',
    'The body’s length does not match its content-length.',
  ),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: new BerthError(
    'invalid_request',
    'Send JSON, with the header content-type: application/json.',
  ),
  FST_ERR_BAD_URL: new BerthError('invalid_request', 'The URL is not valid: its percent encoding is wrong.'),
}

/** How much more of a body that is too large is read and discarded, bytes, so that its sender can read the refusal. The time limit is that of any body. */
const discardedBytesMax = 64 * 1024 * 1024

/** A refusal of the HTTP library as a BerthError; any other thrown value unchanged. For the error handler of every scope. */
export function refusedRequest(thrown: unknown, request: FastifyRequest, reply: FastifyReply): unknown {
  if (typeof thrown !== 'object' || thrown === null || !('code' in thrown) || typeof thrown.code !== 'string')
    return thrown
  // Node's error for a client that disconnected in the middle of its body: nobody reads the answer, and it must not be logged as our failure.
  if (thrown.code === 'ECONNRESET' && 'message' in thrown && thrown.message === 'aborted')
    return new BerthError('invalid_request', 'The connection ended before the body did.')
  if (thrown.code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    readOn(request, reply)
    return bodyTooLarge(request.routeOptions.bodyLimit)
  }
  return frameworkErrors[thrown.code] ?? thrown
}

/** The 413 for a body, with the limit. */
export function bodyTooLarge(bytesMax: number): BerthError {
  return new BerthError(
    'request_too_large',
    `The body is larger than the ${inUnits(bytesMax)} that this URL accepts. Send less at once.`,
  )
}

/** Bytes in readable units: `4 MiB`, `700 KiB`. */
function inUnits(bytes: number): string {
  const kibibytes = bytes / 1024
  return kibibytes >= 1024 ? `${+(kibibytes / 1024).toFixed(1)} MiB` : `${+kibibytes.toFixed(1)} KiB`
}

/** Drains the rest of a refused body: a client whose connection is closed while it still sends never reads the reason. */
function readOn({ raw }: FastifyRequest, reply: FastifyReply): void {
  reply.removeHeader('connection') // the library closes it here
  raw.unpipe() // from what unpacked it
  let bytes = 0
  raw.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > discardedBytesMax) raw.socket.destroy()
  })
  raw.resume()
}
