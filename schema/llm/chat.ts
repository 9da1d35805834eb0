/** Chat completions in GraphQL: the whole answer as a mutation, its pieces as a subscription. */
import { builder, type Context } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { heartbeat, withHeartbeats } from '../heartbeats.ts'
import { mutationOf } from '../mutations.ts'
import type { FinishReason, ModelEvent, ReasoningBlock, Usage } from '#src/drivers/models/model.ts'
import { askChat, callerLeft, collectChat, type ChatAnswer } from '#src/resources/llm/chats.ts'
import type { Completion } from '#src/resources/llm/chats/completions.ts'
import { chatBody, commonFields, streamedFields } from './chat-inputs.ts'
import { modelType } from './models.ts'

/** An event of an answer, with the completion that it belongs to. */
type ChatEvent = { completion: Completion; event: ModelEvent }

const finishReason = enumOf('ChatFinishReason', 'Why a model stopped.', {
  stop: 'It finished, or met a stop text.',
  length: 'It reached the token limit.',
  tool_calls: 'It calls tools.',
  content_filter: 'The provider filtered the rest.',
} satisfies Record<FinishReason, string>)

const usageType = builder.objectRef<Usage>('ChatUsage').implement({
  description: 'Tokens of a completion, as the provider counted them.',
  fields: (t) => ({
    inputTokens: t.exposeInt('inputTokens', { description: 'Tokens of the request, including cached ones.' }),
    outputTokens: t.exposeInt('outputTokens', { description: 'Tokens of the answer, including reasoning.' }),
    cacheReadTokens: t.exposeInt('cacheReadTokens', { description: 'Tokens read from the provider’s cache.' }),
    cacheWriteTokens: t.exposeInt('cacheWriteTokens', { description: 'Tokens written to the provider’s cache.' }),
    reasoningTokens: t.exposeInt('reasoningTokens', { description: 'Tokens of reasoning.' }),
  }),
})

const reasoningType = builder.objectRef<ReasoningBlock>('ChatReasoning').implement({
  description:
    'A finished block of reasoning. To continue from it, send it back before the assistant’s text, to the same model only.',
  fields: (t) => ({
    id: t.exposeString('id', { nullable: true, description: 'The provider’s id of the block.' }),
    text: t.exposeString('text', { description: 'The text; empty when the provider shows none.' }),
    model: t.exposeString('model', { description: 'The model that it is bound to.' }),
    signature: t.exposeString('signature', {
      nullable: true,
      description: 'Anthropic’s signature, which it wants back.',
    }),
    encryptedContent: t.exposeString('encryptedContent', {
      nullable: true,
      description: 'OpenAI’s encrypted content, which it wants back.',
    }),
    isRedacted: t.exposeBoolean('redacted', { description: 'Whether its provider hid the text.' }),
  }),
})

const toolCallType = builder
  .objectRef<Extract<ModelEvent, { type: 'tool' | 'arguments' }>>('ChatToolCallDelta')
  .implement({
    description: 'The beginning of a tool call, or a piece of its arguments.',
    fields: (t) => ({
      index: t.exposeInt('index', { description: 'The index of the call in this answer, from 0.' }),
      id: t.string({
        nullable: true,
        description: 'The id of the call; only in its first piece.',
        resolve: (event) => (event.type === 'tool' ? event.id : null),
      }),
      name: t.string({
        nullable: true,
        description: 'The name of the tool; only in the first piece.',
        resolve: (event) => (event.type === 'tool' ? event.name : null),
      }),
      arguments: t.string({
        nullable: true,
        description: 'The next piece of its arguments; all joined are JSON.',
        resolve: (event) => (event.type === 'arguments' ? event.text : null),
      }),
    }),
  })

const completionType = builder.objectRef<ChatAnswer>('ChatCompletion').implement({
  description: 'A whole answer.',
  fields: (t) => ({
    id: t.id({ description: '`chatcmpl-` and 26 characters.', resolve: ({ completion }) => completion.id }),
    modelId: t.id({
      description: 'The id of the model that answered.',
      resolve: ({ completion }) => completion.model.id,
    }),
    model: t.field({
      type: modelType,
      nullable: true,
      description: 'The model, as an object.',
      resolve: ({ completion }) => completion.model,
    }),
    upstream: t.string({
      description: 'The provider that served it.',
      resolve: ({ completion }) => completion.upstream,
    }),
    content: t.exposeString('text', { description: 'The text of the answer.' }),
    refusal: t.string({
      nullable: true,
      description: 'The text of its refusal; null when it did not refuse.',
      resolve: ({ refusal }) => refusal || null,
    }),
    finishReason: t.expose('finishReason', { type: finishReason, description: 'Why it stopped.' }),
    usage: t.expose('usage', { type: usageType, description: 'The tokens it used.' }),
  }),
})

