/** `POST /v1/chat/completions`: chats in OpenAI's format. */
import { readChatRequest } from '#src/resources/llm/chats/requests.ts'
import { collectChat } from '#src/resources/llm/chats.ts'
import type { HandWritten } from '../routes.ts'
import { chatHandler } from './chat-answers.ts'
import { chatCompletion, chatCompletionEvent, chatHeaders } from './chat-answer-schemas.ts'
import { chatCompletionsBody } from './chat-schemas.ts'
import { bodyText } from '#src/platform/json/text.ts'
import { chunkFailure, chunkText, completionBody } from './chunks.ts'
import { joinedBody } from './joined-chats.ts'

/** The route, streamed and not. */
export const chatCompletionsRoute: HandWritten = {
  reason:
    'Ten thousand requests and a hundred thousand chunks a second pass here, in a wire format that no GraphQL answer has: chunks, [DONE], errors in the middle.',
  name: 'createChatCompletion',
  status: 200,
  errors: [400, 402, 403, 404, 409, 502, 503, 504],
  summary: 'A chat with a model: answered as a whole, or streamed with stream: true',
  requests: { 'application/json': chatCompletionsBody },
  responses: { 'application/json': chatCompletion, 'text/event-stream': chatCompletionEvent },
  headers: chatHeaders,
  make: chatHandler({
    route: 'chat.completions',
    headers: {},
    failure: chunkFailure,
    read(config, body) {
      const { model, request, includeUsage, isJoined } = readChatRequest(config, body, config.chatJoinStreams)
      return {
        model,
        request,
        isJoined,
        text: (completion) => chunkText(completion, includeUsage),
        async whole(completion) {
          if (isJoined) return bodyText(await joinedBody(completion))
          return bodyText(completionBody(completion, await collectChat(completion)))
        },
      }
    },
  }),
}
