/**
 * Masks responses from the hosts of a machine's secrets: a host that echoes a request would give the machine a secret that
 * it does not hold. Each byte of a secret becomes a star, so that lengths stay the same.
 */
import type { IncomingMessage } from 'node:http'
import { Transform, type Duplex } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import { prepareMasker, type Masker } from '#src/platform/masking.ts'
import type { Answer, GuestMachine } from './passages.ts'
import type { MachineSecret } from './secrets.ts'

/**
 * How many secrets of a machine are still masked after they were rotated or archived; the least recently used one is
 * evicted.
 */
export const secretsKept = 200
/** The maximum number of nested content codings that are decoded. */
const codingsMax = 3

/** The decoders of compressed bodies, by content coding (RFC 9110 §8.4.1). */
const unpackers: Readonly<Record<string, () => Duplex>> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  deflate: () => createInflate(),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress(),
}

/**
 * The masker for the secrets of a machine, including those that it had before.
 * @throws BerthError when they are too many.
 */
export async function maskerOf(machine: GuestMachine, secrets: readonly MachineSecret[]): Promise<Masker> {
  const { masked } = machine
  for (const { credentialId, secret } of secrets) masked.secrets.set(`${credentialId} ${secret}`, secret)
  const key = JSON.stringify([...masked.secrets.values()].sort())
  if (masked.key === key && masked.masker) return masked.masker
  masked.key = key
  masked.masker = prepareMasker([...masked.secrets.values()])
  return masked.masker
}

/** Headers as a flat list of names and values, masked; the length of the body stays. */
export function maskedHeaders(masker: Masker, headers: readonly string[]): string[] {
  return headers.map((text, at) =>
    at % 2 === 1 && headers[at - 1]?.toLowerCase() === 'content-length' ? text : maskedLatin1(masker, text),
  )
}

function maskedLatin1(masker: Masker, text: string): string {
  const masking = masker.stream()
  return Buffer.concat([masking.push(Buffer.from(text, 'latin1')), masking.end()]).toString('latin1')
}

/** Masking as a step in a stream's pipeline. */
export function maskingStep(masker: Masker): Transform {
  const masking = masker.stream({ keepsLength: true })
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) => done(null, masking.push(chunk)),
    flush: (done) => done(null, masking.end()),
  })
}

/**
 * How the body of a response is decoded. Requests ask for `identity`; if a host compresses anyway, the body is decoded.
 * @returns the decoders, none for an uncompressed body; or what the guest is told when it cannot be decoded.
 */
export function unpackingSteps({
  headers,
  statusCode,
}: Pick<IncomingMessage, 'headers' | 'statusCode'>): Duplex[] | Answer {
  const codings = String(headers['content-encoding'] ?? '')
    .toLowerCase()
    .split(',', codingsMax + 1)
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity')
  if (codings.length === 0) return []
  const known = codings.flatMap((coding) => (Object.hasOwn(unpackers, coding) ? (unpackers[coding] ?? []) : []))
  if (known.length < codings.length || codings.length > codingsMax || statusCode === 206) {
    return {
      status: 502,
      rule: 'answer packed',
      sentence:
        'The host compressed its response in a way that cannot be searched for secrets of this VM, so it is not passed on.',
    }
  }
  return known.reverse().map((make) => make()) // codings are listed in the order in which they were applied
}
