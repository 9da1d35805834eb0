/** The catalog of models in GraphQL. */
import { idArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { nodeOf } from '../nodes.ts'
import { connectionOf, pageArguments } from '../pages.ts'
import type { ReasoningLevel, ReasoningReplay } from '#src/drivers/models/model.ts'
import type { Model, Pricing } from '#src/resources/llm/models/rows.ts'
import { lifecycleOf, wireCapabilities, type Lifecycle } from '#src/resources/llm/models/wire.ts'
import { findModels, getModel, pageModels } from '#src/resources/llm/models.ts'
import { modelCapabilities, wireModelCapabilities } from './model-capabilities.ts'

/** How hard a model thinks. */
export const reasoningLevel = enumOf('ReasoningLevel', 'How hard a model thinks, least first.', {
  none: 'Not at all.',
  minimal: 'As little as it can.',
  low: 'A little.',
  medium: 'As it usually does.',
  high: 'Hard.',
  xhigh: 'Harder.',
  max: 'As hard as it can.',
} satisfies Record<ReasoningLevel, string>)
const reasoningReplay = enumOf('ReasoningReplay', 'What a provider wants back of its reasoning in the next request.', {
  none: 'Nothing.',
  signature: 'The text and its signature.',
  encrypted_content: 'The block’s id and its encrypted content.',
} satisfies Record<ReasoningReplay, string>)
const modelStatus = enumOf('ModelStatus', 'Whether a model may be counted on.', {
  available: 'It is served.',
  deprecated: 'It is served still; move to another.',
} satisfies Record<Model['status'], string>)
const modelLifecycle = enumOf('ModelLifecycle', 'Where a model is in its life, in Anthropic’s words.', {
  active: 'It may be counted on.',
  deprecated: 'Move to another.',
  retired: 'None that is listed is.',
} satisfies Record<Lifecycle, string>)
const modelSpeed = enumOf('ModelSpeed', 'The class of service.', {
  standard: 'The usual one.',
  fast: 'A faster one.',
} satisfies Record<Model['speed'], string>)

const pricing = builder.objectRef<Pricing>('ModelPricing').implement({
  description: 'Prices in US dollars for a million tokens.',
  fields: (t) => {
    const price = (field: keyof Pricing, description: string) =>
      t.field({ type: 'Decimal', description, resolve: (prices) => dollarsPerMillion(prices[field]) })
    return {
      inputUsdPerMillion: price('inputNanoUsd', 'Tokens sent.'),
      outputUsdPerMillion: price('outputNanoUsd', 'Tokens answered, reasoning included.'),
      cacheReadUsdPerMillion: price('cacheReadNanoUsd', 'Tokens read from the provider’s cache.'),
      cacheWriteUsdPerMillion: price('cacheWriteNanoUsd', 'Tokens written to the provider’s cache.'),
    }
  },
})

/** A model. */
export const modelType = nodeOf('Model', '`<provider>/<model>`; what requests name as `model`.', findModels)

builder.objectType(modelType, {
  description: 'A model that this installation serves.',
  fields: (t) => ({
    object: t.string({ description: 'Always `model`, as OpenAI’s clients expect.', resolve: () => 'model' }),
    type: t.string({ description: 'Always `model`, as Anthropic’s clients expect.', resolve: () => 'model' }),
    displayName: t.exposeString('displayName', { description: 'Its name for people.' }),
    ownedBy: t.exposeString('ownedBy', { description: 'Whose it is.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'The day it came out.' }),
    created: t.int({
      description: 'The same in Unix seconds.',
      resolve: ({ createdAt }) => Math.floor(Date.parse(createdAt) / 1000),
    }),
    contextWindow: t.exposeInt('contextWindow', {
      description: 'Tokens that a request and its answer may have together.',
    }),
    maxInputTokens: t.int({
      description: 'Tokens that a request may have.',
      resolve: ({ contextWindow }) => contextWindow,
    }),
    maxTokens: t.int({
      description: 'Tokens that an answer may have.',
      resolve: ({ maxOutputTokens }) => maxOutputTokens,
    }),
    reasoningLevels: t.field({
      type: [reasoningLevel],
      description: 'What `reasoning_effort` may be; empty for a model that does not reason.',
      resolve: (model) => [...model.reasoningLevels],
    }),
    defaultReasoningLevel: t.field({
      type: reasoningLevel,
      nullable: true,
      description: 'What it is when a request does not say.',
      resolve: (model) => model.defaultReasoningLevel,
    }),
    reasoningReplay: t.field({
      type: reasoningReplay,
      description: 'What must be sent back of its reasoning.',
      resolve: (model) => model.reasoningReplay,
    }),
    lifecycle: t.field({
      type: modelLifecycle,
      description: 'The same as `status` in Anthropic’s words.',
      resolve: (model) => lifecycleOf(model),
    }),
    deprecatedAt: t.expose('deprecatedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was deprecated, where the operator said so.',
    }),
    retiresAt: t.expose('retiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it is to go, where the operator said so.',
    }),
    line: t.exposeString('line', { nullable: true, description: 'The line that it belongs to, such as `opus`.' }),
    allowedFallbackModels: t.idList({
      description: 'Always empty: what a model falls back to is the operator’s choice.',
      resolve: () => [],
    }),
    wireCapabilities: t.field({
      type: wireModelCapabilities,
      description: 'The same as REST shows it.',
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
      description: 'Whether it may be counted on.',
      resolve: (model) => model.status,
    }),
  }),
})

/** A page of models. */
export const modelConnection = connectionOf('Model', modelType)

const modelFilter = builder.inputType('ModelFilter', {
  description: 'Which models a list shows.',
  fields: (t) => ({
    lifecycle: t.field({ type: [modelLifecycle], description: 'Only those in one of these stages.' }),
  }),
})

builder.queryFields((t) => ({
  models: t.field({
    type: modelConnection,
    description:
      'The models that may be asked: those with an upstream that the operator has set up, in the order of the table. Errors: INVALID_REQUEST.',
    args: { ...pageArguments, filter: t.arg({ type: modelFilter, description: 'Which ones.' }) },
    resolve: (_, { filter, ...window }, call) => pageModels(call, window, filter),
  }),
  model: t.field({
    type: modelType,
    description: 'One model. `id` may also be what stands behind the provider. Errors: NOT_FOUND.',
    args: {
      ...idArguments,
      provider: t.arg.string({ description: 'What stands before the slash, when `id` is only what stands behind it.' }),
    },
    resolve: (_, { id, provider }, call) => getModel(call, provider ? `${provider}/${id}` : id),
  }),
}))

/** 2,500 nano-dollars for one token are 2.5 dollars for a million. */
function dollarsPerMillion(nanoUsd: number): string {
  return String(nanoUsd / 1000)
}
