/** What happens in groups, in GraphQL, followed. */
import { builder } from '../../builder.ts'
import { enumOf } from '../../enums.ts'
import { heartbeat, withHeartbeats } from '../../heartbeats.ts'
import { linkTo } from '../../nodes.ts'
import { followGroup, followGroupRun, groupEventTypes, type GroupEvent } from '#src/resources/agents/groups/events.ts'
import type { GroupRun } from '#src/resources/agents/groups/rows.ts'
import { groupType } from '../groups.ts'
import { groupMessageType } from './messages.ts'
import { groupRunType } from './run-type.ts'
import { groupIfGiven, groupRunStatus } from './runs.ts'

const groupEvent = builder.objectRef<GroupEvent>('GroupEvent').implement({
  description: 'Something that happened in a group.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'runStatus' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume after this event.',
      resolve: ({ position }) => String(position),
    }),
    type: t.field({
      type: enumOf('GroupEventType', 'What happened in a group.', groupEventTypes),
      description: 'What happened.',
      resolve: ({ type }) => type,
    }),
    revision: t.int({ description: 'The revision of the group then.', resolve: ({ position }) => position }),
    ...linkTo(t, 'group', { type: groupType, description: 'The group.', id: ({ groupId }) => groupId }),
    ...linkTo(t, 'message', {
      type: groupMessageType,
      nullable: true,
      description: 'The message; null for other events.',
      id: ({ messageId }: GroupEvent) => messageId,
    }),
    ...linkTo(t, 'run', {
      type: groupRunType,
      nullable: true,
      description: 'The run; null for other events.',
      id: ({ runId }: GroupEvent) => runId,
    }),
    runStatus: t.field({
      type: groupRunStatus,
      nullable: true,
      description: 'The status of the run then; null for other events.',
      resolve: (event) => event.runStatus,
    }),
    at: t.expose('createdAt', { type: 'DateTime', description: 'When it happened.' }),
  }),
})
const eventOrHeartbeat = builder.unionType('GroupEventOrHeartbeat', {
  description: 'An event of a group, or a heartbeat.',
  types: [groupEvent, heartbeat],
})

const runState = builder.objectRef<GroupRun>('GroupRunState').implement({
  description: 'A run of a group after a change.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'pending' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume after this state.',
      resolve: ({ revision }) => String(revision),
    }),
    run: t.field({ type: groupRunType, description: 'The run.', resolve: (run) => run }),
  }),
})
const stateOrHeartbeat = builder.unionType('GroupRunStateOrHeartbeat', {
  description: 'A state of a run, or a heartbeat.',
  types: [runState, heartbeat],
})

builder.subscriptionFields((t) => ({
  groupEvents: t.field({
    type: eventOrHeartbeat,
    description:
      'What happens in a group after the cursor (without one, from now on), until it is deleted: messages, changes of runs and of the group. Its end is the only sign of that. Errors: NOT_FOUND, INVALID_REQUEST, REPLAY_RETENTION_EXCEEDED.',
    args: {
      groupId: t.arg.id({ required: true, description: 'The group.' }),
      after: t.arg.string({ description: 'The cursor of the last event seen.' }),
    },
    subscribe: async (_, { groupId, after }, call) => withHeartbeats(await followGroup(call, groupId, after)),
    resolve: (event) => event as never, // isTypeOf of the union's members tells them apart
  }),
  groupRunStateChanged: t.field({
    type: stateOrHeartbeat,
    description:
      'A run of a group at every change: first as it is now, unless it has not changed since the cursor, then live, until it ends. Errors: NOT_FOUND, INVALID_REQUEST.',
    args: {
      groupRunId: t.arg.id({ required: true, description: 'The run.' }),
      groupId: t.arg.id(groupIfGiven),
      after: t.arg.string({ description: 'The cursor of the last state seen.' }),
    },
    subscribe: async (_, { groupId, groupRunId: runId, after }, call) =>
      withHeartbeats(await followGroupRun(call, { groupId, runId }, after)),
    resolve: (event) => event as never, // as above
  }),
}))
