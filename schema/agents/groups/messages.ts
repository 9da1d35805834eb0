/** The messages of groups in GraphQL. */
import { builder } from '../../builder.ts'
import { enumOf } from '../../enums.ts'
import { userType } from '../../identity/users.ts'
import { linkTo, nodeOf, nodesThere } from '../../nodes.ts'
import { always } from '../../words.ts'
import { encodeId } from '#src/platform/ids.ts'
import { findGroupMessages } from '#src/resources/agents/groups/messages.ts'
import type { GroupMessage, UndeliveredReason } from '#src/resources/agents/groups/rows.ts'
import { groupType } from '../groups.ts'
import { sessionType } from '../sessions.ts'
import { groupRunType } from './run-type.ts'

const authorKind = enumOf('GroupMessageAuthorType', 'Who says something in a group.', {
  user: 'A person.',
  member: 'A member.',
} satisfies Record<GroupMessage['authorType'], string>)
const authorType = builder.interfaceRef<GroupMessage>('GroupMessageAuthor').implement({
  description: 'Who said something in a group.',
  resolveType: ({ authorType: type }) => (type === 'user' ? 'GroupMessageUser' : 'GroupMessageMember'),
  fields: (t) => ({
    type: t.expose('authorType', { type: authorKind, description: 'Whether it is a person or a member.' }),
    id: t.id({
      description: 'The id of the person or of the session.',
      resolve: ({ authorType: type, authorId }) => encodeId(type === 'user' ? 'user' : 'session', authorId),
    }),
    handle: t.exposeString('authorHandle', { description: 'By which it is mentioned; `user` for a person.' }),
  }),
})
builder.objectRef<GroupMessage>('GroupMessageUser').implement({
  description: 'A person who said something in a group.',
  interfaces: [authorType],
  fields: (t) => ({
    user: t.field({
      type: userType,
      nullable: true,
      description: 'The person.',
      resolve: ({ authorId }) => authorId,
    }),
  }),
})
builder.objectRef<GroupMessage>('GroupMessageMember').implement({
  description: 'A member that said something in a group.',
  interfaces: [authorType],
  fields: (t) => ({
    session: t.field({
      type: sessionType,
      nullable: true,
      description: 'The session; null once it is deleted.',
      resolve: ({ authorId }) => authorId,
    }),
  }),
})

const undeliveredReason = enumOf('GroupUndeliveredReason', 'Why somebody whom a message mentions does not answer it.', {
  hop_limit: 'Members have answered each other as often as they may after a message of the user’s.',
  run_limit: 'As many runs as may have come from one message of the user’s.',
  member_busy: 'Too much waits for that member already.',
  unknown_mention: 'Nobody in the group has that handle.',
} satisfies Record<UndeliveredReason, string>)

/** A message of a group. */
export const groupMessageType = nodeOf('GroupMessage', findGroupMessages)

builder.objectType(groupMessageType, {
  description: 'Something that was said in a group.',
  fields: (t) => ({
    type: t.string(always('group_message')),
    ...linkTo(t, 'group', { type: groupType, description: 'The group.', id: ({ groupId }) => groupId }),
    sequence: t.exposeInt('sequence', { description: 'Its number in the transcript, from 1.' }),
    author: t.field({ type: authorType, description: 'Who said it.', resolve: (message) => message }),
    text: t.exposeString('text', { description: 'What was said.' }),
    recipientIds: t.idList({
      description: 'The members that are to answer it.',
      resolve: ({ recipientIds }) => recipientIds.map((id) => encodeId('session', id)),
    }),
    recipients: t.field({
      type: [sessionType],
      nullable: true,
      description: 'The same sessions as objects; without deleted ones.',
      resolve: ({ recipientIds }, _, call) => nodesThere(sessionType, recipientIds, call),
    }),
    ...linkTo(t, 'run', {
      type: groupRunType,
      nullable: true,
      description: 'The run whose reply it is; null for a message of the user’s.',
      id: ({ runId }: GroupMessage) => runId,
    }),
    undeliveredReason: t.field({
      type: undeliveredReason,
      nullable: true,
      description: 'Why somebody whom it mentions does not answer it, which ends that part of the conversation.',
      resolve: (message) => message.undeliveredReason,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was said.' }),
  }),
})
