/** `POST /v1/messages`: chats in Anthropic's format, and the count of a request's tokens. */
import { bodyText } from '#src/platform/json/text.ts'
import { callerLeft } from '#src/resources/llm/chats.ts'
import { countRequest } from '#src/resources/llm/messages/counts.ts'
import { readCountRequest, readMessagesRequest } from '#src/resources/llm/messages/requests.ts'
import { claimKey, send } from '../answers.ts'
import type { HandWritten } from '../routes.ts'
import { admittedOf, chatHandler, makeAdmit } from './chat-answers.ts'
import { ChatEnd, createRunningChats } from './chat-ends.ts'
import { attemptHeaders } from './envelope.ts'
import { messageBody, messageEventText, messageFailure, messagesEnvelope } from './message-events.ts'
import { messageError, messageEvent, messageHeaders, tokenCount, wholeMessage } from './message-answer-schemas.ts'
import { countTokensBody, messagesBody } from './message-schemas.ts'

/** What to say of a part of Anthropic's interface that Berth does not have. */
export const messageBatchesAbsent = {
  '/v1/messages/batches': 'Berth has no batches of messages: send each by itself to POST /llm/v1/messages.',
}

/** How both routes fail. */
const failure = { envelope: messagesEnvelope, schema: messageError }

/** The route of messages, streamed and not. */
export const messagesRoute: HandWritten = {
  reason: 'As many requests and events as on /v1/chat/completions, in the wire format of Anthropic’s clients.',
  name: 'createMessage',
  status: 200,
  errors: [400, 402, 403, 404, 409, 502, 503, 504],
  summary: 'A chat with a model in Anthropic’s format: answered as a whole, or streamed with stream: true',
  requests: { 'application/json': messagesBody },
  responses: { 'application/json': wholeMessage, 'text/event-stream': messageEvent },
  headers: messageHeaders,
  additive: true,
  failure,
  make: chatHandler({
    route: 'messages',
    headers: {},
    failure: messageFailure,
    read(config, body) {
      const { model, request } = readMessagesRequest(config, body)
      return {
        model,
        request,
        text: (completion) => messageEventText(completion, request),
        whole: async (completion) => bodyText(await messageBody(completion, request.stop)),
      }
    },
  }),
}

/** The route that counts. */
export const countTokensRoute: HandWritten = {
  reason: 'Its body is that of /v1/messages, which no GraphQL input describes.',
  name: 'countMessageTokens',
  status: 200,
  errors: [400, 403, 404, 409, 502, 503, 504],
  summary: 'How many tokens a request in Anthropic’s format has',
  requests: { 'application/json': countTokensBody },
  responses: { 'application/json': tokenCount },
  headers: messageHeaders,
  additive: true,
  failure,
  make({ services, authenticator, stopping }) {
    const running = createRunningChats(stopping)
    return {
      admit: makeAdmit({ services, authenticator }),
      async handle(request, reply) {
        const { caller } = admittedOf(request, reply)
        const asked = readCountRequest(services.config, request.body)
        const end = new ChatEnd(reply.raw, running, stopping)
        try {
          const key = request.headers['idempotency-key']
          const claim = key === undefined ? undefined : await claimKey(services, caller, key, request)
          if (claim?.kept) return await send(reply.header('idempotent-replayed', 'true'), 200, claim.kept.body)
          let body: string
          try {
            const { inputTokens, upstream, attempts } = await countRequest(asked, end.gone.signal)
            reply.headers(attemptHeaders(upstream, attempts))
            body = JSON.stringify({ input_tokens: inputTokens, context_management: null })
          } catch (error) {
            await claim?.release() // nothing was sent: the same key may be used again
            throw error
          }
          await claim?.keep({ status: 200, body })
          return await send(reply, 200, body)
        } catch (error) {
          throw end.reason ?? (end.gone.signal.aborted ? callerLeft : error)
        } finally {
          end.over()
        }
      },
    }
  },
}
