/** A caller's request for embeddings of texts, outside REST: permission, rate limit, payer. */
import { BerthError } from '#src/platform/errors.ts'
import { embeddingLimits } from '#src/platform/limits/embeddings.ts'
import type { Call } from '#src/platform/services.ts'
import { admitChat } from '../chats.ts'
import { embed, type Embeddings } from '../embeddings.ts'
import type { Model } from '../models/rows.ts'
import { readEmbeddingBody } from './requests.ts'

/** Embeddings, and the model that made them. */
export type TextEmbeddings = Embeddings & { model: Model }

/**
 * Makes embeddings of texts.
 * @throws BerthError invalid_parameter and others of `POST /v1/embeddings`, and what admitChat and embed throw.
 */
export async function createEmbeddings(
  call: Call,
  { model, texts, dimensions }: { model: string; texts: readonly string[]; dimensions?: number | null | undefined },
  signal: AbortSignal,
): Promise<TextEmbeddings> {
  const { payer } = await admitChat(call)
  if (texts.length > embeddingLimits.graphqlTextsMax)
    throw new BerthError(
      'invalid_parameter',
      `texts has more than ${embeddingLimits.graphqlTextsMax} items. Send fewer, or use POST /llm/v1/embeddings.`,
    )
  const body = readEmbeddingBody(call.config, { model, input: texts, dimensions })
  return { ...(await embed(call, { ...body, payer, route: 'graphql' }, signal)), model: body.model }
}
