/**
 * The capabilities of a model in GraphQL: in Berth's own form, and in the form of Anthropic's API, which REST shows.
 */
import { builder } from '../builder.ts'
import type { Model } from '#src/resources/llm/models/rows.ts'
import type { Support, WireCapabilities } from '#src/resources/llm/models/wire.ts'

/** The plain facts. */
export const modelCapabilities = builder.objectRef<Model['capabilities']>('ModelCapabilities').implement({
  description: 'What a model can do.',
  fields: (t) => ({
    canUseTools: t.exposeBoolean('tools', { description: 'Call tools.' }),
    canReadImages: t.exposeBoolean('vision', { description: 'See images.' }),
    canReadPdf: t.exposeBoolean('pdf', { description: 'Read PDF files.' }),
    canStructureOutput: t.exposeBoolean('structuredOutputs', { description: 'Answer in JSON of a given schema.' }),
    canStream: t.exposeBoolean('streaming', { description: 'Answer piece by piece.' }),
  }),
})

const support = builder.objectRef<Support>('ModelSupport').implement({
  description: 'Whether a model supports something.',
  fields: (t) => ({ supported: t.exposeBoolean('supported', { description: 'Whether it does.' }) }),
})

const supported = { description: 'Whether any of it is supported.' }
const nothing = 'Always null: Berth passes no version on.'

const contextManagement = builder.objectRef<WireCapabilities['contextManagement']>('ModelContextManagement').implement({
  description: 'How a provider shortens its context. Berth passes none of this on.',
  fields: (t) => ({
    supported: t.exposeBoolean('supported', supported),
    clearThinking20251015: t.field({ type: support, nullable: true, description: nothing, resolve: () => null }),
    clearToolUses20250919: t.field({ type: support, nullable: true, description: nothing, resolve: () => null }),
    compact20260112: t.field({ type: support, nullable: true, description: nothing, resolve: () => null }),
  }),
})

const effort = builder.objectRef<WireCapabilities['effort']>('ModelEffort').implement({
  description: 'The levels of reasoning that a model has.',
  fields: (t) => {
    const level = (name: 'low' | 'medium' | 'high' | 'xhigh' | 'max') =>
      t.field({ type: support, description: `The level \`${name}\`.`, resolve: (levels) => levels[name] })
    return {
      supported: t.exposeBoolean('supported', supported),
      low: level('low'),
      medium: level('medium'),
      high: level('high'),
      xhigh: level('xhigh'),
      max: level('max'),
    }
  },
})

const serverTools = builder.objectRef<WireCapabilities['serverTools']>('ModelServerTools').implement({
  description: 'Tools that a provider runs itself. Berth passes none of them on.',
  fields: (t) => ({
    supported: t.exposeBoolean('supported', supported),
    codeExecution: t.expose('codeExecution', { type: support, description: 'Running code.' }),
    webSearch: t.expose('webSearch', { type: support, description: 'Searching the web.' }),
  }),
})

const thinkingTypes = builder.objectRef<WireCapabilities['thinking']['types']>('ModelThinkingTypes').implement({
  description: 'The ways in which a model reasons.',
  fields: (t) => ({
    adaptive: t.expose('adaptive', { type: support, description: 'As much as the model decides.' }),
    betweenTools: t.expose('betweenTools', { type: support, description: 'Between calls of tools.' }),
    disabled: t.expose('disabled', { type: support, description: 'Not at all.' }),
    enabled: t.expose('enabled', { type: support, description: 'When the request asks for it.' }),
  }),
})

const thinking = builder.objectRef<WireCapabilities['thinking']>('ModelThinking').implement({
  description: 'Whether and how a model reasons.',
  fields: (t) => ({
    supported: t.exposeBoolean('supported', supported),
    types: t.expose('types', { type: thinkingTypes, description: 'The ways in which it reasons.' }),
  }),
})

/** The capabilities in the form of Anthropic's API. */
export const wireModelCapabilities = builder.objectRef<WireCapabilities>('WireModelCapabilities').implement({
  description: 'What a model can do, as REST shows it: one object for each capability in Anthropic’s API.',
  fields: (t) => ({
    tools: t.exposeBoolean('tools', { description: 'Call tools.' }),
    vision: t.exposeBoolean('vision', { description: 'See images.' }),
    pdf: t.exposeBoolean('pdf', { description: 'Read PDF files.' }),
    streaming: t.exposeBoolean('streaming', { description: 'Answer piece by piece.' }),
    batch: t.expose('batch', { type: support, description: 'Process requests in batches.' }),
    citations: t.expose('citations', { type: support, description: 'Cite its sources.' }),
    codeExecution: t.expose('codeExecution', { type: support, description: 'Run code at its provider.' }),
    compaction: t.field({ type: support, nullable: true, description: 'Always null.', resolve: () => null }),
    contextManagement: t.expose('contextManagement', {
      type: contextManagement,
      description: 'Shorten its context.',
    }),
    effort: t.expose('effort', { type: effort, description: 'Reason at these levels.' }),
    imageInput: t.expose('imageInput', { type: support, description: 'See images.' }),
    pdfInput: t.expose('pdfInput', { type: support, description: 'Read PDF files.' }),
    structuredOutputs: t.expose('structuredOutputs', { type: support, description: 'Answer in JSON of a schema.' }),
    serverTools: t.expose('serverTools', { type: serverTools, description: 'Use its provider’s own tools.' }),
    thinking: t.expose('thinking', { type: thinking, description: 'Reason.' }),
  }),
})
