/** Runs: a session started in one request. */
import type { Routes } from '../routes.ts'

/** Runs. */
export const runRoutes: Routes = {
  'POST /v1/runs': {
    status: 202,
    errors: [400, 404, 409, 429, 503],
    summary: 'Begins a session with one of the caller’s agents, a built-in one, or a mode',
    operation: `mutation ($agent: JSON, $builtin: String, $mode: String, $input: String, $vault_ids: [ID!], $environment_id: ID, $metadata: JSON) {
      body: createRun(agent: $agent, builtin: $builtin, mode: $mode, input: $input, vaultIds: $vault_ids, environmentId: $environment_id, metadata: $metadata) { session_id: sessionId sandbox_id: sandboxId } }`,
  },
}
