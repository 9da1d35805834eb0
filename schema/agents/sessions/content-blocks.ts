/** The content of messages and results: text, images and documents, as output types and as inputs. */
import { builder } from '../../builder.ts'
import { constant } from '../../words.ts'
import { fileType } from '../files.ts'
import { decodeId } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'

type Source =
  | { type: 'base64'; media_type: string; data: string }
  | { type: 'text'; media_type: string; data: string }
  | { type: 'url'; url: string }
  | { type: 'file'; file_id: string }
type Block =
  | { type: 'text'; text: string }
  | { type: 'image'; source: Source }
  | { type: 'document'; source: Source; title?: string | null; context?: string | null }

const base64Source = builder.objectRef<Extract<Source, { type: 'base64' }>>('Base64Source').implement({
  description: 'Bytes inside the block.',
  fields: (t) => ({
    mediaType: t.exposeString('media_type', { description: 'Their media type, such as `image/png`.' }),
    data: t.exposeString('data', { description: 'The bytes as base64.' }),
  }),
})
const textSource = builder.objectRef<Extract<Source, { type: 'text' }>>('TextSource').implement({
  description: 'Text inside the block.',
  fields: (t) => ({
    mediaType: t.string(constant('text/plain')),
    data: t.exposeString('data', { description: 'The text.' }),
  }),
})
const urlSource = builder.objectRef<Extract<Source, { type: 'url' }>>('UrlSource').implement({
  description: 'Something at a URL.',
  fields: (t) => ({ url: t.exposeString('url', { description: 'The http or https URL.' }) }),
})

const fileSource = builder.objectRef<Extract<Source, { type: 'file' }>>('FileSource').implement({
  description: 'A stored file.',
  fields: (t) => ({
    fileId: t.id({ description: 'Which file.', resolve: ({ file_id: id }) => id }),
    file: t.field({
      type: fileType,
      nullable: true,
      description: 'The file as it is now; null once it is deleted or has expired.',
      resolve: ({ file_id: id }) => decodeId('file', id) ?? null,
    }),
  }),
})

const sourceTypes = { base64: 'Base64Source', text: 'TextSource', url: 'UrlSource', file: 'FileSource' } as const
const contentSource = builder.unionType('ContentSource', {
  description: 'Where the bytes of an image or a document are.',
  types: [base64Source, textSource, urlSource, fileSource],
  resolveType: ({ type }) => sourceTypes[type],
})

const textBlock = builder.objectRef<Extract<Block, { type: 'text' }>>('TextBlock').implement({
  description: 'Text.',
  fields: (t) => ({ text: t.exposeString('text', { description: 'The text.' }) }),
})
const imageBlock = builder.objectRef<Extract<Block, { type: 'image' }>>('ImageBlock').implement({
  description: 'An image.',
  fields: (t) => ({
    source: t.field({ type: contentSource, description: 'Its bytes.', resolve: ({ source }) => source }),
  }),
})
const documentBlock = builder.objectRef<Extract<Block, { type: 'document' }>>('DocumentBlock').implement({
  description: 'A PDF, or a text to be read as a document.',
  fields: (t) => ({
    source: t.field({ type: contentSource, description: 'Its content.', resolve: ({ source }) => source }),
    title: t.exposeString('title', { nullable: true, description: 'Its title.' }),
    context: t.exposeString('context', { nullable: true, description: 'Context about it for the model.' }),
  }),
})

const blockTypes = { text: 'TextBlock', image: 'ImageBlock', document: 'DocumentBlock' } as const

/** A piece of a message or a result. */
export const contentBlock = builder.unionType('ContentBlock', {
  description: 'A piece of a message, or of what a tool answered.',
  types: [textBlock, imageBlock, documentBlock],
  resolveType: ({ type }) => blockTypes[type],
})

/** The content of an event, typed as the union. It was validated before it was stored. */
export function blocksOf(content: unknown): Block[] {
  return Array.isArray(content) ? (content as Block[]) : []
}

