/** Where the AI SDK asks for an answer that is still being written, when its page comes back (`useChat` with `resume`). */
import type { Routes } from '../routes.ts'

/** Answers belong to the connection that asked for them and are kept nowhere, so there is never one to resume: 204 says so. */
export const chatResumeRoutes: Routes = {
  'GET /v1/chat/{id}/stream': {
    status: 204,
    errors: [503],
    additive: true,
    summary: 'Nothing: answers are not kept, so none can be resumed',
    operation: 'query resumeChat { __typename }',
  },
}
