/** What messages and results consist of: text, images and documents, as they are read and as they are sent. */
import { builder } from '../../builder.ts'
import { limits } from '#src/platform/limits.ts'

type Source =
  | { type: 'base64'; media_type: string; data: string }
  | { type: 'text'; media_type: string; data: string }
  | { type: 'url'; url: string }
type Block =
  | { type: 'text'; text: string }
  | { type: 'image'; source: Source }
  | { type: 'document'; source: Source; title?: string | null; context?: string | null }

const base64Source = builder.objectRef<Extract<Source, { type: 'base64' }>>('Base64Source').implement({
  description: 'Bytes that stand in the block itself.',
  fields: (t) => ({
    mediaType: t.exposeString('media_type', { description: 'What they are, such as `image/png`.' }),
    data: t.exposeString('data', { description: 'The bytes as base64.' }),
  }),
})
const textSource = builder.objectRef<Extract<Source, { type: 'text' }>>('TextSource').implement({
  description: 'Text that stands in the block itself.',
  fields: (t) => ({
    mediaType: t.exposeString('media_type', { description: 'Always `text/plain`.' }),
    data: t.exposeString('data', { description: 'The text.' }),
  }),
})
const urlSource = builder.objectRef<Extract<Source, { type: 'url' }>>('UrlSource').implement({
  description: 'Something that an address leads to.',
  fields: (t) => ({ url: t.exposeString('url', { description: 'The http or https address.' }) }),
})

const sourceTypes = { base64: 'Base64Source', text: 'TextSource', url: 'UrlSource' } as const
const contentSource = builder.unionType('ContentSource', {
  description: 'Where the bytes of an image or a document are.',
  types: [base64Source, textSource, urlSource],
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
  description: 'A PDF or a text that is read as a document.',
  fields: (t) => ({
    source: t.field({ type: contentSource, description: 'Its content.', resolve: ({ source }) => source }),
    title: t.exposeString('title', { nullable: true, description: 'Its title.' }),
    context: t.exposeString('context', { nullable: true, description: 'What the model is told about it.' }),
  }),
})

const blockTypes = { text: 'TextBlock', image: 'ImageBlock', document: 'DocumentBlock' } as const

/** A piece of a message or a result. */
export const contentBlock = builder.unionType('ContentBlock', {
  description: 'A piece of a message, or of what a tool answered.',
  types: [textBlock, imageBlock, documentBlock],
  resolveType: ({ type }) => blockTypes[type],
})

/** The content of an event as its union wants it: what was stored was checked, or made, by us. */
export function blocksOf(content: unknown): Block[] {
  return Array.isArray(content) ? (content as Block[]) : []
}

const base64Input = builder.inputType('Base64SourceInput', {
  description: 'Bytes that stand in the block itself.',
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
  description: 'Text that stands in the block itself.',
  fields: (t) => ({
    mediaType: t.string({ required: true, description: '`text/plain`.' }),
    data: t.string({ required: true, description: 'The text.' }),
  }),
})
const urlInput = builder.inputType('UrlSourceInput', {
  description: 'Something that an address leads to.',
  fields: (t) => ({
    url: t.string({
      required: true,
      description: `An http or https address of at most ${limits.attachmentUrlLength} characters.`,
    }),
  }),
})
/** A file of a store of files, which Berth does not have: it is taken so that whoever sends one is told what to send instead. */
const fileInput = builder.inputType('FileSourceInput', {
  description: 'A file that was stored before. There is no store of files here yet, so it is always refused.',
  fields: (t) => ({ fileId: t.id({ required: true, description: 'Which file.' }) }),
})
const imageSourceInput = builder.inputType('ImageSourceInput', {
  description: 'Where the bytes of an image are.',
  isOneOf: true,
  extensions: { tag: 'type' },
  fields: (t) => ({
    base64: t.field({ type: base64Input, description: 'In the block itself.' }),
    url: t.field({ type: urlInput, description: 'At an address.' }),
    file: t.field({ type: fileInput, description: 'In a store of files.' }),
  }),
})
const documentSourceInput = builder.inputType('DocumentSourceInput', {
  description: 'Where the content of a document is.',
  isOneOf: true,
  extensions: { tag: 'type' },
  fields: (t) => ({
    base64: t.field({ type: base64Input, description: 'A PDF in the block itself.' }),
    text: t.field({ type: textSourceInput, description: 'Text in the block itself.' }),
    url: t.field({ type: urlInput, description: 'At an address.' }),
    file: t.field({ type: fileInput, description: 'In a store of files.' }),
  }),
})

const textBlockInput = builder.inputType('TextBlockInput', {
  description: 'Text.',
  fields: (t) => ({ text: t.string({ required: true, description: 'The text, which is not empty.' }) }),
})
const imageBlockInput = builder.inputType('ImageBlockInput', {
  description: 'An image.',
  fields: (t) => ({ source: t.field({ type: imageSourceInput, required: true, description: 'Its bytes.' }) }),
})
const documentBlockInput = builder.inputType('DocumentBlockInput', {
  description: 'A PDF, or a text that is read as a document.',
  fields: (t) => ({
    source: t.field({ type: documentSourceInput, required: true, description: 'Its content.' }),
    title: t.string({ description: `Its title: at most ${limits.nameLength} characters.` }),
    context: t.string({ description: 'What the model is told about it.' }),
  }),
})

/** The tagged type of text alone, which is all that a message of the system holds. */
export const systemBlockInput = builder.inputType('SystemBlockInput', {
  description: 'A piece of what the model is told beside what users say.',
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
    document: t.field({ type: documentBlockInput, description: 'A PDF, or a text that is read as a document.' }),
  }),
})
