/** Bodies that are needed as they were sent, from clients nobody knows yet: so many bytes at once, and for so long. */
import type { FastifyRequest } from 'fastify'
import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { BerthError } from '#src/platform/errors.ts'
import { signedRequestLimits } from '#src/platform/limits/signed-requests.ts'
import { refuseEncoding } from './byte-streams.ts'

/** Receives bodies. */
export type Bodies = {
  /**
   * Receives a body, and does something with it; its place is free again after that.
   * @throws BerthError request_too_large, service_unavailable, invalid_request, unsupported_encoding.
   */
  read<Result>(
    request: Pick<FastifyRequest, 'headers' | 'ip'>,
    from: Readable,
    work: (body: Buffer) => Promise<Result>,
  ): Promise<Result>
}

/** What bodies take. `bytes` and `large` are limited for each address too, so that no stranger has all of them. */
type Taken = { received: number; large: number; bytes: number; worked: number }

/** All signed bodies of this process. */
export const signedBodies = createBodies()

/** Makes places for bodies. A sender that is slow takes none from others but that for its bytes so far. */
export function createBodies({
  receiveSeconds = signedRequestLimits.receiveSeconds,
}: {
  receiveSeconds?: number
} = {}): Bodies {
  const { bodyBytes, usualBodyBytes, heldBytes, bodiesAtOnce, largeBodiesAtOnce, receivedAtOnce, addressShare } =
    signedRequestLimits
  const most: Taken = { received: receivedAtOnce, large: largeBodiesAtOnce, bytes: heldBytes, worked: bodiesAtOnce }
  const all = nothing()
  const ofAddresses = new Map<string, Taken>()
  return {
    async read({ headers, ip }, from, work) {
      checkHeaders(headers)
      const [own, ofAddress] = [nothing(), ofAddresses.get(ip) ?? nothing()]
      ofAddresses.set(ip, ofAddress)
      const take = (what: keyof Taken, count: number): void => {
        const mostOfAddress = what === 'large' || what === 'bytes' ? most[what] * addressShare : most[what]
        if (all[what] + count > most[what] || ofAddress[what] + count > mostOfAddress) throw noPlace()
        for (const taken of [all, ofAddress, own]) taken[what] += count
      }
      try {
        take('received', 1)
        const body = await receive(from, receiveSeconds, (chunkBytes) => {
          if (own.bytes + chunkBytes > bodyBytes) throw tooLarge()
          if (own.large === 0 && own.bytes + chunkBytes > usualBodyBytes) take('large', 1)
          take('bytes', chunkBytes)
        })
        take('worked', 1)
        return await work(body)
      } finally {
        for (const what of Object.keys(own) as (keyof Taken)[])
          for (const taken of [all, ofAddress]) taken[what] -= own[what]
        if (ofAddress.received === 0) ofAddresses.delete(ip)
      }
    },
  }
}

function nothing(): Taken {
  return { received: 0, large: 0, bytes: 0, worked: 0 }
}

function checkHeaders(headers: IncomingHttpHeaders): void {
  if (Number(headers['content-length'] ?? 0) > signedRequestLimits.bodyBytes) throw tooLarge()
  refuseEncoding(headers, 'The signature is of the plain body. Send it without a content-encoding.')
}

/** @param take is called with the size of each chunk before it is kept, and throws to refuse it. */
async function receive(from: Readable, seconds: number, take: (bytes: number) => void): Promise<Buffer> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(tooSlow()), seconds * 1000)
  // A body that is refused must not take the connection with it, which has yet to bring the answer.
  const chunks: AsyncIterator<Buffer> = from.iterator({ destroyOnReturn: false })
  const received: Buffer[] = []
  try {
    for (;;) {
      const next = await Promise.race([chunks.next(), late])
      if (next.done) return Buffer.concat(received)
      take(next.value.length)
      received.push(next.value)
    }
  } finally {
    clearTimeout(timer)
    void Promise.resolve(chunks.return?.()).catch(() => undefined) // whoever sent the rest is gone
  }
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
