/** Stopping runs of groups, and answering what they wait for, in GraphQL. */
import type { InputFieldBuilder } from '@pothos/core'
import { groupLimits } from '#src/resources/agents/groups/limits.ts'
import type { builder } from '../../builder.ts'
import { idField, mutationOf } from '../../mutations.ts'
import { answerGroupApproval, answerGroupQuestion, stopGroupRun } from '#src/resources/agents/groups/runs.ts'
import { confirmationResult } from '../sessions/inputs.ts'
import { groupRunType } from './run-type.ts'
import { groupIfGiven } from './runs.ts'

const run = { field: 'groupRun', type: groupRunType }
type Fields = InputFieldBuilder<(typeof builder)['$inferSchemaTypes'], 'InputObject'>
const ofGroup = (t: Fields) => ({ groupId: t.id(groupIfGiven) })
const ofRun = (t: Fields) => ({ ...ofGroup(t), runId: t.id({ required: true, description: 'The run.' }) })

mutationOf(
  'stopGroupRun',
  run,
  'Stops a run; one that has ended stays as it is. Errors: NOT_FOUND.',
  (t) => ({ ...ofGroup(t), ...idField(t) }),
  (call, { groupId, id }) => stopGroupRun(call, { groupId, runId: id }),
)
mutationOf(
  'answerGroupApproval',
  run,
  'Approves or denies a tool use that a run waits with. The same answer again changes nothing. Errors: NOT_FOUND, INVALID_REQUEST, ALREADY_ANSWERED.',
  (t) => ({
    ...ofRun(t),
    approvalId: t.id({ required: true, description: 'Which: `apr_…`.' }),
    approved: t.boolean({ description: 'Whether the tool may run.' }),
    reason: t.string({
      description: 'What the agent is told when it may not; when it may, only the session’s log has it.',
    }),
    result: t.field({
      type: confirmationResult,
      description: 'The same as `approved`, as events of sessions have it.',
    }),
    denyMessage: t.string({ description: 'The same as `reason`, as events of sessions have it.' }),
  }),
  (call, input) => answerGroupApproval(call, input),
)
mutationOf(
  'answerGroupQuestion',
  run,
  'Answers a question that a run waits with. The same answer again changes nothing. Errors: NOT_FOUND, INVALID_REQUEST, ALREADY_ANSWERED.',
  (t) => ({
    ...ofRun(t),
    toolCallId: t.id({ required: true, description: 'Which: the `toolCallId` of the question.' }),
    answer: t.string({ required: true, description: `1 to ${groupLimits.answerLength} characters.` }),
  }),
  (call, input) => answerGroupQuestion(call, input),
)
