/** What a file is called, and what kind of file it is. */
import { isUtf8 } from 'node:buffer'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'

/** How many bytes of a file say what kind of file it is. */
export const sniffedBytes = 1024

const unknownType = 'application/octet-stream'
const mediaTypeForm = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/

/** Kinds of files by their first bytes, in Latin-1. */
const byBeginning: readonly (readonly [mediaType: string, beginning: string, at: number])[] = [
  ['application/pdf', '%PDF-', 0],
  ['image/png', '\x89PNG\r\n\x1a\n', 0],
  ['image/jpeg', '\xff\xd8\xff', 0],
  ['image/gif', 'GIF8', 0],
  ['image/webp', 'WEBP', 8],
]
const byEnding: Readonly<Record<string, string>> = {
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  json: 'application/json',
  html: 'text/html',
}
const endings: Readonly<Record<string, string>> = {
  'application/pdf': 'pdf',
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  ...Object.fromEntries(Object.entries(byEnding).map(([ending, mediaType]) => [mediaType, ending])),
}

/**
 * The name that a file is kept under: the last component of the one that was given, or null without one.
 * @throws BerthError invalid_request.
 */
export function readFileName(given: string | null): string | null {
  const name = given === null ? '' : given.slice(Math.max(given.lastIndexOf('/'), given.lastIndexOf('\\')) + 1)
  if (name === '') return null
  if (name.length > limits.nameLength)
    throw new BerthError('invalid_request', `The file’s name may have at most ${limits.nameLength} characters.`)
  if (name === '.' || name === '..' || /[<>:"|?*\p{Cc}\p{Cs}]/u.test(name))
    throw new BerthError(
      'invalid_request',
      'The file’s name may not be . or .., and may not contain control characters or any of < > : " | ? *. Send it under another name.',
    )
  return name
}

/** The name of a file that was sent without one. */
export function unnamed(mediaType: string): string {
  const ending = endings[mediaType]
  return ending ? `unnamed.${ending}` : 'unnamed'
}

/** The media type in a request, without parameters; null without one. @throws BerthError invalid_request. */
export function readMediaType(given: string | null): string | null {
  const mediaType = (given ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (mediaType === '') return null
  if (mediaTypeForm.test(mediaType)) return mediaType
  throw new BerthError(
    'invalid_request',
    'The file’s media type must be like application/pdf. Correct it, or leave it out.',
  )
}

/**
 * What kind of file it is: what its sender says, unless they say nothing or only what is said without looking
 * (`application/octet-stream`, `text/plain`); then what its first bytes and its name show.
 */
export function mediaTypeOf(given: string | null, name: string | null, beginning: Buffer): string {
  if (given !== null && given !== unknownType && given !== 'text/plain') return given
  const shown = byBeginning.find(([, bytes, at]) =>
    beginning.subarray(at, at + bytes.length).equals(Buffer.from(bytes, 'latin1')),
  )
  if (shown) return shown[0]
  if (!isText(beginning)) return unknownType
  if (given === 'text/plain') return given
  return byEnding[name?.slice(name.lastIndexOf('.') + 1).toLowerCase() ?? ''] ?? unknownType
}

/** Whether the first bytes of a file are text; its last character may be cut. */
function isText(beginning: Buffer): boolean {
  if (beginning.includes(0)) return false
  return [0, 1, 2, 3].some((cut) => isUtf8(beginning.subarray(0, Math.max(0, beginning.length - cut))))
}
