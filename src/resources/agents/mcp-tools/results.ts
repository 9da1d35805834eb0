/**
 * Results of tool servers' tools as content blocks for sessions and models: text, images, documents, and a description
 * of anything else.
 */
import { imageTypeOf } from '#src/platform/shapes/image-types.ts'
import { isUtf8 } from 'node:buffer'
import { fieldsOf } from '#src/drivers/mcp/messages.ts'
import { isBase64 } from '#src/platform/json/base64.ts'
import { bodyText, isLargeJson } from '#src/platform/json/text.ts'
import { limits } from '#src/platform/limits.ts'
import {
  answered,
  cutEnd,
  failed,
  resultLimits,
  type ResultBlock,
  type ToolResult,
} from '#src/resources/agents/tools/results.ts'

/** A block of a result, of which nothing is certain. */
type McpContent = Readonly<Record<string, unknown>>

/** How a PDF begins; a whole one ends with `%%EOF` within its last kibibyte. One that is cut short would be refused too. */
const pdfBegins = Buffer.from('%PDF-')
const pdfEndBytes = 1024
/** How many characters of a name or a URL are shown. */
const nameCharacters = 300
const descriptionCharacters = 2_000
/** A block that is not known is given as JSON up to this length. */
const unknownCharacters = 2_000

/**
 * The result as it is logged and sent to the model. What is understood is shown, and the rest told in words: the tool ran,
 * so a result that is lost would make the model run it again.
 */
export async function mcpToolResult(given: unknown): Promise<ToolResult> {
  const fields = fieldsOf(given)
  if (!fields) return answered(await shownJson(given))
  const { content, structuredContent, isError } = fields
  const listed = Array.isArray(content) ? content : content === undefined || content === null ? [] : [content]
  const blocks = bounded([
    ...listed.map(blockOf),
    ...(isFlag(isError) ? [] : [textBlock('[The result has an isError that is neither true nor false.]')]),
  ])
  const other = structuredContent ?? otherFields(fields)
  const text =
    blocks.length > 0
      ? blocks.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join('\n')
      : other === null
        ? '(no content)'
        : await shownJson(other)
  const result = isError === true ? failed(text) : answered(text)
  return blocks.some(({ type }) => type !== 'text') ? { ...result, content: blocks } : result
}

const knownFields: ReadonlySet<string> = new Set(['_meta', 'content', 'structuredContent', 'isError', 'resultType'])

/** What a result has that the protocol does not know; null for nothing. */
function otherFields(fields: McpContent): McpContent | null {
  const others = Object.entries(fields).filter(([key]) => !knownFields.has(key))
  return others.length === 0 ? null : Object.fromEntries(others)
}

/** A text as it is, anything else as JSON. */
async function shownJson(value: unknown): Promise<string> {
  return typeof value === 'string' ? value : String(await bodyText(value))
}

function isFlag(value: unknown): boolean {
  return value === undefined || value === null || typeof value === 'boolean'
}

function blockOf(given: unknown): ResultBlock {
  if (typeof given === 'string') return textBlock(given)
  const content = fieldsOf(given)
  if (!content) return textBlock('[Something that is no block of content.]')
  const { type, text, data, mimeType } = content
  const resource = fieldsOf(content['resource'])
  if (type === 'text' && (typeof text === 'string' || typeof text === 'number' || typeof text === 'boolean'))
    return textBlock(String(text))
  if (type === 'image') return imageBlock(data) ?? cannotBeShown('An image', mimeType, data)
  if (type === 'audio') return cannotBeShown('A sound', mimeType, data)
  if (type === 'resource_link') return textBlock(linkText(content))
  if (type !== 'resource' || !resource) return textBlock(unknownText(content))
  const { uri, blob } = resource
  if (typeof resource['text'] === 'string') return textBlock(`${shown(uri)}\n${resource['text']}`)
  return (
    imageBlock(blob) ??
    documentBlock(blob, shown(uri)) ??
    plainTextBlock(resource) ??
    cannotBeShown(`The resource ${shown(uri)}`, resource['mimeType'], blob)
  )
}

