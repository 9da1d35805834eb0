/** Images, documents and search results in Anthropic's format, parsed into parts of a user's message. */
import type { ImagePart, UserPart } from '#src/drivers/models/model.ts'
import type { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import {
  fieldsAt,
  imageAt,
  isBase64,
  listAt,
  optionalTextAt,
  pictureAt,
  textAt,
  wrongMessage,
  type Fields,
} from '../chats/message-shapes.ts'
import { unsupported } from '../chats/selective-parameters.ts'
import { checkCacheControl, checkKeys, flagFrom, isAbsent, needsAnthropic, objectFrom, type Reading } from './shapes.ts'

const keysOf = (...names: string[]): ReadonlySet<string> => new Set(names)

const textKeys = keysOf('type', 'text', 'cache_control', 'citations')

/** A `text` block. @throws BerthError invalid_messages. */
export function readText(reading: Reading, block: Fields, place: string): string {
  checkKeys(block, textKeys, place)
  checkCacheControl(block, place)
  if (!isAbsent(block['citations']) && listAt(block['citations'], `${place}.citations`, limits.chatPartsMax).length > 0)
    needsAnthropic(reading, `${place}.citations`)
  return textAt(block['text'], `${place}.text`)
}

const imageKeys = keysOf('type', 'source', 'cache_control', 'transformations')
const imageTypes = ['image/jpeg', 'image/png', 'image/gif', 'image/webp', 'image/jpg']

/** An `image` block. @throws BerthError invalid_messages. */
export function readImage(reading: Reading, block: Fields, place: string): ImagePart {
  checkKeys(block, imageKeys, place)
  checkCacheControl(block, place)
  const transformations = objectFrom(block, 'transformations', `${place}.transformations`)
  if (transformations) needsAnthropic(reading, `${place}.transformations`)
  const here = `${place}.source`
  const source = fieldsAt(block['source'], here)
  switch (source['type']) {
    case 'base64': {
      checkKeys(source, base64Keys, here)
      if (!imageTypes.some((type) => type === source['media_type']))
        throw wrongMessage(`${here}.media_type`, `must be one of ${imageTypes.join(', ')}.`)
      const url = pictureAt(base64At(source, here), `${here}.data`)
      Object.assign(source, { media_type: url.slice('data:'.length, url.indexOf(';')) }) // Anthropic is sent this body
      return { type: 'image', url, detail: null }
    }
    case 'url': {
      checkKeys(source, urlKeys, here)
      const url = textAt(source['url'], `${here}.url`)
      if (url.startsWith('data:')) throw wrongMessage(`${here}.url`, 'must be an https address. Send data as base64.')
      imageAt(url, null, `${here}.url`)
      return { type: 'image', url, detail: null }
    }
    case 'file':
      throw filesNotKept(here)
    default:
      throw wrongMessage(`${here}.type`, 'must be base64 or url.')
  }
}

const documentKeys = keysOf('type', 'source', 'cache_control', 'citations', 'context', 'title')
const base64Keys = keysOf('type', 'media_type', 'data')
const urlKeys = keysOf('type', 'url')
const contentKeys = keysOf('type', 'content')

/**
 * A `document` block. Its text is a text to models of other formats, with its title and context before it.
 * @throws BerthError invalid_messages, unsupported_parameter.
 */
export function readDocument(reading: Reading, block: Fields, place: string): UserPart[] {
  checkKeys(block, documentKeys, place)
  checkCacheControl(block, place)
  checkCitations(block, place)
  const title = optionalTextAt(block['title'], `${place}.title`)
  const context = optionalTextAt(block['context'], `${place}.context`)
  const before = [title, context].filter((text) => text !== null && text !== '').map((text) => `${text}\n\n`)
  const prefixed = (text: string): UserPart => ({ type: 'text', text: before.join('') + text })
  const here = `${place}.source`
  const source = fieldsAt(block['source'], here)
  switch (source['type']) {
    case 'base64': {
      checkKeys(source, base64Keys, here)
      if (source['media_type'] !== 'application/pdf')
        throw wrongMessage(`${here}.media_type`, 'must be application/pdf. Send plain text with the type text.')
      const file: UserPart = {
        type: 'file',
        filename: title,
        mediaType: 'application/pdf',
        data: base64At(source, here),
      }
      return context === null || context === '' ? [file] : [{ type: 'text', text: context }, file]
    }
    case 'text':
      checkKeys(source, base64Keys, here)
      if (source['media_type'] !== 'text/plain') throw wrongMessage(`${here}.media_type`, 'must be text/plain.')
      return [prefixed(textAt(source['data'], `${here}.data`))]
    case 'content':
      checkKeys(source, contentKeys, here)
      return [...(before.length > 0 ? [prefixed('')] : []), ...readInner(reading, source['content'], `${here}.content`)]
    case 'url':
      checkKeys(source, urlKeys, here)
      checkAddress(source['url'], `${here}.url`)
      needsAnthropic(reading, here)
      return [{ type: 'file', filename: title, mediaType: 'application/pdf', data: '' }] // for the estimate of its tokens
    case 'file':
      throw filesNotKept(here)
    default:
      throw wrongMessage(`${here}.type`, 'must be base64, text, content or url.')
  }
}

/** The texts and images inside a document. */
function readInner(reading: Reading, content: unknown, place: string): UserPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return listAt(content, place, limits.chatPartsMax).map((item, at): UserPart => {
    const here = `${place}[${at}]`
    const block = fieldsAt(item, here)
    if (block['type'] === 'text') return { type: 'text', text: readText(reading, block, here) }
    if (block['type'] === 'image') return readImage(reading, block, here)
    throw wrongMessage(`${here}.type`, 'must be text or image.')
  })
}

const searchKeys = keysOf('type', 'source', 'title', 'content', 'cache_control', 'citations')

/** A `search_result` block: its title, where it is from, and what it says. @throws BerthError invalid_messages. */
export function readSearchResult(reading: Reading, block: Fields, place: string): string {
  checkKeys(block, searchKeys, place)
  checkCacheControl(block, place)
  checkCitations(block, place)
  const texts = listAt(block['content'], `${place}.content`, limits.chatPartsMax).map((item, at) => {
    const here = `${place}.content[${at}]`
    const inner = fieldsAt(item, here)
    if (inner['type'] !== 'text') throw wrongMessage(`${here}.type`, 'must be text.')
    return readText(reading, inner, here)
  })
  return [textAt(block['title'], `${place}.title`), textAt(block['source'], `${place}.source`), ...texts].join('\n\n')
}

const citationsKeys = keysOf('enabled')

function checkCitations(block: Fields, place: string): void {
  const here = `${place}.citations`
  const citations = objectFrom(block, 'citations', here)
  if (!citations) return
  checkKeys(citations, citationsKeys, here)
  if (flagFrom(citations, 'enabled', here) === true)
    throw unsupported(`${here}.enabled`, 'answers come without citations. Leave it out, or send false.')
}

function checkAddress(value: unknown, place: string): void {
  const url = textAt(value, place)
  if (url.length > limits.chatUrlLength || !url.startsWith('https://') || !URL.canParse(url))
    throw wrongMessage(place, `must be an https address of at most ${limits.chatUrlLength} characters.`)
}

function base64At(source: Fields, place: string): string {
  const data = textAt(source['data'], `${place}.data`)
  if (!isBase64(data)) throw wrongMessage(`${place}.data`, 'must be base64.')
  return data
}

function filesNotKept(place: string): BerthError {
  return wrongMessage(`${place}.type`, 'cannot be file: the gateway keeps no files. Send the content as base64.')
}
