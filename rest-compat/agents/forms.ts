/**
 * A form as it arrives: each part is passed on as a stream as soon as it begins. A form that is cut, endless or too slow
 * is refused as soon as this shows.
 */
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy'
import { Transform, type Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'

/** Read of a form in one turn, in bytes. */
const stepBytes = 16_384

/** A part of a form. `name` and `filename` are as they were sent, and empty or undefined when they were not. */
export type FormPart = { name: string; stream: BusboyFileStream; filename: string | undefined; mediaType: string }

/** What a form may be. `secondsMax`: from its first byte to its last. */
export type FormLimits = { bytes: number; parts: number; partHeaderBytes: number; secondsMax?: number }

/** What callers are told: of a request that is no form, of more parts than allowed, and of too many bytes. */
export type FormSentences = { notAForm: string; tooManyParts: string; tooLong: () => BerthError }

/**
 * Reads the form.
 * @param take reads one part to its end; it throws at once for one that may not be there.
 * @throws BerthError invalid_request, request_too_large, timeout; whatever `take` throws.
 */
export async function readForm(
  body: Readable,
  contentType: string,
  most: FormLimits,
  sentences: FormSentences,
  take: (part: FormPart) => Promise<void>,
): Promise<void> {
  const form = openForm(contentType, most, sentences)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const readings: Promise<void>[] = []
  const streams: BusboyFileStream[] = []
  let arrivedBytes = 0
  let seenBytes = 0
  const stalling = setInterval(() => {
    if (arrivedBytes === seenBytes) reject(tooSlow())
    seenBytes = arrivedBytes
  }, limits.uploadStalledSeconds * 1000)
  const ending = most.secondsMax === undefined ? undefined : setTimeout(() => reject(tooSlow()), most.secondsMax * 1000)
  form.on('file', (name, stream, filename, _encoding, mediaType) => {
    streams.push(stream)
    stream.on('error', () => undefined) // whoever reads it reports it
    const reading = (async () => take({ name, stream, filename, mediaType }))()
    readings.push(reading)
    reading.catch(reject)
  })
  form.on('partsLimit', () => reject(invalidForm(sentences.tooManyParts)))
  form.on('error', () => reject(broken()))
  form.on('finish', resolve)
  body.on('error', () => reject(broken()))
  body.on('close', () => {
    if (!body.readableEnded) reject(broken())
  })
  body.on('data', (piece: Buffer) => {
    arrivedBytes += piece.length
    if (arrivedBytes > most.bytes) reject(sentences.tooLong())
  })
  const steps = inSteps()
  body.pipe(steps).pipe(form)
  try {
    await promise
    await Promise.all(readings)
  } catch (error) {
    body.unpipe(steps)
    steps.destroy()
    body.resume() // so that the client hears of it
    for (const stream of streams) stream.destroy(error as Error) // only errors are thrown here
    await Promise.allSettled(readings)
    throw error
  } finally {
    clearInterval(stalling)
    clearTimeout(ending)
  }
}

/** Passes on small pieces, each in a turn of its own: a piece of nothing but boundaries is a part for every few bytes. */
function inSteps(): Transform {
  return new Transform({
    transform(piece: Buffer, _encoding, done) {
      const pass = async (): Promise<void> => {
        for (let at = 0; at < piece.length; at += stepBytes) {
          this.push(piece.subarray(at, at + stepBytes))
          if (at + stepBytes < piece.length) await setImmediate()
        }
      }
      pass().then(() => done(), done)
    },
  })
}

/** The text of a small field; undefined as soon as it is longer than it may be. */
export async function readField(stream: BusboyFileStream, bytesMax: number): Promise<string | undefined> {
  let arrivedBytes = 0
  const tooLong = new Error('a field is too long')
  stream.on('data', (piece: Buffer) => {
    arrivedBytes += piece.length
    if (arrivedBytes > bytesMax) stream.destroy(tooLong)
  })
  try {
    return (await buffer(stream)).toString()
  } catch (error) {
    if (error === tooLong) return undefined
    throw error
  }
}

/** A part's name for a sentence. */
export function shortenedName(name: string): string {
  return JSON.stringify(name.slice(0, limits.nameLength))
}

/** The error for a form that is not as it must be. */
export function invalidForm(sentence: string): BerthError {
  return new BerthError('invalid_request', sentence)
}

/** @throws BerthError invalid_request. */
function openForm(
  contentType: string,
  { parts, partHeaderBytes }: FormLimits,
  { notAForm }: FormSentences,
): BusboyInstance {
  if (!/^multipart\/form-data\s*;/i.test(contentType)) throw invalidForm(notAForm)
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      preservePath: true, // names are read by whoever keeps the files
      isPartAFile: () => true, // so that every part is seen before its content
      limits: { headerSize: partHeaderBytes, headerPairs: 16, parts },
    })
  } catch {
    throw invalidForm('The Content-Type names no boundary, or one that cannot be used. Let your HTTP client set it.')
  }
}

function broken(): BerthError {
  return invalidForm('The form is not complete, or not multipart/form-data. Send it again.')
}

function tooSlow(): BerthError {
  return new BerthError('timeout', 'The form arrived too slowly, so the upload was ended. Send it again.')
}
