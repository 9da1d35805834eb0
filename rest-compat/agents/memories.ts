/** Memories over REST. Nobody on the way may keep a copy of them. */
import { memoryLimits } from '#src/platform/limits/memories.ts'
import { pageInfo } from '../lists.ts'
import type { Routes } from '../routes.ts'

const memory =
  'id type body category revision idempotency_key: idempotencyKey organization_id: organizationId actor { type id } source_session_id: sourceSessionId'
const settings = 'use_memories: useMemories'

const routes: Routes = {
  'GET /v1/memories': {
    status: 200,
    errors: [400],
    summary: 'The caller’s memories, or those that an organization shares, newest first',
    list: { shape: 'after', most: memoryLimits.listMax, usual: memoryLimits.listUsual },
    filter: { organization_id: 'organizationId', category: 'category', search: 'search' },
    operation: `query listMemories ($first: Int, $after: String, $filter: MemoryFilter) {
      body: memories(first: $first, after: $after, filter: $filter) { nodes { ${memory} } ${pageInfo} } }`,
  },
  'POST /v1/memories': {
    status: 201,
    found: { unless: 'isNew', status: 200, summary: 'The memory that this idempotency_key created before' },
    errors: [400, 409],
    summary: 'Creates a memory, once for each idempotency_key',
    operation: `mutation createMemory ($input: CreateMemoryInput!) { createMemory(input: $input) { isNew body: memory { ${memory} } } }`,
  },
  'GET /v1/memories/{id}': {
    status: 200,
    errors: [404],
    summary: 'One memory',
    operation: `query getMemory ($id: ID!) { body: memory(id: $id) { ${memory} } }`,
  },
  'PATCH /v1/memories/{id}': {
    status: 200,
    errors: [400, 404, 409],
    neverNull: ['body'],
    summary: 'Changes a memory, if the revision is the latest',
    operation: `mutation updateMemory ($input: UpdateMemoryInput!) { updateMemory(input: $input) { body: memory { ${memory} } } }`,
  },
  'DELETE /v1/memories/{id}': {
    status: 204,
    errors: [400, 404, 409],
    query: ['revision'],
    summary: 'Deletes a memory, if the revision is the latest',
    operation: 'mutation deleteMemory ($input: DeleteMemoryInput!) { deleteMemory(input: $input) { deletedId } }',
  },
  'GET /v1/memory-settings': {
    status: 200,
    errors: [],
    summary: 'The caller’s settings for memories',
    operation: `query getMemorySettings { body: memorySettings { ${settings} } }`,
  },
  'PATCH /v1/memory-settings': {
    status: 200,
    errors: [400],
    summary: 'Changes whether the caller’s agents use memories',
    operation: `mutation updateMemorySettings ($input: UpdateMemorySettingsInput!) { updateMemorySettings(input: $input) { body: memorySettings { ${settings} } } }`,
  },
}

const headers = { 'cache-control': 'private, no-store' }

/** Memories and the settings for them. */
export const memoryRoutes: Routes = Object.fromEntries(
  Object.entries(routes).map(([key, route]) => [key, { ...route, headers }]),
)

/** Anthropic's memory stores, whose documents have paths, hashes and old versions. */
export const memoryStoresAbsent = {
  '/v1/memory_stores':
    'Berth has no memory stores: keep texts of up to 10,000 characters at /agents/v1/memories, and give agents the tools remember and recall of berth_toolset_v1. See docs/memories.md.',
}
