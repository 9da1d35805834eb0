/** Who may do what with memories: rows as in agents.ts. People only; `{memory}` is the owner's own. */
import type { GraphqlRow, Outcomes, RestRow } from '../matrix.ts'

const tooLittle = '403 not_permitted_for_role'
const absent = '404 not_found'
const noKeys = '401 unauthorized'
const reads = (yes: string): Outcomes => [yes, absent, absent, absent, noKeys, noKeys]
const writes = (yes: string): Outcomes => [yes, absent, tooLittle, absent, noKeys, noKeys]
const lists = (yes: string): Outcomes => [yes, yes, yes, yes, noKeys, noKeys]
const makes = (yes: string): Outcomes => [yes, yes, tooLittle, yes, noKeys, noKeys]
const members: Outcomes = ['200', '200', '200', '403 forbidden', noKeys, noKeys]

/** Every REST operation of memories. */
export const memoriesRows: Readonly<Record<string, RestRow>> = {
  'GET /agents/v1/memories': { outcomes: lists('200') },
  'POST /agents/v1/memories': { outcomes: makes('201'), body: { body: 'x', idempotency_key: '{fresh}' } },
  'GET /agents/v1/memories/{id}': { of: 'memory', outcomes: reads('200') },
  'PATCH /agents/v1/memories/{id}': { of: 'memory', outcomes: writes('200'), body: { body: 'y', revision: 1 } },
  'DELETE /agents/v1/memories/{id}': { of: 'memory', outcomes: writes('204'), query: '?revision=1' },
  'GET /agents/v1/memory-settings': { outcomes: lists('200') },
  'PATCH /agents/v1/memory-settings': { outcomes: makes('200'), body: { use_memories: true } },
}

const memory = 'id: "{memory}"'

/** Every root field of GraphQL that memories bring. */
export const memoriesGraphqlRows: Readonly<Record<string, GraphqlRow>> = {
  'query memory': { outcomes: reads('200'), args: memory },
  'query memories': { outcomes: members, args: 'first: 5, filter: {organizationId: "{org}"}', foreignIs403: true },
  'query recallMemories': { outcomes: members, args: 'text: "x", organizationId: "{org}"', foreignIs403: true },
  'query memorySettings': { outcomes: lists('200') },
  'mutation createMemory': { outcomes: makes('200'), args: 'body: "x", idempotencyKey: "{fresh}"' },
  'mutation updateMemory': { outcomes: writes('200'), args: `${memory}, body: "y", revision: 1` },
  'mutation deleteMemory': { outcomes: writes('200'), args: `${memory}, revision: 1` },
  'mutation updateMemorySettings': { outcomes: makes('200'), args: 'useMemories: true' },
  'subscription memoryEvents': { outcomes: members, args: 'organizationId: "{org}", after: "0"', foreignIs403: true },
}
