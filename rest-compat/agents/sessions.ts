/** Sessions, their events and their streams. */
import { limits } from '#src/platform/limits.ts'
import { pageInfo } from '../lists.ts'
import type { Routes } from '../routes.ts'
import { createdFilter } from './created-filters.ts'
import { sessionParts } from './session-parts.ts'
import { resourceParts } from './sessions/resources.ts'

const { activity, budget, outcome, stopReason, usage } = sessionParts
/** A session as REST shows it. */
export const sessionFragment = `fragment Session on Session { id type title agent: wireAgent agent_id: agentId environment_id: environmentId deployment_id: deploymentId kind source: sourceKind status
  stop_reason: stopReason ${stopReason} vault_ids: vaultIds metadata resources ${resourceParts} outcome_evaluations: outcomeEvaluations ${outcome}
  budget ${budget} usage ${usage} stats { active_seconds: activeSeconds duration_seconds: durationSeconds }
  shared: isShared shared_at: sharedAt activity ${activity} created_at: createdAt updated_at: updatedAt archived_at: archivedAt }`

/** Sessions, their logs and transcripts. */
export const sessionRoutes: Routes = {
  'GET /v1/sessions': {
    status: 200,
    errors: [400],
    summary: 'The caller’s sessions, newest first',
    list: { shape: 'pageBothWays', most: limits.agentsListMax, usual: limits.agentsListMax, order: true },
    filter: {
      agent_id: 'agentId',
      agent_version: 'agentVersion',
      deployment_id: 'deploymentId',
      archived: 'archived',
      include_archived: 'includeArchived',
      'statuses[]': 'statuses',
      ...createdFilter,
    },
    operation: `query listSessions ($first: Int, $after: String, $last: Int, $before: String, $filter: SessionFilter, $order: OrderDirection) {
      body: sessions(first: $first, after: $after, last: $last, before: $before, filter: $filter, order: $order) { nodes { ...Session } ${pageInfo} } } ${sessionFragment}`,
  },
  'POST /v1/sessions': {
    status: 201,
    errors: [400, 404, 409],
    summary: 'Starts a session with an agent',
    operation: `mutation createSession ($input: CreateSessionInput!) { createSession(input: $input) { body: session { ...Session } } } ${sessionFragment}`,
  },
  'GET /v1/sessions/{id}': {
    status: 200,
    errors: [404],
    summary: 'One session',
    operation: `query getSession ($id: ID!) { body: session(id: $id) { ...Session } } ${sessionFragment}`,
  },
  'POST /v1/sessions/{id}': {
    status: 200,
    errors: [400, 404, 409],
    additive: true,
    summary: 'Updates a session from its next turn on',
    operation: `mutation updateSession ($input: UpdateSessionInput!) { updateSession(input: $input) { body: session { ...Session } } } ${sessionFragment}`,
  },
  'DELETE /v1/sessions/{id}': {
    status: 204,
    errors: [404],
    deletes: 'session',
    summary: 'Deletes a session with its log; a running one is interrupted first',
    operation: 'mutation deleteSession ($input: DeleteSessionInput!) { deleteSession(input: $input) { deletedId } }',
  },
  'POST /v1/sessions/{id}/archive': {
    status: 200,
    errors: [404, 409],
    summary: 'Archives a session, which ends it',
    operation: `mutation archiveSession ($input: ArchiveSessionInput!) { archiveSession(input: $input) { body: session { ...Session } } } ${sessionFragment}`,
  },
  'PUT /v1/sessions/{id}/sharing': {
    status: 200,
    errors: [400, 404],
    summary: 'Shares the transcript with anyone who has the link, or stops sharing it',
    operation: `mutation setSessionSharing ($input: SetSessionSharingInput!) { setSessionSharing(input: $input) { body: session { ...Session } } } ${sessionFragment}`,
  },
  'GET /v1/shared-sessions/{id}': {
    status: 200,
    large: true,
    errors: [400, 404],
    summary: 'The transcript of a shared session; needs no credentials',
    open: true,
    headers: { 'cache-control': 'no-store', 'x-robots-tag': 'noindex' },
    list: { shape: 'page', most: limits.eventListMax, usual: limits.eventListMax, at: 'transcript' },
    entriesBy: 'wire',
    operation: `query getSharedSession ($id: ID!, $first: Int, $after: String) {
      body: sharedSession(id: $id) { type id title agent { name } shared_at: sharedAt transcript(first: $first, after: $after) { nodes { wire } ${pageInfo} } } }`,
  },
  'PUT /v1/sessions/{id}/seen': {
    status: 200,
    errors: [400, 404],
    summary: 'Marks how far the owner has read',
    operation: `mutation markSessionSeen ($input: MarkSessionSeenInput!) { markSessionSeen(input: $input) { session { body: activity ${activity} } } }`,
  },
  'GET /v1/sessions/{id}/events': {
    status: 200,
    large: true,
    errors: [400, 404],
    summary: 'The log, oldest first',
    list: { shape: 'page', most: limits.eventListMax, usual: limits.eventListDefault, order: true },
    filter: { 'types[]': 'types', ...createdFilter },
    entriesBy: 'wire',
    operation: `query listSessionEvents ($id: ID!, $first: Int, $after: String, $filter: SessionEventFilter, $order: OrderDirection) {
      body: sessionEvents(sessionId: $id, first: $first, after: $after, filter: $filter, order: $order) { nodes { wire } ${pageInfo} } }`,
  },
  'POST /v1/sessions/{id}/events': {
    status: 200,
    large: true,
    errors: [400, 404, 409],
    bodyBytes: limits.eventsBodyBytes,
    summary: 'Sends 1 to 100 events, all or none',
    into: { id: 'sessionId' },
    entriesBy: 'wire',
    operation:
      'mutation sendSessionEvents ($input: SendSessionEventsInput!) { body: sendSessionEvents(input: $input) { data: sessionEvents { wire } } }',
  },
  'GET /v1/sessions/{id}/events/stream': {
    status: 200,
    errors: [400, 404],
    cursor: 'after',
    tokenInQuery: true,
    sameForAll: true,
    frames: 'named',
    summary: 'The session’s events: from now on, from after an event, or from the beginning',
    queryNames: { event_deltas: 'event_deltas[]' },
    operation: `subscription followSessionEvents ($id: ID!, $after: String, $replay: Boolean, $event_deltas: [SessionPreviewType!]) {
      body: sessionEvents(sessionId: $id, after: $after, replay: $replay, previews: $event_deltas) { ... on SessionEmission { id: cursor event: wire } } }`,
  },
}
