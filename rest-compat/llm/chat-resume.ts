/** Resuming a chat, which the AI SDK attempts when its page is reloaded (`useChat` with `resume`). */
import type { Routes } from '../routes.ts'

/**
 * Answers belong to the connection that requested them and are not stored, so there is never one to resume: 204 says
 * so.
 */
export const chatResumeRoutes: Routes = {
  'GET /v1/chat/{id}/stream': {
    status: 204,
    errors: [503],
    additive: true,
    summary: 'Always empty: answers are not stored, so none can be resumed',
    operation: 'query resumeChat { __typename }',
  },
}
