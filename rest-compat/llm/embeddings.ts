/** `POST /v1/embeddings`: vectors of texts, in OpenAI's format. */
import { limits } from '#src/platform/limits.ts'
import { embeddingLimits } from '#src/platform/limits/embeddings.ts'
import { callerLeft } from '#src/resources/llm/chats.ts'
import { embed, type Embeddings } from '#src/resources/llm/embeddings.ts'
import { readEmbeddingBody, type EmbeddingBody } from '#src/resources/llm/embeddings/requests.ts'
import { claimKey, send } from '../answers.ts'
import type { HandWritten } from '../routes.ts'
import { admittedOf, makeAdmit } from './chat-answers.ts'
import { ChatEnd, createRunningChats } from './chat-ends.ts'
import { embeddingHeaders, embeddingList, embeddingsBody } from './embedding-schemas.ts'
import { embeddingsText } from './embedding-texts.ts'
import { attemptHeaders } from './envelope.ts'
import { holdBody } from '#src/platform/json/held-bodies.ts'

/** The route. */
export const embeddingsRoute: HandWritten = {
  reason: 'An answer may have eight million numbers, which no GraphQL answer could have without holding up all others.',
  name: 'createEmbeddings',
  status: 200,
  errors: [400, 402, 403, 404, 409, 502, 503, 504],
  summary: 'Embeddings: a vector for each text, by which similar ones are found',
  requests: { 'application/json': embeddingsBody },
  responses: { 'application/json': embeddingList },
  headers: embeddingHeaders,
  additive: true,
  make({ services, authenticator, stopping }) {
    const running = createRunningChats(stopping)
    return {
      admit: makeAdmit({ services, authenticator }),
      async handle(request, reply) {
        const { payer, caller } = admittedOf(request, reply)
        const body = readEmbeddingBody(services.config, request.body)
        holdBody(payer.organizationId, answerBytes(body), reply.raw, 'key_rate_limited')
        const end = new ChatEnd(reply.raw, running, stopping)
        try {
          const key = request.headers['idempotency-key']
          const claim = key === undefined ? undefined : await claimKey(services, caller, key, request)
          if (claim?.kept) return await send(reply.header('idempotent-replayed', 'true'), 200, claim.kept.body)
          let text: string | Buffer
          try {
            const made = await embed(services, { ...body, payer, route: 'embeddings' }, end.gone.signal)
            reply.headers(attemptHeaders(made.upstream, made.attempts))
            text = await textOf(body, made)
          } catch (error) {
            await claim?.release() // nothing was sent: the same key may be used again
            throw error
          }
          if (claim)
            await (text.length > limits.chatReplayBytes ? claim.release() : claim.keep({ status: 200, body: text }))
          return await send(reply, 200, text)
        } catch (error) {
          throw end.reason ?? (end.gone.signal.aborted ? callerLeft : error)
        } finally {
          end.over()
        }
      },
    }
  },
}

/** About how much memory the answer takes: it is counted with the organization's running requests. */
function answerBytes({ inputs, dimensions, model }: EmbeddingBody): number {
  return inputs.length * (dimensions ?? model.dimensions ?? 0) * embeddingLimits.answerBytesPerNumber
}

function textOf({ model, encoding }: EmbeddingBody, { vectors, inputTokens }: Embeddings): Promise<Buffer> {
  return embeddingsText(vectors, encoding, {
    model: model.id,
    usage: { prompt_tokens: inputTokens, total_tokens: inputTokens },
  })
}
