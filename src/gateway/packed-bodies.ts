/**
 * Request bodies that arrive compressed: gzip, deflate and brotli are decompressed as they arrive. The route's limit
 * counts the decompressed bytes, so a small body that expands to a large one is cut off like any other.
 */
import { PassThrough, type Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { BerthError } from '#src/platform/errors.ts'
import { log } from '#src/platform/log.ts'

const unpackers: Readonly<Record<string, () => NodeJS.ReadWriteStream & Readable>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
}

/** A body as Fastify reads it: it compares the number of bytes that arrived with what the headers said. */
type Body = PassThrough & { receivedEncodedLength?: number }

/** Makes the app accept compressed bodies, except on routes that store files as they are. */
export function unpackBodies(app: FastifyInstance): void {
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const encoding = request.headers['content-encoding']?.trim().toLowerCase()
    if (encoding === undefined || encoding === '' || encoding === 'identity' || request.routeOptions.config?.takesFiles)
      return done(null, payload)
    const make = unpackers[encoding]
    if (!make)
      return done(
        new BerthError(
          'unsupported_encoding',
          'Berth does not support the body’s content-encoding. Send it as gzip, deflate or br, or without compression.',
        ),
      )
    done(null, unpack(request, payload as Readable, make()))
  })
}

function unpack(request: FastifyRequest, packed: Readable, unpacker: NodeJS.ReadWriteStream & Readable): Body {
  const body: Body = new PassThrough()
  body.receivedEncodedLength = 0
  body.on('error', () => {
    /* the reader of the body gets the error; without one it does not matter */
  })
  packed.on('data', (chunk: Buffer) => {
    body.receivedEncodedLength = (body.receivedEncodedLength ?? 0) + chunk.length
  })
  packed.once('error', (error) => body.destroy(error))
  packed.pipe(unpacker)
  unpacker.once('error', (error: Error) => {
    log.debug({ requestId: request.id, reason: error.message }, 'a body could not be decompressed')
    packed.unpipe(unpacker)
    packed.resume() // a client whose body is not read never receives the response
    body.destroy(
      new BerthError(
        'invalid_request',
        'The body does not match its content-encoding. Compress it accordingly, or send it without that header.',
      ),
    )
  })
  unpacker.pipe(body)
  return body
}
