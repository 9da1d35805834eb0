/** Functions over REST, all of it ours. Repositories that are linked to them are in GraphQL. */
import { limits } from '#src/platform/limits.ts'
import { pageInfo } from '../lists.ts'
import type { Routes } from '../routes.ts'

const version = 'id number binary_url: binaryUrl start_command: startCommand port revision created_at: createdAt'
const short = `id name url status status_reason: statusReason retry_at: retryAt failures vcpu_count: vcpuCount memory_mb: memoryMb
  idle_seconds: idleSeconds start_seconds: startSeconds active_at: activeAt created_at: createdAt updated_at: updatedAt`
const whole = `${short} current_version: currentVersion { ${version} } variables { key value }`
const list = { shape: 'page', most: limits.connectionFirstMax, usual: limits.connectionFirstDefault } as const
const ours = { status: 200, additive: true, into: { function_id: 'id' } } as const

const changing = (name: string): string => {
  const input = name[0]?.toUpperCase() + name.slice(1)
  return `mutation ${name} ($input: ${input}Input!) { ${name}(input: $input) { body: function { ${whole} } } }`
}

/** Functions, their versions, their logs and their events. */
export const functionRoutes: Routes = {
  'GET /api/v1/functions': {
    status: 200,
    errors: [400],
    additive: true,
    summary: 'The organization’s functions, newest first',
    list,
    operation: `query listFunctions ($first: Int, $after: String) { body: functions(first: $first, after: $after) { nodes { ${short} } ${pageInfo} } }`,
  },
  'POST /api/v1/functions': {
    status: 201,
    errors: [400],
    additive: true,
    summary: 'Creates a function, and deploys it when it is given what to run',
    operation: changing('createFunction'),
  },
  'GET /api/v1/functions/{function_id}': {
    status: 200,
    errors: [404],
    additive: true,
    summary: 'One function',
    operation: `query getFunction ($function_id: ID!) { body: function(id: $function_id) { ${whole} } }`,
  },
  'PATCH /api/v1/functions/{function_id}': {
    ...ours,
    errors: [400, 404],
    summary: 'Changes a function',
    operation: changing('updateFunction'),
  },
  'DELETE /api/v1/functions/{function_id}': {
    ...ours,
    status: 204,
    errors: [404],
    summary: 'Deletes a function with its versions and its log',
    operation: `mutation deleteFunction ($input: DeleteFunctionInput!) { deleteFunction(input: $input) { deletedId } }`,
  },
  'POST /api/v1/functions/{function_id}/deploy': {
    ...ours,
    errors: [400, 404],
    summary: 'Deploys a version, to which new requests go',
    operation: changing('deployFunction'),
  },
  'POST /api/v1/functions/{function_id}/roll-back': {
    ...ours,
    errors: [400, 404],
    summary: 'Makes an earlier version the current one again',
    operation: changing('rollBackFunction'),
  },
  'POST /api/v1/functions/{function_id}/start': {
    ...ours,
    errors: [404, 503],
    summary: 'Starts a function, as a request does, and waits for it',
    operation: changing('startFunction'),
  },
  'GET /api/v1/functions/{function_id}/versions': {
    status: 200,
    errors: [400, 404],
    additive: true,
    summary: 'The versions of a function, newest first: the last 20, and the current one',
    list,
    operation: `query listFunctionVersions ($function_id: ID!, $first: Int, $after: String) {
      function(id: $function_id) { body: versions(first: $first, after: $after) { nodes { ${version} } ${pageInfo} } } }`,
  },
  'GET /api/v1/functions/{function_id}/logs/stream': {
    status: 200,
    errors: [404],
    additive: true,
    cursor: 'after',
    tokenInQuery: true,
    summary: 'What the programs of a function print, live; `after=0` is from the beginning',
    operation: `subscription followFunctionLog ($function_id: ID!, $after: String) {
      body: functionLogEvents(functionId: $function_id, after: $after) { ... on FunctionLogEntry { id: cursor output version_number: versionNumber at done: isDone } } }`,
  },
  'GET /api/v1/functions/{function_id}/events': {
    status: 200,
    errors: [404],
    additive: true,
    cursor: 'after',
    tokenInQuery: true,
    summary: 'The events of a function, live',
    operation: `subscription followFunction ($function_id: ID!, $after: String) {
      body: functionEvents(functionId: $function_id, after: $after) { ... on FunctionEvent { id: cursor status status_reason: statusReason version_number: versionNumber at } } }`,
  },
}
