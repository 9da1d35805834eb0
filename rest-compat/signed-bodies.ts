/** Bodies that are needed as they were sent, from clients nobody knows yet: so many bytes at once, and for so long. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { BerthError } from '#src/platform/errors.ts'
import { signedRequestLimits } from '#src/platform/limits/signed-requests.ts'

/** Receives bodies, for one process. */
export type Bodies = {
  /**
   * Receives a body, and does something with it; its place is free again after that.
   * @throws BerthError request_too_large, service_unavailable, invalid_request, unsupported_encoding.
   */
  read<Result>(headers: IncomingHttpHeaders, from: Readable, work: (body: Buffer) => Promise<Result>): Promise<Result>
}

/** Makes the places for bodies. */
export function createBodies(): Bodies {
  let taken = 0
  let takenByLarge = 0
  return {
    async read(headers, from, work) {
      const { bodyBytes, usualBodyBytes, bodiesAtOnce, largeBodiesAtOnce } = signedRequestLimits
      checkHeaders(headers)
      if (taken >= bodiesAtOnce) throw noPlace()
      let isLarge = false
      taken++
      try {
        const body = await receive(from, (bytes) => {
          if (bytes > bodyBytes) throw tooLarge()
          if (isLarge || bytes <= usualBodyBytes) return
          if (takenByLarge >= largeBodiesAtOnce) throw noPlace()
          isLarge = true
          takenByLarge++
        })
        return await work(body)
      } finally {
        taken--
        if (isLarge) takenByLarge--
      }
    },
  }
}

function checkHeaders(headers: IncomingHttpHeaders): void {
  if (Number(headers['content-length'] ?? 0) > signedRequestLimits.bodyBytes) throw tooLarge()
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? ''
  if (encoding !== '' && encoding !== 'identity')
    throw new BerthError(
      'unsupported_encoding',
      'The signature is of the plain body. Send it without a content-encoding.',
    )
}

/** @param check is called with the number of bytes so far. */
async function receive(from: Readable, check: (bytes: number) => void): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  const late = setTimeout(() => from.destroy(tooSlow()), signedRequestLimits.receiveSeconds * 1000)
  try {
    // A body that is refused must not take the connection with it, which has yet to bring the answer.
    for await (const chunk of from.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length
      check(bytes)
      chunks.push(chunk)
    }
  } finally {
    clearTimeout(late)
  }
  return Buffer.concat(chunks, bytes)
}

function tooLarge(): BerthError {
  return new BerthError(
    'request_too_large',
    `The body must have at most ${signedRequestLimits.bodyBytes / 1024 / 1024} MiB, as much as GitHub delivers.`,
  )
}

function noPlace(): BerthError {
  return new BerthError(
    'service_unavailable',
    'Too many deliveries arrive at once. Send this one again in some seconds.',
    {
      retryAfterSeconds: signedRequestLimits.retrySeconds,
    },
  )
}

function tooSlow(): BerthError {
  return new BerthError('invalid_request', `The body must arrive within ${signedRequestLimits.receiveSeconds} s.`)
}
