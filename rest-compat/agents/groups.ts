/** Groups over REST. The stream of a run is not here: it is in the AI SDK's format. */
import { limits } from '#src/platform/limits.ts'
import { pageInfo } from '../lists.ts'
import type { Routes } from '../routes.ts'
import { sessionParts } from './session-parts.ts'

const group = `id type org_id: organizationId name description member_ids: memberIds
  members { session_id: sessionId agent_id: agentId handle display_name: displayName status }
  revision next_sequence: nextSequence created_at: createdAt updated_at: updatedAt archived_at: archivedAt`
const message = `id type group_id: groupId sequence author { type id handle } text recipient_ids: recipientIds run_id: runId
  undelivered_reason: undeliveredReason created_at: createdAt`
const run = `run_id: id type group_id: groupId session_id: sessionId message_id: messageId status revision
  reply { message_id: messageId text parts { type text } }
  pending_approvals: pendingApprovals { approval_id: approvalId tool_call_id: toolCallId tool_name: toolName input created_at: createdAt }
  pending_questions: pendingQuestions { tool_call_id: toolCallId question options created_at: createdAt }
  error { type message } usage ${sessionParts.usage} created_at: createdAt started_at: startedAt finished_at: finishedAt`

/** Groups, their messages and runs. */
export const groupRoutes: Routes = {
  'GET /v1/groups': {
    status: 200,
    errors: [400],
    summary: 'The caller’s groups in an organization, newest first',
    list: { shape: 'page', most: limits.agentsListMax, usual: limits.agentsListMax },
    operation: `query listGroups ($org_id: ID!, $first: Int, $after: String) {
      body: groups(organizationId: $org_id, first: $first, after: $after) { nodes { ${group} } ${pageInfo} } }`,
  },
  'POST /v1/groups': {
    status: 201,
    errors: [400, 404, 409],
    always: ['org_id'],
    summary: 'Creates a group of two to eight sessions',
    operation: `mutation createGroup ($input: CreateGroupInput!) { createGroup(input: $input) { body: group { ${group} } } }`,
  },
  'GET /v1/groups/{id}': {
    status: 200,
    large: true,
    errors: [404],
    summary: 'A group as it is now, with its newest messages and its runs',
    operation: `query getGroup ($id: ID!) { body: groupSnapshot(groupId: $id) {
      group { ${group} } revision transcript { ${message} } runs { ${run} } has_more: hasMore } }`,
  },
  'PATCH /v1/groups/{id}': {
    status: 200,
    errors: [400, 404],
    present: ['description'],
    summary: 'Changes the name and the description',
    operation: `mutation updateGroup ($input: UpdateGroupInput!) { updateGroup(input: $input) { body: group { ${group} } } }`,
  },
  'DELETE /v1/groups/{id}': {
    status: 204,
    errors: [404, 409],
    deletes: 'group',
    summary: 'Deletes a group with its transcript; its sessions stay',
    operation: 'mutation deleteGroup ($input: DeleteGroupInput!) { deleteGroup(input: $input) { deletedId } }',
  },
  'GET /v1/groups/{id}/history': {
    status: 200,
    large: true,
    errors: [400, 404],
    summary: 'The messages before one of them, oldest first',
    operation: `query getGroupHistory ($id: ID!, $before_sequence: Int) {
      body: groupHistory(groupId: $id, beforeSequence: $before_sequence) { data: messages { ${message} } has_more: hasMore } }`,
  },
  'POST /v1/groups/{id}/messages': {
    status: 202,
    errors: [400, 404],
    into: { id: 'groupId' },
    summary: 'Says something; each member that is to answer gets a run',
    operation: `mutation sendGroupMessage ($input: SendGroupMessageInput!) { body: sendGroupMessage(input: $input) { message: groupMessage { ${message} } runs: groupRuns { ${run} } } }`,
  },
  'GET /v1/groups/{id}/runs/{run_id}': {
    status: 200,
    errors: [404],
    summary: 'A run with its reply',
    operation: `query getGroupRun ($id: ID!, $run_id: ID!) { body: groupRun(groupId: $id, id: $run_id) { ${run} } }`,
  },
  'POST /v1/groups/{id}/runs/{run_id}/stop': {
    status: 204,
    errors: [404],
    into: { id: 'groupId', run_id: 'id' },
    summary: 'Stops a run; one that has ended stays as it is',
    operation: 'mutation stopGroupRun ($input: StopGroupRunInput!) { stopGroupRun(input: $input) { groupRun { id } } }',
  },
  'POST /v1/groups/{id}/runs/{run_id}/approvals/{approval_id}': {
    status: 200,
    errors: [400, 404, 409],
    into: { id: 'groupId' },
    summary: 'Approves or denies a tool use that a run waits with',
    operation: `mutation answerGroupApproval ($input: AnswerGroupApprovalInput!) { answerGroupApproval(input: $input) { body: groupRun { ${run} } } }`,
  },
  'POST /v1/groups/{id}/runs/{run_id}/questions/{tool_call_id}': {
    status: 200,
    errors: [400, 404, 409],
    into: { id: 'groupId' },
    summary: 'Answers a question that a run waits with',
    operation: `mutation answerGroupQuestion ($input: AnswerGroupQuestionInput!) { answerGroupQuestion(input: $input) { body: groupRun { ${run} } } }`,
  },
}
