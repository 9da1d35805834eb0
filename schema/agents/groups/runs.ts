/** The runs of groups' members in GraphQL. */
import { idArguments } from '../../arguments.ts'
import { builder } from '../../builder.ts'
import { enumOf } from '../../enums.ts'
import { linkTo } from '../../nodes.ts'
import { always, jsonObject } from '../../words.ts'
import {
  approvalsOf,
  getGroupRun,
  questionsOf,
  usageOfRun,
  type PendingApproval,
  type PendingQuestion,
} from '#src/resources/agents/groups/runs.ts'
import type { TaskError, TaskStatus } from '#src/resources/agents/tasks/rows.ts'
import { groupType } from '../groups.ts'
import { eventIdIn, sessionEvent } from '../sessions/events.ts'
import { sessionUsage } from '../sessions/parts.ts'
import { sessionType } from '../sessions.ts'
import { groupMessageType } from './messages.ts'
import { groupRunType } from './run-type.ts'

/** The status of a run. */
export const groupRunStatus = enumOf('GroupRunStatus', 'The status of a run of a group’s member.', {
  queued: 'It waits until the session is idle.',
  running: 'The session works on it.',
  requires_action: 'It waits for an approval or an answer.',
  completed: 'It has ended, with its reply.',
  failed: 'It could not go on; `error` says why.',
  cancelled: 'It was stopped, or did not end within a day.',
} satisfies Record<TaskStatus, string>)

type Reply = { id: string; text: string }
const partType = builder.objectRef<{ text: string }>('GroupReplyPart').implement({
  description: 'A part of a reply, as the AI SDK has the parts of a message.',
  fields: (t) => ({
    type: t.string(always('text')),
    text: t.exposeString('text', { description: 'The text.' }),
  }),
})
const replyType = builder.objectRef<Reply>('GroupReply').implement({
  description: 'What a run came to: a message of the group.',
  fields: (t) => ({
    ...linkTo(t, 'message', { type: groupMessageType, description: 'The message.', id: ({ id }: Reply) => id }),
    text: t.exposeString('text', { description: 'Its text.' }),
    parts: t.field({ type: [partType], description: 'The same in parts.', resolve: ({ text }) => [{ text }] }),
  }),
})

const toolCall = {
  id: { description: 'The tool use in the session’s log: `sevt_…`. Streams name it the same.' },
  use: { type: sessionEvent, nullable: true, description: 'The tool use, as an object.' },
} as const
const approvalType = builder.objectRef<PendingApproval>('GroupApproval').implement({
  description: 'A tool use that waits until it is approved or denied.',
  fields: (t) => ({
    approvalId: t.id({ description: '`apr_` and 26 characters.', resolve: ({ approval_id: id }) => id }),
    toolCallId: t.id({ ...toolCall.id, resolve: ({ tool_call_id: id }) => id }),
    toolCall: t.field({ ...toolCall.use, resolve: ({ tool_call_id: id }) => eventIdIn(id) }),
    toolName: t.exposeString('tool_name', { description: 'The tool.' }),
    input: t.field({
      type: 'JSON',
      ...jsonObject,
      description: 'The tool’s input, in the shape that the tool defines.',
      resolve: ({ input }) => input,
    }),
    createdAt: t.expose('created_at', { type: 'DateTime', description: 'Since when it waits.' }),
  }),
})
const questionType = builder.objectRef<PendingQuestion>('GroupQuestion').implement({
  description: 'A question of an agent that waits for an answer.',
  fields: (t) => ({
    toolCallId: t.id({ ...toolCall.id, resolve: ({ tool_call_id: id }) => id }),
    toolCall: t.field({ ...toolCall.use, resolve: ({ tool_call_id: id }) => eventIdIn(id) }),
    question: t.exposeString('question', {
      description: 'The question; of a custom tool, its name and what it was called with.',
    }),
    options: t.exposeStringList('options', {
      nullable: true,
      description: 'Answers to choose from, if there are any.',
    }),
    createdAt: t.expose('created_at', { type: 'DateTime', description: 'Since when it waits.' }),
  }),
})
const errorType = builder.objectRef<TaskError>('GroupRunError').implement({
  description: 'Why a run failed.',
  fields: (t) => ({
    type: t.exposeString('type', {
      description:
        'A word for programs: `budget_reached`, `session_archived`, `session_deleted`, or the type of the session’s error.',
    }),
    message: t.exposeString('message', { description: 'What went wrong, as a sentence.' }),
  }),
})

builder.objectType(groupRunType, {
  description: 'A member of a group at work on its answer to a message.',
  fields: (t) => ({
    type: t.string(always('group_run')),
    ...linkTo(t, 'group', { type: groupType, description: 'The group.', id: ({ groupId }) => groupId }),
    ...linkTo(t, 'session', {
      type: sessionType,
      description: 'The member; the object is null once it is deleted.',
      id: ({ sessionId }) => sessionId,
    }),
    ...linkTo(t, 'message', {
      type: groupMessageType,
      description: 'The message that it answers.',
      id: ({ messageId }) => messageId,
    }),
    status: t.field({ type: groupRunStatus, description: 'Its status.', resolve: ({ status }) => status }),
    revision: t.exposeInt('revision', {
      description: 'The revision of the group when the run last changed; everything here is as it was then.',
    }),
    hops: t.exposeInt('hops', {
      description: 'How often members have answered each other before it, since the user’s message.',
    }),
    reply: t.field({
      type: replyType,
      nullable: true,
      description: 'What it came to; null until it is completed, and where the agent said nothing.',
      resolve: ({ replyId, replyText }) => (replyId === null ? null : { id: replyId, text: replyText ?? '' }),
    }),
    pendingApprovals: t.field({
      type: [approvalType],
      description: 'The tool uses that wait to be approved.',
      resolve: approvalsOf,
    }),
    pendingQuestions: t.field({
      type: [questionType],
      description: 'The questions that wait for an answer.',
      resolve: questionsOf,
    }),
    error: t.field({ type: errorType, nullable: true, description: 'Why it failed.', resolve: ({ error }) => error }),
    usage: t.field({
      type: sessionUsage,
      description: 'What the session used during it, so far; not what a request used that stopping it cut short.',
      resolve: usageOfRun,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Since when it waits or works.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', nullable: true, description: 'When it began.' }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true, description: 'When it ended.' }),
  }),
})

/** Of a group's id where that of the run says which one it is. */
export const groupIfGiven = { description: 'Its group. If given, a run of another group is not found.' }

builder.queryFields((t) => ({
  groupRun: t.field({
    type: groupRunType,
    description: 'One run of a group. Errors: NOT_FOUND.',
    args: { groupId: t.arg.id(groupIfGiven), ...idArguments },
    resolve: (_, { groupId, id }, call) => getGroupRun(call, { groupId, runId: id }),
  }),
}))
