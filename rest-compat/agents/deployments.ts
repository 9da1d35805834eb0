/** Deployments over REST, and the records of their runs. */
import { limits } from '#src/platform/limits.ts'
import { pageInfo } from '../lists.ts'
import type { Route, Routes } from '../routes.ts'
import { createdFilter } from './created-filters.ts'
import { environmentConfigFields } from './environments.ts'
import { sessionParts } from './session-parts.ts'
import { sessionFragment } from './sessions.ts'

const list = { shape: 'page', most: limits.agentsListMax, usual: limits.agentsListMax } as const
/** @param version the field of the agent's version: Anthropic's clients expect a number also for the newest. */
const fieldsWith = (
  version: string,
): string => `id type name description agent: agentReference { type id version: ${version} }
  environment { ... on NoEnvironment { type } ... on ExistingEnvironment { type environment_id: environmentId } ... on EphemeralEnvironment { type config ${environmentConfigFields} } }
  environment_id: environmentId vault_ids: vaultIds kickoff { text events: wireEvents } initial_events: wireInitialEvents
  status paused_reason: pausedReason { ... on PausedByOwner { type } ... on PausedByError { type error { type } } }
  schedule { type expression timezone last_run_at: lastRunAt upcoming_runs_at: upcomingRunsAt }
  metadata budget ${sessionParts.budget} resources last_run_at: lastRunAt created_at: createdAt updated_at: updatedAt archived_at: archivedAt`
const fields = fieldsWith('version')
const fieldsForAnthropic = fieldsWith('currentVersion')
const run = `id type deployment_id: deploymentId agent: agentReference { type id version } session_id: sessionId error { type message }
  trigger_context: trigger { ... on ManualRun { type } ... on ScheduledRun { type scheduled_at: scheduledAt } ... on TriggeredRun { type delivery_id: deliveryId } }
  created_at: createdAt`

/** A route whose document shows deployments, in both forms. */
function shown(route: Omit<Route, 'operation'>, operation: (fields: string) => string): Route {
  return { ...route, operation: operation(fields), forAnthropic: operation(fieldsForAnthropic) }
}
const changing =
  (name: string, verb = name) =>
  (shownFields: string): string =>
    `mutation ${name}Deployment ($input: ${(verb[0]?.toUpperCase() ?? '') + verb.slice(1)}DeploymentInput!) { ${verb}Deployment(input: $input) { body: deployment { ${shownFields} } } }`
const neverNull = ['name', 'agent', 'kickoff', 'initial_events', 'status'] as const
const updating = { status: 200, errors: [400, 404, 409], neverNull } as const

/** Deployments and their runs. */
export const deploymentRoutes: Routes = {
  'GET /v1/deployments': shown(
    {
      status: 200,
      errors: [400],
      summary: 'The caller’s deployments, newest first',
      list,
      filter: { agent_id: 'agentId', status: 'status', include_archived: 'includeArchived', ...createdFilter },
    },
    (shownFields) => `query listDeployments ($first: Int, $after: String, $filter: DeploymentFilter) {
      body: deployments(first: $first, after: $after, filter: $filter) { nodes { ${shownFields} } ${pageInfo} } }`,
  ),
  'POST /v1/deployments': shown(
    { status: 201, errors: [400, 404, 409], summary: 'Creates a deployment' },
    changing('create'),
  ),
  'GET /v1/deployments/{id}': shown(
    { status: 200, errors: [404], summary: 'One deployment' },
    (shownFields) => `query getDeployment ($id: ID!) { body: deployment(id: $id) { ${shownFields} } }`,
  ),
  'PATCH /v1/deployments/{id}': shown({ ...updating, summary: 'Updates a deployment' }, changing('update')),
  'POST /v1/deployments/{id}': shown(
    { ...updating, additive: true, summary: 'The same for Anthropic’s client' },
    changing('update'),
  ),
  'DELETE /v1/deployments/{id}': {
    status: 204,
    errors: [404],
    deletes: 'deployment',
    summary: 'Deletes a deployment with the records of its runs; its sessions stay',
    operation:
      'mutation deleteDeployment ($input: DeleteDeploymentInput!) { deleteDeployment(input: $input) { deletedId } }',
  },
  'POST /v1/deployments/{id}/archive': shown(
    { status: 200, errors: [404], additive: true, summary: 'Archives a deployment: nothing starts it any more' },
    changing('archive'),
  ),
  'POST /v1/deployments/{id}/pause': shown(
    {
      status: 200,
      errors: [404, 409],
      additive: true,
      summary: 'Pauses a deployment: schedules and triggers do not start it',
    },
    changing('pause'),
  ),
  'POST /v1/deployments/{id}/unpause': shown(
    { status: 200, errors: [404, 409], additive: true, summary: 'Lets schedules and triggers start it again' },
    changing('unpause', 'resume'),
  ),
  'POST /v1/deployments/{id}/run': {
    status: 202,
    errors: [402, 404, 409, 429],
    summary: 'Starts a session on behalf of the caller; Anthropic’s client gets the record of the run',
    operation: `mutation runDeployment ($input: RunDeploymentInput!) { runDeployment(input: $input) { body: session { ...Session } } } ${sessionFragment}`,
    forAnthropic: `mutation runDeployment ($input: RunDeploymentInput!) { runDeployment(input: $input) { body: deploymentRun { ${run} } } }`,
  },
  'GET /v1/deployments/{id}/runs': {
    status: 200,
    errors: [400, 404],
    summary: 'The sessions that a deployment started, newest last',
    list,
    operation: `query listSessionsOfDeployment ($id: ID!, $first: Int, $after: String) {
      deployment(id: $id) { body: sessions(first: $first, after: $after, order: ASC) { nodes { ...Session } ${pageInfo} } } } ${sessionFragment}`,
  },
  'GET /v1/deployment_runs': {
    status: 200,
    errors: [400],
    additive: true,
    summary: 'The records of the runs of the caller’s deployments, newest first',
    list,
    filter: { deployment_id: 'deploymentId', has_error: 'hasError', trigger_type: 'triggerType', ...createdFilter },
    operation: `query listDeploymentRuns ($first: Int, $after: String, $filter: DeploymentRunFilter) {
      body: deploymentRuns(first: $first, after: $after, filter: $filter) { nodes { ${run} } ${pageInfo} } }`,
  },
  'GET /v1/deployment_runs/{id}': {
    status: 200,
    errors: [404],
    additive: true,
    summary: 'The record of one run',
    operation: `query getDeploymentRun ($id: ID!) { body: deploymentRun(id: $id) { ${run} } }`,
  },
}
