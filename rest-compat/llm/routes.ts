/** Every path of the inference gateway, by noun. */
import type { HandWritten, Routes } from '../routes.ts'
import { chatRoute } from './chat.ts'
import { chatCompletionsRoute } from './chat-completions.ts'
import { chatResumeRoutes } from './chat-resume.ts'
import { embeddingsRoute } from './embeddings.ts'
import { countTokensRoute, messagesRoute } from './messages.ts'
import { modelRoutes } from './models.ts'
import { responsesRoute } from './responses.ts'

/** The routes of the gateway's surface. */
export const llmRoutes: Routes = { ...modelRoutes, ...chatResumeRoutes }

/** The paths of the gateway that are answered by hand. */
export const llmHandlers: Readonly<Record<string, HandWritten>> = {
  'POST /v1/chat/completions': chatCompletionsRoute,
  'POST /v1/chat': chatRoute,
  'POST /v1/messages': messagesRoute,
  'POST /v1/messages/count_tokens': countTokensRoute,
  'POST /v1/responses': responsesRoute,
  'POST /v1/embeddings': embeddingsRoute,
}
