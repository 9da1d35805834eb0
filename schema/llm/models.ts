/** The catalog of models in GraphQL. */
import { idArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { always } from '../words.ts'
import { enumOf } from '../enums.ts'
import { nodeOf } from '../nodes.ts'
import { connectionOf, pageArgumentsUpTo } from '../pages.ts'
import { limits } from '#src/platform/limits.ts'
import type { ReasoningLevel, ReasoningReplay } from '#src/drivers/models/model.ts'
import type { Model, ModelKind, Pricing } from '#src/resources/llm/models/rows.ts'
import { lifecycleOf, wireCapabilities, type Lifecycle } from '#src/resources/llm/models/wire.ts'
import { findModels, getModel, pageModels } from '#src/resources/llm/models.ts'
import { modelCapabilities, wireModelCapabilities } from './model-capabilities.ts'
import { forRest } from '../rest-fields.ts'

/** How hard a model thinks. */
export const reasoningLevel = enumOf('ReasoningLevel', 'How hard a model thinks, least first.', {
  none: 'The model does not reason.',
  minimal: 'As little as it can.',
  low: 'The model reasons a little.',
  medium: 'As it usually does.',
  high: 'The model reasons hard.',
  xhigh: 'The model reasons harder than at `HIGH`.',
  max: 'As hard as it can.',
} satisfies Record<ReasoningLevel, string>)
const reasoningReplay = enumOf(
  'ReasoningReplay',
  'What a provider needs back from its reasoning in the next request.',
  {
    none: 'Nothing.',
    signature: 'The text and its signature.',
    encrypted_content: 'The block’s id and its encrypted content.',
  } satisfies Record<ReasoningReplay, string>,
)
const modelStatus = enumOf('ModelStatus', 'The life cycle of a model.', {
  available: 'It is available.',
  deprecated: 'It is still available; move to another one.',
} satisfies Record<Model['status'], string>)
const modelLifecycle = enumOf('ModelLifecycle', 'The life cycle of a model, in Anthropic’s words.', {
  active: 'It is available.',
  deprecated: 'It is still available; move to another one.',
  retired: 'It is retired; listed models never are.',
} satisfies Record<Lifecycle, string>)
const modelKind = enumOf('ModelKind', 'What a model is for.', {
  chat: 'It answers chats.',
  embeddings: 'It makes embeddings: vectors of texts, by which similar ones are found.',
} satisfies Record<ModelKind, string>)
const modelSpeed = enumOf('ModelSpeed', 'The class of service.', {
  standard: 'The standard class.',
  fast: 'A faster class.',
} satisfies Record<Model['speed'], string>)

const pricing = builder.objectRef<Pricing>('ModelPricing').implement({
  description: 'Prices in US dollars per million tokens.',
  fields: (t) => {
    const price = (field: keyof Pricing, description: string) =>
      t.field({ type: 'Decimal', description, resolve: (prices) => dollarsPerMillion(prices[field]) })
    return {
      inputUsdPerMillion: price('inputNanoUsd', 'Tokens sent.'),
      outputUsdPerMillion: price('outputNanoUsd', 'Output tokens, including reasoning.'),
      cacheReadUsdPerMillion: price('cacheReadNanoUsd', 'Tokens read from the provider’s cache.'),
      cacheWriteUsdPerMillion: price('cacheWriteNanoUsd', 'Tokens written to the provider’s cache.'),
    }
  },
})

/** A model. */
export const modelType = nodeOf('Model', findModels, '`<provider>/<model>`; the value of `model` in requests.')

builder.objectType(modelType, {
  description: 'A model that this installation serves.',
  fields: (t) => ({
    object: t.string(always('model', ', as OpenAI’s clients expect')),
    type: t.string(always('model', ', as Anthropic’s clients expect')),
    kind: t.field({ type: modelKind, description: 'What it is for.', resolve: ({ kind }) => kind }),
    displayName: t.exposeString('displayName', { description: 'A name to display.' }),
    ownedBy: t.exposeString('ownedBy', { description: 'The provider that made it.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'The day of its release.' }),
    created: t.int({
      description: 'When it was released, in Unix seconds.',
      ...forRest,
      resolve: ({ createdAt }) => Math.floor(Date.parse(createdAt) / 1000),
    }),
    contextWindow: t.exposeInt('contextWindow', {
      description:
        'The context window: the maximum tokens of a request and its answer together; of a model for embeddings those of one text.',
    }),
    maxInputTokens: t.int({
      description: 'The maximum tokens of a request.',
      ...forRest,
      resolve: ({ contextWindow }) => contextWindow,
    }),
    maxOutputTokens: t.exposeInt('maxOutputTokens', {
      description: 'The maximum tokens of an answer; 0 for a model for embeddings.',
    }),
    dimensions: t.exposeInt('dimensions', {
      nullable: true,
      description: 'How many numbers its embeddings have; null for a model that chats.',
    }),
    hasFlexibleDimensions: t.exposeBoolean('flexibleDimensions', {
      description: 'Whether a request may want embeddings of fewer numbers.',
    }),
    reasoningLevels: t.field({
      type: [reasoningLevel],
      description: 'The possible values of `reasoning_effort`; empty for a model that does not reason.',
      resolve: (model) => [...model.reasoningLevels],
    }),
    defaultReasoningLevel: t.field({
      type: reasoningLevel,
      nullable: true,
      description: 'The level that is used when a request does not set one.',
      resolve: (model) => model.defaultReasoningLevel,
    }),
    reasoningReplay: t.field({
      type: reasoningReplay,
      description: 'What must be sent back from its reasoning.',
      resolve: (model) => model.reasoningReplay,
    }),
    lifecycle: t.field({
      type: modelLifecycle,
      description: 'The same as `status`, in Anthropic’s words.',
      resolve: (model) => lifecycleOf(model),
    }),
    deprecatedAt: t.expose('deprecatedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was deprecated, if the operator has set it.',
    }),
    retiresAt: t.expose('retiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it will be removed, if the operator has set it.',
    }),
    line: t.exposeString('line', { nullable: true, description: 'Its model family, such as `opus`.' }),
    allowedFallbackModels: t.idList({
      description: 'Always empty: the operator configures fallbacks.',
      resolve: () => [],
    }),
    wireCapabilities: t.field({
      type: wireModelCapabilities,
      ...forRest,
      description: 'What it can do, in the form that REST shows.',
      resolve: (model) => wireCapabilities(model),
    }),
    capabilities: t.field({
      type: modelCapabilities,
      description: 'What it can do.',
      resolve: (model) => model.capabilities,
    }),
    pricing: t.field({ type: pricing, description: 'What it costs.', resolve: (model) => model.pricing }),
    speed: t.field({ type: modelSpeed, description: 'Its class of service.', resolve: (model) => model.speed }),
    status: t.field({
      type: modelStatus,
      description: 'Its stage in the life cycle.',
      resolve: (model) => model.status,
    }),
  }),
})

/** A page of models. */
export const modelConnection = connectionOf('Model', modelType)

const modelFilter = builder.inputType('ModelFilter', {
  description: 'Narrows a list of models.',
  fields: (t) => ({
    lifecycle: t.field({ type: [modelLifecycle], description: 'Only those in one of these stages.' }),
    kind: t.field({ type: modelKind, description: 'Only those of this kind.' }),
  }),
})

builder.queryFields((t) => ({
  models: t.field({
    type: modelConnection,
    description:
      'The available models: those for which the operator has configured an upstream, in the order of the catalog. Errors: INVALID_REQUEST.',
    args: {
      ...pageArgumentsUpTo(limits.modelListMax),
      filter: t.arg({ type: modelFilter, description: 'Narrows the list.' }),
    },
    resolve: (_, { filter, ...window }, call) => pageModels(call, window, filter),
  }),
  model: t.field({
    type: modelType,
    description: 'One model. `id` may omit the provider and its slash. Errors: NOT_FOUND.',
    args: {
      ...idArguments,
      provider: t.arg.string({ description: 'The provider, when `id` omits it.' }),
    },
    resolve: (_, { id, provider }, call) => getModel(call, provider ? `${provider}/${id}` : id),
  }),
}))

/** 2,500 nano-dollars for one token are 2.5 dollars for a million. */
function dollarsPerMillion(nanoUsd: number): string {
  return String(nanoUsd / 1000)
}
