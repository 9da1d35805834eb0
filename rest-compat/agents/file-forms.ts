/**
 * A form with one file, as it arrives: the file is passed on as a stream, and nothing else of it is kept but a few small
 * fields. A form that is not exactly that is refused as soon as this shows.
 */
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { agentFileLimits } from '#src/platform/limits/agent-files.ts'
import type { FileFacts } from '#src/resources/agents/files/receiving.ts'

const bytesMax = agentFileLimits.bytes + agentFileLimits.formBytes

/**
 * Reads the form.
 * @param store stores the file.
 * @returns what was said about the file.
 * @throws BerthError invalid_request, request_too_large, timeout; whatever `store` throws.
 */
export async function readFileForm(
  body: Readable,
  contentType: string,
  store: (file: Readable) => Promise<void>,
): Promise<FileFacts> {
  const form = openForm(contentType)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const facts: FileFacts = { filename: null, mediaType: null, expiresInSeconds: null }
  const parts = new Map<string, Promise<void>>()
  let arrivedBytes = 0
  let seenBytes = 0
  const timer = setInterval(() => {
    if (arrivedBytes === seenBytes) reject(tooSlow())
    seenBytes = arrivedBytes
  }, limits.uploadStalledSeconds * 1000)
  const streams: BusboyFileStream[] = []
  form.on('file', (name, stream, filename, _encoding, mediaType) => {
    streams.push(stream)
    stream.on('error', () => undefined) // whoever reads it reports it
    if (parts.has(name)) return reject(invalid(`The form has the field ${shortened(name)} twice. Send it once.`))
    if (name === 'file') Object.assign(facts, { filename: filename ?? null, mediaType })
    const reading = name === 'file' ? store(stream) : name === 'expires_in_seconds' ? readSeconds(stream, facts) : null
    if (!reading)
      return reject(
        invalid(
          name
            ? `The form has an unknown field: ${shortened(name)}. Send file, and expires_in_seconds if you want.`
            : 'The form has a part without a name. Name the file’s part file.',
        ),
      )
    parts.set(name, reading)
    reading.catch(reject)
  })
  form.on('partsLimit', () => reject(invalid('The form has too many parts. Send one file.')))
  form.on('error', () => reject(broken()))
  form.on('finish', resolve)
  body.on('error', () => reject(broken()))
  body.on('close', () => {
    if (!body.readableEnded) reject(broken())
  })
  body.on('data', (piece: Buffer) => {
    arrivedBytes += piece.length
    if (arrivedBytes > bytesMax) reject(tooLong())
  })
  body.pipe(form)
  try {
    await promise
    await Promise.all(parts.values())
  } catch (error) {
    body.unpipe(form)
    body.resume() // so that the client hears of it
    for (const stream of streams) stream.destroy(error as Error) // only errors are thrown here
    await Promise.allSettled(parts.values())
    throw error
  } finally {
    clearInterval(timer)
  }
  if (!parts.has('file')) throw noFile()
  return facts
}

/** @throws BerthError invalid_request. */
function openForm(contentType: string): BusboyInstance {
  if (!/^multipart\/form-data\s*;/i.test(contentType))
    throw invalid('Send the file as a form: Content-Type: multipart/form-data, with a part named file.')
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      preservePath: true, // names are read by src/resources/agents/files/names.ts
      isPartAFile: () => true, // so that every part is seen before its content
      limits: { headerSize: agentFileLimits.formHeaderBytes, headerPairs: 16, parts: agentFileLimits.formParts },
    })
  } catch {
    throw invalid('The Content-Type names no boundary, or one that cannot be used. Let your HTTP client set it.')
  }
}

async function readSeconds(stream: BusboyFileStream, facts: FileFacts): Promise<void> {
  let arrivedBytes = 0
  stream.on('data', (piece: Buffer) => {
    arrivedBytes += piece.length
    if (arrivedBytes > agentFileLimits.fieldBytes) stream.destroy(invalid('expires_in_seconds must be a whole number.'))
  })
  const given = (await buffer(stream)).toString()
  facts.expiresInSeconds = /^\d{1,12}$/.test(given) ? Number(given) : Number.NaN
}

function shortened(name: string): string {
  return JSON.stringify(name.slice(0, limits.nameLength))
}

function invalid(sentence: string): BerthError {
  return new BerthError('invalid_request', sentence)
}

function noFile(): BerthError {
  return invalid('The form has no file. Send it in a part named file.')
}

function broken(): BerthError {
  return invalid('The form is not complete, or not multipart/form-data. Send it again.')
}

function tooSlow(): BerthError {
  return new BerthError('timeout', 'The file arrived too slowly, so the upload was ended. Send it again.')
}

function tooLong(): BerthError {
  return new BerthError(
    'request_too_large',
    `A file may have at most ${agentFileLimits.bytes / 1024 / 1024} MiB. Send a smaller one.`,
  )
}
