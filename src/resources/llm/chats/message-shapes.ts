/**
 * Small parsers for the messages of every route. They are written by hand and not with a schema library, because
 * thousands of requests a second pass here, and an error must name the place, such as `messages[2].content[0]`.
 */
import { isOfBase64 } from '#src/platform/json/base64.ts'
import { BerthError } from '#src/platform/errors.ts'
import { imageTypeOf } from '#src/platform/shapes/image-types.ts'
import { limits } from '#src/platform/limits.ts'
import { imageDetails, type ImagePart, type UserPart, type ToolCall } from '#src/drivers/models/model.ts'

/** A JSON object whose keys are not known yet. */
export type Fields = Readonly<Record<string, unknown>>

/** The form of tool names. */
export const toolName = /^[a-zA-Z0-9_-]{1,64}$/

/** The 400 for an error inside `messages`. The sentence begins with the place and quotes no value of the caller's. */
export function wrongMessage(place: string, sentence: string): BerthError {
  return new BerthError('invalid_messages', `${place} ${sentence}`)
}

/** The value as an object. @throws BerthError invalid_messages. */
export function fieldsAt(value: unknown, place: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw wrongMessage(place, 'must be an object.')
  return value as Fields // every key is read as unknown
}

/** What a provider attached to a call, as a part of that call; none when it is left out. @throws BerthError invalid_messages. */
export function extraAt(value: unknown, place: string): Pick<ToolCall, 'extra'> {
  return value === undefined || value === null ? {} : { extra: fieldsAt(value, place) }
}

/** The value as text. @throws BerthError invalid_messages. */
export function textAt(value: unknown, place: string): string {
  if (typeof value !== 'string') throw wrongMessage(place, 'must be a string.')
  return value
}

/** The value as text that is not empty and short enough for an id or a name. @throws BerthError invalid_messages. */
export function idAt(value: unknown, place: string): string {
  if (typeof value !== 'string' || value === '' || value.length > limits.chatIdLength)
    throw wrongMessage(place, `must be a string of 1 to ${limits.chatIdLength} characters.`)
  return value
}

/** The value as text, or null when it is absent. @throws BerthError invalid_messages. */
export function optionalTextAt(value: unknown, place: string): string | null {
  return value === undefined || value === null ? null : textAt(value, place)
}

/** The value as a list of at most so many. @throws BerthError invalid_messages. */
export function listAt(value: unknown, place: string, most: number): readonly unknown[] {
  if (value === undefined) throw wrongMessage(place, 'is required: it must be a list.')
  if (!Array.isArray(value)) throw wrongMessage(place, 'must be a list.')
  if (value.length > most) throw wrongMessage(place, `has more than ${most} items. Send fewer.`)
  return value
}

/** A data URL: its media type without parameters, lower case, and its base64. Undefined for any other text. */
export function parseDataUrl(url: string): { mediaType: string; data: string } | undefined {
  const comma = url.startsWith('data:') ? url.indexOf(',') : -1
  if (comma < 0 || comma > limits.chatIdLength) return undefined
  const [mediaType = '', ...parameters] = url.slice('data:'.length, comma).toLowerCase().split(';')
  const data = url.slice(comma + 1)
  return parameters.at(-1) === 'base64' && /^[\w.+-]+\/[\w.+-]+$/.test(mediaType) && isBase64(data)
    ? { mediaType, data }
    : undefined
}

/** Whether the text is base64 and not empty. */
export function isBase64(text: string): boolean {
  return text !== '' && isOfBase64(text)
}

/** How closely to look at an image; null when it is not said. @throws BerthError invalid_messages. */
export function detailAt(value: unknown, place: string): ImagePart['detail'] {
  if (value === undefined || value === null) return null
  const detail = imageDetails.find((one) => one === value)
  if (!detail) throw wrongMessage(place, `must be one of ${imageDetails.join(', ')}.`)
  return detail
}

/** An image part. @throws BerthError invalid_messages unless the URL is https or a data URL of an image. */
export function imageAt(url: string, detail: ImagePart['detail'], place: string): ImagePart {
  if (!url.startsWith('data:') && url.length > limits.chatUrlLength)
    throw wrongMessage(
      place,
      `is an address of more than ${limits.chatUrlLength} characters. Send a shorter one, or the image itself as a data URL.`,
    )
  const parsed = parseDataUrl(url)
  if (parsed?.mediaType.startsWith('image/')) return { type: 'image', url: pictureAt(parsed.data, place), detail }
  if (!url.startsWith('https://') || !URL.canParse(url))
    throw wrongMessage(place, 'must be an https address, or a data URL of an image such as data:image/png;base64,….')
  return { type: 'image', url, detail }
}

/** The data URL of an image, whose bytes say what kind it is. @throws BerthError invalid_messages for no kind that models accept. */
export function pictureAt(data: string, place: string): string {
  const mediaType = imageTypeOf(data)
  if (!mediaType)
    throw wrongMessage(
      place,
      'is no image that models accept, by its first bytes. Send a PNG, a JPEG, a GIF or a WebP.',
    )
  return `data:${mediaType};base64,${data}`
}

const audioFormats: Readonly<Record<string, string>> = {
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'audio/wave': 'wav',
  'audio/mpeg': 'mp3',
  'audio/mp3': 'mp3',
}

/** A part for bytes of this media type: an image, audio that models accept, or a file. @throws BerthError invalid_messages. */
export function partOfBytes(mediaType: string, data: string, filename: string | null, place: string): UserPart {
  const format = audioFormats[mediaType]
  if (mediaType.startsWith('image/')) return { type: 'image', url: pictureAt(data, place), detail: null }
  return format ? { type: 'audio', format, data } : { type: 'file', filename, mediaType, data }
}
