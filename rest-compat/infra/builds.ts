/** Build jobs, their logs and their outputs. */
import type { Routes } from '../routes.ts'

const job = `id organization_id: organizationId status repo_url: repoUrl git_ref: gitRef commit_sha: commitSha error queued_at: queuedAt started_at: startedAt finished_at: finishedAt cancel_requested: isCancelRequested exit_code: exitCode`
/** A spec of 256 KiB as a list of numbers takes four times as much. */
const bodyBytes = 2 * 1024 * 1024

/** Build jobs and their logs. */
export const buildRoutes: Routes = {
  'GET /api/v1/build/jobs': {
    status: 200,
    errors: [400, 403],
    summary: 'The organization’s build jobs, newest first',
    list: { shape: 'rows', most: 200, usual: 200, key: 'jobs' },
    operation: `query listBuilds ($org_id: ID!, $first: Int, $offset: Int) { organization(id: $org_id) { body: builds(first: $first, offset: $offset) { nodes { ${job} } } } }`,
  },
  'POST /api/v1/build/jobs': {
    status: 201,
    errors: [400, 403, 429],
    bodyBytes,
    neverNull: ['spec'],
    always: ['org_id'],
    summary: 'Queues a build',
    operation: `mutation createBuild ($input: CreateBuildInput!) { createBuild(input: $input) { body: build { ${job} } } }`,
  },
  'GET /api/v1/build/jobs/{id}': {
    status: 200,
    errors: [403, 404],
    summary: 'One build job',
    operation: `query getBuild ($id: ID!) { body: build(id: $id) { ${job} } }`,
  },
  'POST /api/v1/build/jobs/{id}/cancel': {
    status: 200,
    errors: [403, 404],
    summary: 'Cancels a queued build immediately, and asks a running one to stop',
    operation: `mutation cancelBuild ($input: CancelBuildInput!) { cancelBuild(input: $input) { body: build { ${job} } } }`,
  },
  'GET /api/v1/build/jobs/{id}/logs': {
    status: 200,
    errors: [403, 404],
    summary: 'The most recent entries of the log, oldest first',
    operation: `query getBuildLog ($id: ID!, $limit: Int) { body: build(id: $id) { logs: log(limit: $limit) { id output done: isDone } } }`,
  },
  'GET /api/v1/build/jobs/{id}/logs/stream': {
    status: 200,
    errors: [403, 404],
    cursor: 'from',
    ends: true,
    tokenInQuery: true,
    sameForAll: true,
    summary: 'The log, live; 204 when resumed after its last entry',
    operation: `subscription followBuildLog ($id: ID!, $from: String) { body: buildLogEvents(buildId: $id, after: $from) { ... on BuildLogEntry { id output done: isDone } } }`,
  },
}
