/** Sessions, their events and their streams. */
import { limits } from '#src/platform/limits.ts'
import type { Routes } from '../routes.ts'
import { createdArguments, createdNames, createdVariables } from './created-filters.ts'

const activity =
  'last_event_id: lastEventId last_event_at: lastEventAt last_read_event_id: lastReadEventId unread_count: unreadCount requires_action: requiresAction'
const session = `id type title agent agent_id: agentId environment_id: environmentId deployment_id: deploymentId kind source status stop_reason: stopReason vault_ids: vaultIds metadata resources outcome_evaluations: outcomeEvaluations
  budget usage stats shared shared_at: sharedAt activity { ${activity} } created_at: createdAt updated_at: updatedAt archived_at: archivedAt`

/** Sessions, their logs and transcripts. */
export const sessionRoutes: Routes = {
  'GET /v1/sessions': {
    status: 200,
    errors: [400],
    summary: 'The caller’s sessions, newest first',
    queryNames: { ...createdNames, statuses: 'statuses[]' },
    operation: `query ($agent_id: ID, $agent_version: Int, $deployment_id: ID, $archived: ArchivedFilter, $include_archived: Boolean, $statuses: [SessionStatus!], $order: ListOrder, ${createdVariables}, $limit: Int, $page: String) {
      body: sessionList(agentId: $agent_id, agentVersion: $agent_version, deploymentId: $deployment_id, archived: $archived, includeArchived: $include_archived, statuses: $statuses, order: $order, ${createdArguments}, limit: $limit, page: $page) {
        data { ${session} } has_more: hasMore next_page: nextPage prev_page: prevPage } }`,
  },
  'POST /v1/sessions': {
    status: 201,
    errors: [400, 404, 409],
    summary: 'Begins a session with an agent',
    operation: `mutation ($agent: JSON, $agent_id: ID, $environment_id: ID, $vault_ids: [ID!], $title: String, $metadata: JSON, $budget: JSON, $resources: JSON, $initial_events: JSON) {
      body: createSession(agent: $agent, agentId: $agent_id, environmentId: $environment_id, vaultIds: $vault_ids, title: $title, metadata: $metadata, budget: $budget, resources: $resources, initialEvents: $initial_events) { ${session} } }`,
  },
  'GET /v1/sessions/{id}': {
    status: 200,
    errors: [404],
    summary: 'One session',
    operation: `query ($id: ID!) { body: session(id: $id) { ${session} } }`,
  },
  'POST /v1/sessions/{id}': {
    status: 200,
    errors: [400, 404, 409],
    additive: true,
    summary: 'Changes a session from its next turn on',
    operation: `mutation ($id: ID!, $title: String, $metadata: JSON, $budget: JSON, $vault_ids: [ID!], $agent: JSON) {
      body: updateSession(id: $id, title: $title, metadata: $metadata, budget: $budget, vaultIds: $vault_ids, agent: $agent) { ${session} } }`,
  },
  'DELETE /v1/sessions/{id}': {
    status: 204,
    errors: [404],
    deletes: 'session',
    summary: 'Deletes a session with its log; one at work is interrupted first',
    operation: 'mutation ($id: ID!) { deleteSession(id: $id) }',
  },
  'POST /v1/sessions/{id}/archive': {
    status: 200,
    errors: [404, 409],
    summary: 'Archives a session, which ends it',
    operation: `mutation ($id: ID!) { body: archiveSession(id: $id) { ${session} } }`,
  },
  'PUT /v1/sessions/{id}/sharing': {
    status: 200,
    errors: [400, 404],
    summary: 'Shares the transcript with everybody who has the link, or ends that',
    operation: `mutation ($id: ID!, $shared: Boolean!) { body: setSessionSharing(id: $id, shared: $shared) { ${session} } }`,
  },
  'GET /v1/shared-sessions/{id}': {
    status: 200,
    large: true,
    errors: [400, 404],
    summary: 'The transcript of a shared session; needs no credentials',
    open: true,
    headers: { 'cache-control': 'no-store', 'x-robots-tag': 'noindex' },
    operation:
      'query ($id: ID!, $limit: Int, $page: String) { body: sharedSession(id: $id, limit: $limit, page: $page) { type id title agent shared_at: sharedAt data has_more: hasMore next_page: nextPage } }',
  },
  'PUT /v1/sessions/{id}/seen': {
    status: 200,
    errors: [400, 404],
    summary: 'Says how far the owner has read',
    operation: `mutation ($id: ID!, $through_event_id: ID!) { body: markSessionSeen(id: $id, throughEventId: $through_event_id) { ${activity} } }`,
  },
  'GET /v1/sessions/{id}/events': {
    status: 200,
    large: true,
    errors: [400, 404],
    summary: 'The log, oldest first',
    queryNames: { ...createdNames, types: 'types[]' },
    operation: `query ($id: ID!, $limit: Int, $page: String, $order: ListOrder, $types: [String!], ${createdVariables}) {
      body: sessionEventList(sessionId: $id, limit: $limit, page: $page, order: $order, types: $types, ${createdArguments}) { data has_more: hasMore next_page: nextPage } }`,
  },
  'POST /v1/sessions/{id}/events': {
    status: 200,
    large: true,
    errors: [400, 404, 409],
    bodyBytes: limits.eventsBodyBytes,
    summary: 'Sends 1 to 100 events, all or none',
    operation: 'mutation ($id: ID!, $events: JSON!) { data: sendSessionEvents(sessionId: $id, events: $events) }',
  },
  'GET /v1/sessions/{id}/events/stream': {
    status: 200,
    errors: [400, 404],
    cursor: 'after',
    tokenInQuery: true,
    sameForAll: true,
    frames: 'named',
    summary: 'What happens in the session, from now on, from behind an event, or from the beginning',
    queryNames: { event_deltas: 'event_deltas[]' },
    operation: `subscription ($id: ID!, $after: String, $replay: Boolean, $event_deltas: [String!]) {
      body: sessionEvents(sessionId: $id, after: $after, replay: $replay, previews: $event_deltas) { ... on SessionEvent { id: cursor event } } }`,
  },
}
