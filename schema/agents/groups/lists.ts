/** The messages and runs of groups, as lists. */
import { builder } from '../../builder.ts'
import { callIn } from '../../identity/organizations.ts'
import { readInTurn } from '../../large-reads.ts'
import { connectionOf, oldestFirst, pageArguments, type OrderGiven } from '../../pages.ts'
import { pagesOfEach } from '../../pages-of-each.ts'
import { pageMessagesOfEach } from '#src/resources/agents/groups/messages.ts'
import { pageRunsOfEach, type RunParent } from '#src/resources/agents/groups/runs.ts'
import { groupType } from '../groups.ts'
import { groupMessageType } from './messages.ts'
import { groupRunType } from './run-type.ts'
import './runs.ts'

const messageConnection = connectionOf('GroupMessage', groupMessageType)
const runConnection = connectionOf('GroupRun', groupRunType)

type MessagesGiven = Parameters<typeof pageMessagesOfEach>[2] & OrderGiven & { organizationId: string }
const messagesOf = pagesOfEach((call, ids, { organizationId, order, ...window }: MessagesGiven, info) =>
  readInTurn(call, info, (bytesMax) =>
    pageMessagesOfEach(callIn(call, { id: organizationId }), ids, window, { direction: order, bytesMax }),
  ),
)
type RunsGiven = Parameters<typeof pageRunsOfEach>[3] & OrderGiven & { organizationId: string }
const runsOf = (parent: RunParent) =>
  pagesOfEach((call, ids, { organizationId, order, ...window }: RunsGiven, info) =>
    readInTurn(call, info, (bytesMax) =>
      pageRunsOfEach(callIn(call, { id: organizationId }), parent, ids, window, {
        direction: order,
        bytesMax,
      }),
    ),
  )
const runsOfGroup = runsOf('group')

builder.objectFields(groupType, (t) => ({
  messages: t.field({
    type: messageConnection,
    nullable: true,
    description: 'Its transcript.',
    args: { ...pageArguments, order: t.arg(oldestFirst) },
    resolve: ({ id, organizationId }, given, call, info) => messagesOf(call, id, { ...given, organizationId }, info),
  }),
  runs: t.field({
    type: runConnection,
    nullable: true,
    description: 'The runs of its members.',
    args: { ...pageArguments, order: t.arg(oldestFirst) },
    resolve: ({ id, organizationId }, given, call, info) => runsOfGroup(call, id, { ...given, organizationId }, info),
  }),
}))
