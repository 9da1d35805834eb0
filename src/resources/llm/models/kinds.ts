/** What the entries of models for chats and of models for embeddings must have in a models file, and may not have. */
import type { UpstreamKind } from '#src/drivers/models/model.ts'
import { BerthError } from '#src/platform/errors.ts'
import type { ModelEntry } from './file.ts'
import type { Model, ModelKind } from './rows.ts'

/** What only one kind of model has. */
const ofChats = ['max_output_tokens', 'reasoning', 'capabilities', 'speed'] as const
const ofEmbeddings = ['dimensions', 'flexible_dimensions'] as const
const pricesOfChats = ['output', 'cache_read', 'cache_write'] as const

/**
 * What is wrong with an entry for a model of its kind: sentences that begin with the name of the key.
 * @param upstreams the upstreams that it names, each with its kind; undefined for one that is not known.
 */
export function kindProblems(
  entry: ModelEntry,
  upstreams: readonly { upstream: string; kind: UpstreamKind | undefined }[],
): string[] {
  const { pricing } = entry
  if (entry.kind !== 'embeddings')
    return [
      ...ofEmbeddings
        .filter((key) => entry[key] !== undefined)
        .map((key) => `${key} is for models of kind embeddings.`),
      ...(pricing && pricing.output === undefined ? ['pricing.output is needed.'] : []),
    ]
  return [
    ...(entry.dimensions === undefined ? ['dimensions is needed: how many numbers its embeddings have.'] : []),
    ...ofChats.filter((key) => entry[key] !== undefined).map((key) => `${key} is for models of kind chat.`),
    ...pricesOfChats
      .filter((key) => pricing?.[key] !== undefined)
      .map((key) => `pricing.${key} is for models of kind chat: embeddings cost input only.`),
    ...upstreams
      .filter(({ kind }) => kind === 'anthropic')
      .map(({ upstream }) => `upstreams names ${upstream}, whose kind anthropic has no embeddings.`),
  ]
}

const wanted: Readonly<Record<ModelKind, string>> = {
  chat: 'makes embeddings and does not chat. Choose a model whose kind is chat, or send texts to POST /llm/v1/embeddings',
  embeddings: 'chats and makes no embeddings. Choose a model whose kind is embeddings',
}

/** Refuses a model of another kind. @throws BerthError unsupported_model. */
export function checkKind(model: Model, kind: ModelKind): void {
  if (model.kind !== kind)
    throw new BerthError('unsupported_model', `${model.id} ${wanted[kind]}; GET /llm/v1/models lists all of them.`)
}