/** A block that is not known: its type, and what it says where that is short. */
function unknownText({ type, ...rest }: McpContent): string {
  const name = shown(type)
  const kind = name === '' ? 'without a type' : `of the type ${name}`
  const content = isLargeJson(rest, unknownCharacters) ? '' : `: ${JSON.stringify(rest)}`
  return `[Content ${kind}, which cannot be shown here${content}]`
}

/** A link in words: what it leads to, and where. */
function linkText({ name, title, description, uri, mimeType, size }: McpContent): string {
  const about = [shown(mimeType), typeof size === 'number' && size >= 0 ? `${size} bytes` : '']
    .filter(Boolean)
    .join(', ')
  const called = [shown(title ?? name), shown(uri)].filter(Boolean).join(': ')
  return [`${called}${about && ` (${about})`}`, shown(description, descriptionCharacters)].filter(Boolean).join('\n')
}

/** A PDF, if the base64 is one, and not too large. */
function documentBlock(data: unknown, title: string): ResultBlock | null {
  if (!isPacked(data) || sizeOf(data) > resultLimits.imageBytes) return null
  const bytes = Buffer.from(data, 'base64')
  const isWhole = bytes.subarray(0, 5).equals(pdfBegins) && bytes.subarray(-pdfEndBytes).includes('%%EOF')
  if (!isWhole) return null
  const source = { type: 'base64', media_type: 'application/pdf', data } as const
  return { type: 'document', source, title: title === '' ? null : title, context: null }
}

/** The text of a resource that was packed although it is one. */
function plainTextBlock({ uri, mimeType, blob }: McpContent): ResultBlock | null {
  const isText = /^(?:text\/|application\/(?:json|xml|yaml|javascript)(?:;|$))/.test(shown(mimeType))
  if (!isText || !isPacked(blob)) return null
  const bytes = Buffer.from(blob, 'base64')
  return isUtf8(bytes) ? textBlock(`${shown(uri)}\n${bytes.toString('utf8')}`) : null
}

function textBlock(text: string): ResultBlock {
  return { type: 'text', text }
}

/** An image block, if the base64 is an image of a kind that models accept, and not too large. */
function imageBlock(data: unknown): ResultBlock | null {
  if (!isPacked(data) || sizeOf(data) > limits.imageBytes) return null
  const mediaType = imageTypeOf(data) // not the server's: a model would refuse a wrong one, in every later request too
  return mediaType ? { type: 'image', source: { type: 'base64', media_type: mediaType, data } } : null
}

function cannotBeShown(what: string, mimeType: unknown, data: unknown): ResultBlock {
  return textBlock(
    `[${what} of the type ${shown(mimeType) || 'unknown'}${isPacked(data) ? ` and ${sizeOf(data)} bytes` : ''}, which cannot be shown here.]`,
  )
}

/** The blocks that fit in a result: texts within the limit of any tool, images up to a number and a size. */
function bounded(blocks: readonly ResultBlock[]): ResultBlock[] {
  let characters = 0
  let images = 0
  let imageCharacters = 0
  return blocks.flatMap((block): ResultBlock[] => {
    if (block.type !== 'text') {
      images++
      imageCharacters += block.source.data.length
      return images <= resultLimits.images && imageCharacters <= resultLimits.imageBytes * (4 / 3) + 4
        ? [block]
        : [
            textBlock(
              `[${block.type === 'image' ? 'An image' : 'A document'} was left out: this result has too many, or they are too large together.]`,
            ),
          ]
    }
    const left = resultLimits.characters - characters
    characters += block.text.length
    return left > 0 || block.text === ''
      ? [block.text.length <= left ? block : textBlock(cutEnd(block.text, left))]
      : []
  })
}

function isPacked(data: unknown): data is string {
  return typeof data === 'string' && data.length > 0 && isBase64(data)
}

function sizeOf(base64: string): number {
  return Buffer.byteLength(base64, 'base64')
}

function shown(text: unknown, most = nameCharacters): string {
  return typeof text === 'string' ? text.slice(0, most) : ''
}