const base64Input = builder.inputType('Base64SourceInput', {
  description: 'Bytes inside the block.',
  fields: (t) => ({
    mediaType: t.string({
      required: true,
      description:
        '`image/jpeg`, `image/png`, `image/gif` or `image/webp` for an image; `application/pdf` for a document.',
    }),
    data: t.string({ required: true, description: 'The bytes as base64.' }),
  }),
})
const textSourceInput = builder.inputType('TextSourceInput', {
  description: 'Text inside the block.',
  fields: (t) => ({
    mediaType: t.string({ required: true, description: '`text/plain`.' }),
    data: t.string({ required: true, description: 'The text.' }),
  }),
})
const urlInput = builder.inputType('UrlSourceInput', {
  description: 'Something at a URL.',
  fields: (t) => ({
    url: t.string({
      required: true,
      description: `An http or https URL of at most ${limits.attachmentUrlLength} characters.`,
    }),
  }),
})
const fileInput = builder.inputType('FileSourceInput', {
  description: 'A file of yours.',
  fields: (t) => ({ fileId: t.id({ required: true, description: 'Which file.' }) }),
})
const imageSourceInput = builder.inputType('ImageSourceInput', {
  description: 'Where the bytes of an image are.',
  isOneOf: true,
  extensions: { tag: 'type' },
  fields: (t) => ({
    base64: t.field({ type: base64Input, description: 'Inside the block.' }),
    url: t.field({ type: urlInput, description: 'At a URL.' }),
    file: t.field({ type: fileInput, description: 'In a file: a JPEG, PNG, GIF or WebP.' }),
  }),
})
const documentSourceInput = builder.inputType('DocumentSourceInput', {
  description: 'Where the content of a document is.',
  isOneOf: true,
  extensions: { tag: 'type' },
  fields: (t) => ({
    base64: t.field({ type: base64Input, description: 'A PDF inside the block.' }),
    text: t.field({ type: textSourceInput, description: 'Text inside the block.' }),
    url: t.field({ type: urlInput, description: 'At a URL.' }),
    file: t.field({ type: fileInput, description: 'In a file: a PDF or a text.' }),
  }),
})

const textBlockInput = builder.inputType('TextBlockInput', {
  description: 'Text.',
  fields: (t) => ({ text: t.string({ required: true, description: 'The text; must not be empty.' }) }),
})
const imageBlockInput = builder.inputType('ImageBlockInput', {
  description: 'An image.',
  fields: (t) => ({ source: t.field({ type: imageSourceInput, required: true, description: 'Its bytes.' }) }),
})
const documentBlockInput = builder.inputType('DocumentBlockInput', {
  description: 'A PDF, or a text to be read as a document.',
  fields: (t) => ({
    source: t.field({ type: documentSourceInput, required: true, description: 'Its content.' }),
    title: t.string({ description: `Its title: at most ${limits.nameLength} characters.` }),
    context: t.string({ description: 'Context about it for the model.' }),
  }),
})

/** A block that can only be text, as in a system message. */
export const systemBlockInput = builder.inputType('SystemBlockInput', {
  description: 'A piece of a system message.',
  isOneOf: true,
  extensions: { tag: 'type' },
  fields: (t) => ({ text: t.field({ type: textBlockInput, description: 'Text.' }) }),
})

/** A piece of a message or a result, as clients send it. */
export const contentBlockInput = builder.inputType('ContentBlockInput', {
  description: 'A piece of a message, or of what a tool answered.',
  isOneOf: true,
  extensions: { tag: 'type' },
  fields: (t) => ({
    text: t.field({ type: textBlockInput, description: 'Text.' }),
    image: t.field({ type: imageBlockInput, description: 'An image.' }),
    document: t.field({ type: documentBlockInput, description: 'A PDF, or a text to be read as a document.' }),
  }),
})
