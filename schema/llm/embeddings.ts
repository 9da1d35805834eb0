/** Embeddings in GraphQL. */
import { builder, type Context } from '../builder.ts'
import { mutationOf } from '../mutations.ts'
import { base64OfVector } from '#src/drivers/models/embeddings.ts'
import { callerLeft } from '#src/resources/llm/chats.ts'
import { createEmbeddings, type TextEmbeddings } from '#src/resources/llm/embeddings/callers.ts'
import { modelType } from './models.ts'

const embeddingsType = builder.objectRef<TextEmbeddings>('Embeddings').implement({
  description: 'Vectors of texts, by which similar ones are found.',
  fields: (t) => ({
    modelId: t.id({ description: 'The id of the model that made them.', resolve: ({ model }) => model.id }),
    model: t.field({
      type: modelType,
      nullable: true,
      description: 'The model, as an object.',
      resolve: ({ model }) => model,
    }),
    upstream: t.exposeString('upstream', { description: 'The provider that served it.' }),
    inputTokens: t.exposeInt('inputTokens', { description: 'Tokens of all texts, as the provider counted them.' }),
    vectors: t.field({
      type: ['Bytes'],
      description: 'A vector for each text, in the same order: 32-bit floats, least significant byte first.',
      resolve: ({ vectors }) => vectors.map(base64OfVector),
    }),
  }),
})

mutationOf(
  'createEmbeddings',
  { field: 'embeddings', type: embeddingsType, description: 'The vectors.' },
  'Makes embeddings of texts. Disconnecting ends the request. Errors: UNSUPPORTED_MODEL, INVALID_PARAMETER, CONTEXT_LENGTH_EXCEEDED, NO_ACTIVE_PLAN, INSUFFICIENT_CREDITS, BUDGET_EXCEEDED, KEY_RATE_LIMITED, UPSTREAM_ERROR and other errors of upstreams.',
  (t) => ({
    model: t.id({ required: true, description: 'A model whose kind is `EMBEDDINGS`.' }),
    texts: t.stringList({ required: true, description: 'The texts: 1 to 256, none of them empty.' }),
    dimensions: t.int({
      description:
        'How many numbers each vector has; fewer than the model’s own only where its dimensions are flexible.',
    }),
  }),
  async (call: Context, input) => {
    try {
      return await createEmbeddings(call, input, call.signal ?? new AbortController().signal)
    } catch (error) {
      throw call.signal?.aborted ? callerLeft : error
    }
  },
)
