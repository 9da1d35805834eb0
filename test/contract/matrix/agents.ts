/**
 * Who may do what in the agents service: rows as in matrix.ts. What is there belongs to the owner alone: others of the
 * organization get 404. Of the two keys, the one without `compute:use` has `agents:use`, which opens definitions of
 * agents and nothing else.
 */
import { connectorsGraphqlRows, connectorsRows } from './connectors.ts'
import { deploymentsGraphqlRows, deploymentsRows } from './deployments.ts'
import type { GraphqlRow, Outcomes, RestRow } from '../matrix.ts'
import { groupsGraphqlRows, groupsRows } from './groups.ts'
import { memoriesGraphqlRows, memoriesRows } from './memories.ts'
import { peersGraphqlRows, peersRows } from './peers.ts'
import { sessionsGraphqlRows, sessionsRows } from './sessions.ts'
import { triggersGraphqlRows, triggersRows } from './triggers.ts'
import { skillsGraphqlRows, skillsRows } from './skills.ts'
import { schedulesGraphqlRows, schedulesRows } from './schedules.ts'
import { vaultsGraphqlRows, vaultsRows } from './vaults.ts'

const noScope = '403 forbidden'
const tooLittle = '403 not_permitted_for_role'
const absent = '404 not_found'
const noKeys = '401 unauthorized'

/** A definition: also for keys, which see none of a person's. */
const readsDefinition = (yes: string): Outcomes => [yes, absent, absent, absent, absent, noScope]
const writesDefinition = (yes: string): Outcomes => [yes, absent, tooLittle, absent, absent, noScope]
const listsDefinitions = (yes: string): Outcomes => [yes, yes, yes, yes, yes, noScope]
const makesDefinition = (yes: string): Outcomes => [yes, yes, tooLittle, yes, yes, noScope]
/** All else: people only. */
const reads = (yes: string): Outcomes => [yes, absent, absent, absent, noKeys, noKeys]
const writes = (yes: string): Outcomes => [yes, absent, tooLittle, absent, noKeys, noKeys]
const lists = (yes: string): Outcomes => [yes, yes, yes, yes, noKeys, noKeys]
const makes = (yes: string): Outcomes => [yes, yes, tooLittle, yes, noKeys, noKeys]

const model = 'berth/demo'

/** Every REST operation of the agents service. */
export const agentsRows: Readonly<Record<string, RestRow>> = {
  ...sessionsRows,
  ...triggersRows,
  ...schedulesRows,
  ...skillsRows,
  ...vaultsRows,
  ...deploymentsRows,
  ...connectorsRows,
  ...memoriesRows,
  ...groupsRows,
  ...peersRows,
  'GET /agents/v1/agents': { outcomes: listsDefinitions('200') },
  'POST /agents/v1/agents': { outcomes: makesDefinition('201'), body: { name: 'x', model } },
  'GET /agents/v1/agents/{id}': { of: 'agent', outcomes: readsDefinition('200') },
  'PATCH /agents/v1/agents/{id}': { of: 'agent', outcomes: writesDefinition('200'), body: { version: 1, name: 'y' } },
  'POST /agents/v1/agents/{id}': { of: 'agent', outcomes: writes('200'), body: { name: 'y' } },
  'POST /agents/v1/agents/{id}/archive': { of: 'agent', outcomes: writesDefinition('200') },
  'GET /agents/v1/agents/{id}/versions': { of: 'agent', outcomes: readsDefinition('200') },
  'GET /agents/v1/agents/{id}/mcp-tools': { of: 'agent', outcomes: reads('200') },
  'DELETE /agents/v1/agents/{id}': { of: 'agent', outcomes: writes('204') },
  'GET /agents/v1/environments': { outcomes: lists('200') },
  'POST /agents/v1/environments': { outcomes: makes('201'), body: { name: '{fresh}' } },
  'GET /agents/v1/environments/{id}': { of: 'environment', outcomes: reads('200') },
  'POST /agents/v1/environments/{id}': { of: 'environment', outcomes: writes('200'), body: { description: 'y' } },
  'POST /agents/v1/environments/{id}/archive': { of: 'environment', outcomes: writes('200') },
  'DELETE /agents/v1/environments/{id}': { of: 'environment', outcomes: writes('204') },
  'GET /agents/v1/files': { outcomes: lists('200') },
  'POST /agents/v1/files': { outcomes: makes('400 invalid_request'), body: {} }, // it takes a form
  'GET /agents/v1/files/{id}': { of: 'file', outcomes: reads('200') },
  'GET /agents/v1/files/{id}/content': { of: 'file', outcomes: reads('200') },
  'DELETE /agents/v1/files/{id}': { of: 'file', outcomes: writes('200') },
  'GET /agents/v1/tools': { outcomes: lists('200') },
  'GET /agents/v1/models': { outcomes: lists('200') },
  'GET /agents/v1/models/{model}': { outcomes: lists('200') },
  'GET /agents/v1/models/{provider}/{name}': { outcomes: lists('200') },
}

const agent = 'id: "{agent}"'
const environment = 'id: "{environment}"'
const file = 'id: "{file}"'

/** Every root field of GraphQL that the agents service brings. */
export const agentsGraphqlRows: Readonly<Record<string, GraphqlRow>> = {
  ...sessionsGraphqlRows,
  ...triggersGraphqlRows,
  ...schedulesGraphqlRows,
  ...skillsGraphqlRows,
  ...vaultsGraphqlRows,
  ...deploymentsGraphqlRows,
  ...connectorsGraphqlRows,
  ...memoriesGraphqlRows,
  ...groupsGraphqlRows,
  ...peersGraphqlRows,
  'query agent': { outcomes: readsDefinition('200'), args: agent },
  'query agents': { outcomes: listsDefinitions('200'), args: 'first: 2' },
  'query agentMcpTools': { outcomes: reads('200'), args: 'agentId: "{agent}"' },
  'query builtInTools': { outcomes: lists('200') },
  'query environment': { outcomes: reads('200'), args: environment },
  'query environments': { outcomes: lists('200'), args: 'first: 5' },
  'mutation createAgent': { outcomes: makesDefinition('200'), args: `name: "x", model: {id: "${model}"}` },
  'mutation updateAgent': { outcomes: writesDefinition('200'), args: `${agent}, name: "y"` },
  'mutation archiveAgent': { outcomes: writesDefinition('200'), args: agent },
  'mutation deleteAgent': { outcomes: writes('200'), args: agent },
  'mutation createEnvironment': { outcomes: makes('200'), args: 'name: "{fresh}"' },
  'mutation updateEnvironment': { outcomes: writes('200'), args: `${environment}, description: "y"` },
  'mutation archiveEnvironment': { outcomes: writes('200'), args: environment },
  'mutation deleteEnvironment': { outcomes: writes('200'), args: environment },
  'query file': { outcomes: reads('200'), args: file },
  'query files': { outcomes: lists('200'), args: 'first: 5' },
  'mutation createFile': { outcomes: makes('400 invalid_request'), args: 'binaryUrl: "https://example.com/x"' },
  'mutation deleteFile': { outcomes: writes('200'), args: file },
  'subscription environmentEvents': { outcomes: reads('200'), args: 'environmentId: "{environment}"' },
}
