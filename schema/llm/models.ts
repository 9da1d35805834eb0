/** The catalog of models in GraphQL. */
import { builder } from '../builder.ts'
import { reasoningLevels, type ReasoningLevel, type ReasoningReplay } from '#src/drivers/models/model.ts'
import type { Model, Pricing } from '#src/resources/llm/models/rows.ts'
import { lifecycleOf, wireCapabilities, type Lifecycle } from '#src/resources/llm/models/wire.ts'
import { getModel, listModels, type ModelList } from '#src/resources/llm/models.ts'

const reasoningLevel = builder.enumType('ReasoningLevel', {
  description: `How hard a model thinks, least first: ${reasoningLevels.map((level) => `\`${level}\``).join(', ')}.`,
  values: Object.fromEntries(reasoningLevels.map((level) => [level, {}])) as Record<ReasoningLevel, object>,
})
const reasoningReplay = builder.enumType('ReasoningReplay', {
  description: 'What a provider wants back of its reasoning in the next request.',
  values: {
    none: { description: 'Nothing.' },
    signature: { description: 'The text and its signature.' },
    encrypted_content: { description: 'The block’s id and its encrypted content.' },
  } satisfies Record<ReasoningReplay, { description: string }>,
})
const modelStatus = builder.enumType('ModelStatus', {
  description: 'Whether a model may be counted on.',
  values: {
    available: { description: 'It is served.' },
    deprecated: { description: 'It is served still; move to another.' },
  } satisfies Record<Model['status'], { description: string }>,
})
const modelLifecycle = builder.enumType('ModelLifecycle', {
  description: 'Where a model is in its life, in Anthropic’s words.',
  values: {
    active: { description: 'It may be counted on.' },
    deprecated: { description: 'Move to another.' },
    retired: { description: 'None that is listed is.' },
  } satisfies Record<Lifecycle, { description: string }>,
})
const modelSpeed = builder.enumType('ModelSpeed', {
  description: 'The class of service.',
  values: { standard: { description: 'The usual one.' }, fast: { description: 'A faster one.' } } satisfies Record<
    Model['speed'],
    { description: string }
  >,
})

const capabilities = builder.objectRef<Model['capabilities']>('ModelCapabilities').implement({
  description: 'What a model can do.',
  fields: (t) => ({
    tools: t.exposeBoolean('tools', { description: 'Call tools.' }),
    vision: t.exposeBoolean('vision', { description: 'See images.' }),
    pdf: t.exposeBoolean('pdf', { description: 'Read PDF files.' }),
    structuredOutputs: t.exposeBoolean('structuredOutputs', { description: 'Answer in JSON of a given schema.' }),
    streaming: t.exposeBoolean('streaming', { description: 'Answer piece by piece.' }),
  }),
})

const pricing = builder.objectRef<Pricing>('ModelPricing').implement({
  description: 'Prices in US dollars for a million tokens, as text.',
  fields: (t) => ({
    input: t.string({ description: 'Tokens sent.', resolve: (prices) => dollarsPerMillion(prices.inputNanoUsd) }),
    output: t.string({
      description: 'Tokens answered, reasoning included.',
      resolve: (prices) => dollarsPerMillion(prices.outputNanoUsd),
    }),
    cacheRead: t.string({
      description: 'Tokens read from the provider’s cache.',
      resolve: (prices) => dollarsPerMillion(prices.cacheReadNanoUsd),
    }),
    cacheWrite: t.string({
      description: 'Tokens written to the provider’s cache.',
      resolve: (prices) => dollarsPerMillion(prices.cacheWriteNanoUsd),
    }),
  }),
})

const modelType = builder.objectRef<Model>('Model').implement({
  description: 'A model that this installation serves.',
  fields: (t) => ({
    id: t.exposeID('id', { description: '`<provider>/<model>`; what requests name as `model`.' }),
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
      type: 'JSON',
      description:
        'What it can do as REST shows it: `capabilities` with one more key for each that Anthropic’s API knows.',
      resolve: (model) => wireCapabilities(model),
    }),
    capabilities: t.field({
      type: capabilities,
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

const modelList = builder.objectRef<ModelList>('ModelList').implement({
  description: 'The models that are served, in the order of the table.',
  fields: (t) => ({
    object: t.string({ description: 'Always `list`.', resolve: () => 'list' }),
    data: t.field({ type: [modelType], description: 'The models.', resolve: ({ data }) => data }),
    hasMore: t.boolean({
      description: 'Whether there are more in the direction of the walk.',
      resolve: ({ hasMore }) => hasMore,
    }),
    firstId: t.string({
      nullable: true,
      description: 'The first one’s id.',
      resolve: ({ data }) => data[0]?.id ?? null,
    }),
    lastId: t.string({
      nullable: true,
      description: 'The last one’s id.',
      resolve: ({ data }) => data.at(-1)?.id ?? null,
    }),
  }),
})

builder.queryFields((t) => ({
  models: t.field({
    type: modelList,
    description:
      'The models that may be asked: those with an upstream that the operator has set up. Errors: INVALID_REQUEST.',
    args: {
      lifecycle: t.arg({ type: [modelLifecycle], description: 'Only those in one of these stages.' }),
      limit: t.arg.int({ description: 'How many, 1 to 1000; all without it.' }),
      afterId: t.arg.id({ description: '`lastId` of the page before.' }),
      beforeId: t.arg.id({ description: '`firstId` of the page behind.' }),
    },
    resolve: (_, window, call) => listModels(call, window),
  }),
  model: t.field({
    type: modelType,
    description: 'One model. Errors: NOT_FOUND.',
    args: {
      id: t.arg.id({ required: true, description: 'Its id, or what stands behind the provider.' }),
      provider: t.arg.string({ description: 'What stands before the slash, when `id` is only what stands behind it.' }),
    },
    resolve: (_, { id, provider }, call) => getModel(call, provider ? `${provider}/${id}` : id),
  }),
}))

/** 2,500 nano-dollars for one token are 2.5 dollars for a million. */
function dollarsPerMillion(nanoUsd: number): string {
  return String(nanoUsd / 1000)
}
