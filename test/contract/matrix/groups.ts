/** Who may do what with groups and their runs: rows as in agents.ts. People only, and each their own. */
import type { GraphqlRow, Outcomes, RestRow } from '../matrix.ts'

const tooLittle = '403 not_permitted_for_role'
const absent = '404 not_found'
const foreign = '403 forbidden'
const noKeys = '401 unauthorized'
const reads = (yes: string): Outcomes => [yes, absent, absent, absent, noKeys, noKeys]
const writes = (yes: string): Outcomes => [yes, absent, tooLittle, absent, noKeys, noKeys]
const lists: Outcomes = ['200', '200', '200', foreign, noKeys, noKeys]
const makes = (yes: string): Outcomes => [yes, absent, tooLittle, foreign, noKeys, noKeys]
const run = '/agents/v1/groups/{id}/runs/{run_id}'
const members = ['{groupMember}', '{otherMember}']

/** Every REST operation of groups. */
export const groupsRows: Readonly<Record<string, RestRow>> = {
  'GET /agents/v1/groups': { outcomes: lists, query: '?org_id={org}', foreignIs403: true },
  'POST /agents/v1/groups': {
    of: 'group',
    outcomes: makes('201'),
    body: { org_id: '{org}', member_ids: members },
    foreignIs403: true,
  },
  'GET /agents/v1/groups/{id}': { of: 'group', outcomes: reads('200') },
  'PATCH /agents/v1/groups/{id}': { of: 'group', outcomes: writes('200'), body: { name: 'y', description: null } },
  'DELETE /agents/v1/groups/{id}': { of: 'group', outcomes: writes('204') },
  'GET /agents/v1/groups/{id}/history': { of: 'group', outcomes: reads('200') },
  'POST /agents/v1/groups/{id}/messages': { of: 'group', outcomes: writes('202'), body: { text: 'x' } },
  [`GET ${run}`]: { of: 'group', outcomes: reads('200') },
  [`GET ${run}/stream`]: { of: 'group', outcomes: reads('200') },
  [`POST ${run}/stop`]: { of: 'group', outcomes: writes('204') },
  [`POST ${run}/approvals/{approval_id}`]: { of: 'group', outcomes: writes('200'), body: { approved: true } },
  [`POST ${run}/questions/{tool_call_id}`]: { of: 'group', outcomes: writes('200'), body: { answer: 'x' } },
}

const group = 'id: "{group}"'
const named = 'groupId: "{group}", id: "{groupRun}"'
const ofRun = 'groupId: "{group}", runId: "{groupRun}"'

/** Every root field of GraphQL that groups bring. */
export const groupsGraphqlRows: Readonly<Record<string, GraphqlRow>> = {
  'query group': { outcomes: reads('200'), args: group },
  'query groups': { outcomes: lists, args: 'organizationId: "{org}", first: 5', foreignIs403: true },
  'query groupSnapshot': { outcomes: reads('200'), args: 'groupId: "{group}"' },
  'query groupHistory': { outcomes: reads('200'), args: 'groupId: "{group}"' },
  'query groupRun': { outcomes: reads('200'), args: named },
  'mutation createGroup': {
    outcomes: makes('200'),
    args: `organizationId: "{org}", memberIds: ${JSON.stringify(members)}`,
    foreignIs403: true,
  },
  'mutation updateGroup': { outcomes: writes('200'), args: `${group}, name: "y", description: null` },
  'mutation deleteGroup': { outcomes: writes('200'), args: group },
  'mutation sendGroupMessage': { outcomes: writes('200'), args: 'groupId: "{group}", text: "x"' },
  'mutation stopGroupRun': { outcomes: writes('200'), args: named },
  'mutation answerGroupApproval': {
    outcomes: writes('200'),
    args: `${ofRun}, approvalId: "{approval_id}", approved: true`,
  },
  'mutation answerGroupQuestion': {
    outcomes: writes('200'),
    args: `${ofRun}, toolCallId: "{tool_call_id}", answer: "x"`,
  },
  'subscription groupEvents': { outcomes: reads('200'), args: 'groupId: "{group}", after: "2"' },
  'subscription groupRunChunkEvents': { outcomes: reads('200'), args: 'groupId: "{group}", groupRunId: "{groupRun}"' },
  'subscription groupRunStateChanged': { outcomes: reads('200'), args: 'groupId: "{group}", groupRunId: "{groupRun}"' },
}
