/** Saying something in a group, in GraphQL. */
import { groupLimits } from '#src/resources/agents/groups/limits.ts'
import { builder } from '../../builder.ts'
import { sendGroupMessage } from '#src/resources/agents/groups/messages.ts'
import { groupMessageType } from './messages.ts'
import { groupRunType } from './run-type.ts'

builder.relayMutationField(
  'sendGroupMessage',
  {
    description: 'What `sendGroupMessage` takes.',
    inputFields: (t) => ({
      groupId: t.id({ required: true, description: 'The group.' }),
      text: t.string({
        required: true,
        description: `1 to ${groupLimits.textLength} characters. \`@\` and the handle of a member asks that member, \`@all\` all of them.`,
      }),
      recipientIds: t.idList({
        description: 'The members that are to answer, instead of those whom the text mentions; without both, all.',
      }),
    }),
  },
  {
    description: 'Says something in a group. Errors: NOT_FOUND, INVALID_REQUEST, RATE_LIMITED.',
    resolve: (_, { input: { groupId, ...message } }, call) => sendGroupMessage(call, groupId, message),
  },
  {
    description: 'What `sendGroupMessage` answers.',
    outputFields: (t) => ({
      groupMessage: t.field({ type: groupMessageType, description: 'The message.', resolve: (sent) => sent.message }),
      groupRuns: t.field({
        type: [groupRunType],
        description: 'The runs of those who are to answer, in the order of the members.',
        resolve: (sent) => sent.runs,
      }),
    }),
  },
)
