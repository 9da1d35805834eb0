/** Triggers and their fires over REST. */
import { limits } from '#src/platform/limits.ts'
import { pageInfo } from '../lists.ts'
import { usualRoutes } from '../nouns.ts'
import type { Routes } from '../routes.ts'

const fields = `id type name agent: agentReference { type id version } deployment_id: deploymentId repo events enabled: isEnabled
  filters { branches paths labels comment_prefix: commentPrefix allow_forks: allowForks allow_bots: allowBots author_associations: authorAssociations }
  last_fired_at: lastFiredAt created_at: createdAt updated_at: updatedAt`
const fireFields = `id type trigger_id: triggerId delivery_id: deliveryId event action repo ref sha number sender { login type }
  status skip_reason: skipReason session_id: sessionId error { type message } redelivery_count: redeliveryCount received_at: receivedAt finished_at: finishedAt`

const usual = usualRoutes({
  path: '/v1/triggers',
  type: 'Trigger',
  one: 'a trigger',
  fields,
  summaries: {
    list: 'The caller’s triggers, newest first',
    create: 'Creates a trigger for a repository that the caller’s connected account may write to',
    update: 'Changes a trigger',
    delete: 'Deletes a trigger with its fires',
  },
  conflicts: { create: [401, 404, 409, 429, 502, 504], update: [401, 409, 429, 502, 504] },
  neverNull: ['name', 'agent', 'repo', 'events', 'enabled'],
  filter: { agent_id: 'agentId', deployment_id: 'deploymentId' },
  deletes: 'trigger',
})
/** Triggers. */
export const triggerRoutes: Routes = {
  ...usual,
  'PATCH /v1/triggers/{id}': {
    status: 200,
    errors: [400, 401, 404, 409, 429, 502, 504],
    neverNull: ['name', 'agent', 'repo', 'events', 'enabled'],
    summary: 'Changes a trigger',
    operation: `mutation updateTrigger ($input: UpdateTriggerInput!) { updateTrigger(input: $input) { body: trigger { ${fields} } } }`,
  },
  'GET /v1/triggers/{id}/fires': {
    status: 200,
    errors: [400, 404],
    summary: 'The fires of a trigger, newest first: what became of each event',
    list: { shape: 'page', most: limits.agentsListMax, usual: limits.agentsListMax },
    operation: `query listTriggerFires ($id: ID!, $first: Int, $after: String) {
      body: triggerFires(triggerId: $id, first: $first, after: $after) { nodes { ${fireFields} } ${pageInfo} } }`,
  },
}