const chatEvent = builder.objectRef<ChatEvent>('ChatCompletionEvent').implement({
  description: 'A piece of an answer: exactly one of its content fields is not null.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'completion' in value,
  fields: (t) => ({
    id: t.id({ description: 'The answer it belongs to.', resolve: ({ completion }) => completion.id }),
    modelId: t.id({
      description: 'The id of the model that answers.',
      resolve: ({ completion }) => completion.model.id,
    }),
    model: t.field({
      type: modelType,
      nullable: true,
      description: 'The model, as an object.',
      resolve: ({ completion }) => completion.model,
    }),
    upstream: t.string({
      description: 'The provider that serves it.',
      resolve: ({ completion }) => completion.upstream,
    }),
    text: t.string({
      nullable: true,
      description: 'The next piece of text.',
      resolve: ({ event }) => (event.type === 'text' ? event.text : null),
    }),
    reasoningText: t.string({
      nullable: true,
      description: 'The next piece of reasoning.',
      resolve: ({ event }) => (event.type === 'reasoning' ? event.text : null),
    }),
    reasoning: t.field({
      type: reasoningType,
      nullable: true,
      description: 'A finished block of reasoning.',
      resolve: ({ event }) => (event.type === 'reasoning_end' ? event.block : null),
    }),
    toolCall: t.field({
      type: toolCallType,
      nullable: true,
      description: 'A piece of a tool call.',
      resolve: ({ event }) => (event.type === 'tool' || event.type === 'arguments' ? event : null),
    }),
    finishReason: t.field({
      type: finishReason,
      nullable: true,
      description: 'Only in the last piece.',
      resolve: ({ event }) => (event.type === 'end' ? event.finishReason : null),
    }),
    usage: t.field({
      type: usageType,
      nullable: true,
      description: 'Only in the last piece.',
      resolve: ({ event }) => (event.type === 'end' ? event.usage : null),
    }),
  }),
})

const chatEventOrHeartbeat = builder.unionType('ChatCompletionEventOrHeartbeat', {
  description: 'A piece of an answer, or a heartbeat.',
  types: [chatEvent, heartbeat],
})

const errors =
  'Errors: UNSUPPORTED_MODEL, INVALID_MESSAGES, INVALID_PARAMETER, NO_ACTIVE_PLAN, INSUFFICIENT_CREDITS, BUDGET_EXCEEDED, KEY_RATE_LIMITED, UPSTREAM_ERROR and other errors of upstreams.'

mutationOf(
  'createChatCompletion',
  { field: 'chatCompletion', type: completionType, description: 'The whole answer.' },
  `Sends a chat to a model and waits for the whole answer. Disconnecting ends the request. Tools and reasoning are not available here: use the subscription for them. ${errors}`,
  commonFields,
  (call: Context, input) => wholeAnswer(call, chatBody(input, false)),
)

const streamedInput = builder.inputType('ChatCompletionEventsInput', {
  description: 'What `chatCompletionEvents` takes.',
  fields: streamedFields,
})

builder.subscriptionFields((t) => ({
  chatCompletionEvents: t.field({
    type: chatEventOrHeartbeat,
    description: `Sends a chat to a model and streams its answer. Disconnecting ends the request. A stream cannot be resumed: missed pieces are lost. ${errors}`,
    args: { input: t.arg({ type: streamedInput, required: true, description: 'The chat.' }) },
    subscribe: async (_, { input }, call) => withHeartbeats(eventsOf(call, chatBody(input, true))),
    resolve: (event) => event as never, // isTypeOf of the union's members tells them apart
  }),
}))

async function wholeAnswer(call: Context, body: Record<string, unknown>): Promise<ChatAnswer> {
  try {
    return await collectChat(await askChat(call, body, call.signal ?? new AbortController().signal))
  } catch (error) {
    throw call.signal?.aborted ? callerLeft : error
  }
}

async function* eventsOf(call: Context, body: Record<string, unknown>): AsyncGenerator<ChatEvent> {
  const gone = new AbortController()
  const leave = (): void => gone.abort()
  call.signal?.addEventListener('abort', leave, { once: true })
  try {
    const completion = await askChat(call, body, gone.signal)
    for await (const batch of completion.events)
      for (const event of batch) if (event.type !== 'usage') yield { completion, event }
  } catch (error) {
    if (!call.signal?.aborted) throw error // the subscriber has disconnected
  } finally {
    call.signal?.removeEventListener('abort', leave)
    gone.abort()
  }
}
