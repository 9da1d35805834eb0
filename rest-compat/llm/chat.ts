/** `POST /v1/chat`: the UI message stream of the AI SDK. */
import { readUiChatRequest } from '#src/resources/llm/chats/requests.ts'
import type { HandWritten } from '../routes.ts'
import { chatHandler } from './chat-answers.ts'
import { chatHeaders, uiMessageChunk } from './chat-answer-schemas.ts'
import { chatBody } from './chat-schemas.ts'
import { uiChunkFailure, uiChunkText } from './ui-chunks.ts'

/** The documented header, and the one that the real client looks for. */
const uiHeaders = { 'x-sdk-ui-message-stream': 'v1', 'x-vercel-ai-ui-message-stream': 'v1' } as const

/** The route, which is a stream always. */
export const chatRoute: HandWritten = {
  reason: 'A stream of typed chunks in the wire format of the AI SDK, which no GraphQL answer has.',
  name: 'createChat',
  status: 200,
  errors: [400, 402, 403, 404, 409, 502, 503, 504],
  summary: 'A chat of UI messages with a model, streamed',
  requests: { 'application/json': chatBody },
  responses: { 'text/event-stream': uiMessageChunk },
  headers: { ...chatHeaders, 'x-sdk-ui-message-stream': 'v1', 'x-vercel-ai-ui-message-stream': 'v1' },
  make: chatHandler({
    route: 'chat',
    headers: uiHeaders,
    failure: uiChunkFailure,
    read(config, body) {
      const { model, request, continuedId } = readUiChatRequest(config, body)
      return {
        model,
        request,
        text: (completion) => uiChunkText(completion, continuedId ?? completion.id),
        whole: () => Promise.reject(new Error('a UI message answer is always a stream')),
      }
    },
  }),
}
