/** Runs: a session started in one request. */
import type { Routes } from '../routes.ts'

/** Runs. */
export const runRoutes: Routes = {
  'POST /v1/runs': {
    status: 202,
    errors: [400, 404, 409, 429, 503],
    summary: 'Starts a session with one of the caller’s agents, a built-in agent, or a mode',
    operation:
      'mutation createRun ($input: CreateRunInput!) { body: createRun(input: $input) { session_id: sessionId sandbox_id: vmId } }',
  },
}
