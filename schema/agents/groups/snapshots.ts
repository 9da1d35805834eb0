/** A group as it was at one moment, and its history, in GraphQL. */
import { groupLimits } from '#src/resources/agents/groups/limits.ts'
import { builder } from '../../builder.ts'
import {
  getGroupHistory,
  getGroupSnapshot,
  type GroupHistory,
  type GroupSnapshot,
} from '#src/resources/agents/groups/messages.ts'
import { groupType } from '../groups.ts'
import { groupMessageType } from './messages.ts'
import { groupRunType } from './run-type.ts'

const snapshot = builder.objectRef<GroupSnapshot>('GroupSnapshot').implement({
  description: 'A group with its newest messages and its runs, all as they were at one moment.',
  fields: (t) => ({
    group: t.field({ type: groupType, description: 'The group.', resolve: ({ group }) => group }),
    revision: t.int({
      description: 'Its revision then: pass it as `after` to `groupEvents`, as text, to follow what happened since.',
      resolve: ({ group }) => group.revision,
    }),
    transcript: t.field({
      type: [groupMessageType],
      description: `Its newest ${groupLimits.pageMax} messages, oldest first.`,
      resolve: ({ transcript }) => transcript,
    }),
    runs: t.field({
      type: [groupRunType],
      description: 'The runs that have not ended, and the last one of each member.',
      resolve: ({ runs }) => runs,
    }),
    hasMore: t.exposeBoolean('hasMore', { description: 'Whether there are older messages.' }),
  }),
})
const history = builder.objectRef<GroupHistory>('GroupHistory').implement({
  description: 'A part of the transcript of a group.',
  fields: (t) => ({
    messages: t.field({
      type: [groupMessageType],
      description: `At most ${groupLimits.pageMax} messages, oldest first.`,
      resolve: ({ messages }) => messages,
    }),
    hasMore: t.exposeBoolean('hasMore', { description: 'Whether there are older ones.' }),
  }),
})

builder.queryFields((t) => ({
  groupSnapshot: t.field({
    type: snapshot,
    description: 'A group as it is now, with its newest messages and its runs. Errors: NOT_FOUND.',
    args: { groupId: t.arg.id({ required: true, description: 'The group.' }) },
    resolve: (_, { groupId }, call) => getGroupSnapshot(call, groupId),
  }),
  groupHistory: t.field({
    type: history,
    description: 'The messages of a group before one of them. Errors: NOT_FOUND, INVALID_REQUEST.',
    args: {
      groupId: t.arg.id({ required: true, description: 'The group.' }),
      beforeSequence: t.arg.int({ description: 'The sequence number of a message; the newest messages without it.' }),
    },
    resolve: (_, { groupId, beforeSequence }, call) => getGroupHistory(call, groupId, beforeSequence),
  }),
}))
