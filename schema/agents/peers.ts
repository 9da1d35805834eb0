/** Peer exchanges in GraphQL: what one agent asked of another. */
import { idArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { heartbeat, withHeartbeats } from '../heartbeats.ts'
import { listOfOrganizations, organizationType } from '../identity/organizations.ts'
import { actionOn } from '../mutations.ts'
import { linkTo, nodeOf } from '../nodes.ts'
import { organizationOf } from '../nouns.ts'
import { connectionOf, newestFirst, pageArguments, type OrderGiven } from '../pages.ts'
import { pagesOfEach } from '../pages-of-each.ts'
import { rowsOfEach } from '../rows-of-each.ts'
import { always } from '../words.ts'
import { fileType } from './files.ts'
import { sessionType } from './sessions.ts'
import { eventObjects } from './sessions/event-objects.ts'
import { encodeId } from '#src/platform/ids.ts'
import type { PageWindow } from '#src/platform/pages.ts'
import { fileReads } from '#src/resources/agents/files.ts'
import type { StoredFile } from '#src/resources/agents/files/rows.ts'
import {
  findPeerExchanges,
  followPeerExchange,
  getPeerExchange,
  pagePeerExchanges,
  pagePeerExchangesOfEach,
  stopPeerExchange,
} from '#src/resources/agents/peers.ts'
import type { PeerError, PeerExchangeEvent, PeerState } from '#src/resources/agents/peers/rows.ts'
import { exchangeOf } from '#src/resources/agents/sessions/wire-events.ts'

const peerState = enumOf('PeerExchangeState', 'What becomes of an exchange. The last four are final.', {
  submitted: 'The responder has not begun.',
  working: 'The responder works on it.',
  input_required: 'The responder waits for an approval or an answer of its user.',
  completed: 'It was answered.',
  failed: 'The responder could not answer, for the reason in `error`.',
  cancelled: 'It was stopped, or the requester was, or a day had passed.',
  rejected: 'The responder was never asked, for the reason in `error`.',
} satisfies Record<PeerState, string>)

const textObject = (name: string, description: string) =>
  builder.objectRef<string>(name).implement({
    description,
    fields: (t) => ({ text: t.string({ description: 'The text.', resolve: (text) => text }) }),
  })
const peerRequest = textObject('PeerRequest', 'What an agent asked.')
const peerAnswer = textObject('PeerAnswer', 'What an agent answered.')

const peerError = builder.objectRef<PeerError>('PeerExchangeError').implement({
  description: 'Why an exchange failed, or was rejected.',
  fields: (t) => ({
    type: t.exposeString('type', { description: 'Its type, such as `session_archived`.' }),
    message: t.exposeString('message', { description: 'What happened.' }),
  }),
})

const peerAttachment = builder.objectRef<StoredFile>('PeerAttachment').implement({
  description:
    'The file that went along with a request. Its bytes are at `GET /agents/v1/peer-exchanges/{id}/attachment`.',
  fields: (t) => ({
    filename: t.exposeString('filename', { description: 'Its name, without a path.' }),
    mediaType: t.exposeString('mimeType', { description: 'Its media type.' }),
    sizeBytes: t.exposeInt('sizeBytes', { description: 'Its size.' }),
    sha256: t.exposeString('sha256', { description: 'The SHA-256 of its bytes, in hexadecimal digits.' }),
    file: t.field({ type: fileType, description: 'The same among the files of its owner.', resolve: (file) => file }),
  }),
})
const attachmentOf = rowsOfEach(fileReads.find, ({ id }) => id)

/** An exchange. */
export const peerExchangeType = nodeOf(
  'PeerExchange',
  findPeerExchanges,
  '`pex_` and 26 characters; it stands on the tool use and its result.',
)

builder.objectType(peerExchangeType, {
  description: 'What an agent asked of another one of the same person, by its tool `ask_peer`, and what became of it.',
  fields: (t) => ({
    type: t.string(always('peer_exchange')),
    ...linkTo(t, 'requesterSession', {
      type: sessionType,
      description: 'The session that asks; the object is null once it is deleted.',
      id: ({ requesterSessionId }) => requesterSessionId,
    }),
    ...linkTo(t, 'responderSession', {
      type: sessionType,
      description: 'The session that is asked; the object is null once it is deleted.',
      id: ({ responderSessionId }) => responderSessionId,
    }),
    request: t.field({ type: peerRequest, description: 'What is asked.', resolve: ({ requestText }) => requestText }),
    answer: t.field({
      type: peerAnswer,
      nullable: true,
      description: 'The answer, once it is completed.',
      resolve: ({ answer }) => answer,
    }),
    state: t.field({ type: peerState, description: 'What becomes of it.', resolve: ({ status }) => status }),
    attachment: t.field({
      type: peerAttachment,
      nullable: true,
      description: 'The file that went along with it, for 30 days; null when there is none, or no longer.',
      resolve: ({ fileId }, _, call) => (fileId === null ? null : attachmentOf(call, fileId)),
    }),
    error: t.field({
      type: peerError,
      nullable: true,
      description: 'Why it failed, or was rejected.',
      resolve: ({ error }) => error,
    }),
    depth: t.exposeInt('depth', {
      description: 'How many exchanges it is inside of, itself included: 1 for one that no other led to.',
    }),
    ...organizationOf(t, 'The organization of both sessions.'),
    eventCursor: t.string({
      description: 'Pass it as `after` to `peerExchangeEvents` to follow what happens from here on.',
      resolve: ({ eventPosition }) => String(eventPosition),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was asked.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When its state last changed.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      description: 'When it is cancelled by itself if it has not ended.',
    }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true, description: 'When it ended.' }),
  }),
})

const peerExchangeConnection = connectionOf('PeerExchange', peerExchangeType)
const peerExchangeFilter = builder.inputType('PeerExchangeFilter', {
  description: 'Narrows a list of exchanges; all conditions must hold.',
  fields: (t) => ({
    sessionId: t.id({ description: 'Only those in which this session asks or is asked.' }),
    states: t.field({ type: [peerState], description: 'Only those in one of these states.' }),
  }),
})
const listArguments = {
  ...pageArguments,
  ...builder.args((t) => ({
    filter: t.field({ type: peerExchangeFilter, description: 'Narrows the list.' }),
    order: t.field(newestFirst),
  })),
}

builder.queryFields((t) => ({
  peerExchange: t.field({
    type: peerExchangeType,
    description: 'One exchange between agents. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: (_, { id }, call) => getPeerExchange(call, id),
  }),
  peerExchanges: t.field({
    type: peerExchangeConnection,
    description: 'The exchanges between the caller’s agents, newest first.',
    args: listArguments,
    resolve: (_, { filter, order, ...window }, call) => pagePeerExchanges(call, window, filter, order),
  }),
}))

type ListGiven = PageWindow & OrderGiven & { filter?: Parameters<typeof pagePeerExchanges>[2] }
const exchangesOf = listOfOrganizations((call, { filter, order, ...window }: ListGiven) =>
  pagePeerExchanges(call, window, filter, order),
)
builder.objectField(organizationType, 'peerExchanges', (t) =>
  t.field({
    type: peerExchangeConnection,
    nullable: true,
    description: 'The exchanges between the caller’s agents in it, newest first. Not available to API keys.',
    args: listArguments,
    resolve: ({ id }, given, call) => exchangesOf(call, id, given),
  }),
)

const askedBy = pagesOfEach((call, ids, window: PageWindow) => pagePeerExchangesOfEach(call, 'requester', ids, window))
const answeredBy = pagesOfEach((call, ids, window: PageWindow) =>
  pagePeerExchangesOfEach(call, 'responder', ids, window),
)
builder.objectFields(sessionType, (t) => ({
  askedPeerExchanges: t.field({
    type: peerExchangeConnection,
    nullable: true,
    description: 'What it asked of other sessions, newest first. Not available to the token inside a VM.',
    args: pageArguments,
    resolve: ({ id }, window, call) => askedBy(call, id, window),
  }),
  answeredPeerExchanges: t.field({
    type: peerExchangeConnection,
    nullable: true,
    description: 'What other sessions asked of it, newest first. Not available to the token inside a VM.',
    args: pageArguments,
    resolve: ({ id }, window, call) => answeredBy(call, id, window),
  }),
}))

for (const type of ['agent.tool_use', 'agent.tool_result'] as const)
  builder.objectFields(eventObjects[type], (t) =>
    linkTo(t, 'peerExchange', {
      type: peerExchangeType,
      nullable: true,
      description:
        'The exchange that a call of `ask_peer` is; the object is null when nobody was asked. Null for any other tool.',
      id: exchangeOf,
    }),
  )

actionOn(
  'stopPeerExchange',
  { field: 'peerExchange', type: peerExchangeType },
  'Cancels an exchange: the responder is interrupted, and the requester goes on without an answer. One that has ended stays as it is. Errors: NOT_FOUND.',
  stopPeerExchange,
)

const peerExchangeEvent = builder.objectRef<PeerExchangeEvent>('PeerExchangeEvent').implement({
  description: 'A state that an exchange came to.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'exchangeId' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume after this event.',
      resolve: ({ position }) => String(position),
    }),
    peerExchangeId: t.id({
      description: 'The id of the exchange.',
      resolve: ({ exchangeId }) => encodeId('peerExchange', exchangeId),
    }),
    peerExchange: t.field({
      type: peerExchangeType,
      nullable: true,
      description: 'The exchange as it is now; null once its record is deleted.',
      resolve: ({ exchangeId }) => exchangeId,
    }),
    state: t.field({ type: peerState, description: 'The state then.', resolve: ({ status }) => status }),
    at: t.expose('createdAt', { type: 'DateTime', description: 'When it happened.' }),
  }),
})
const peerExchangeEventOrHeartbeat = builder.unionType('PeerExchangeEventOrHeartbeat', {
  description: 'An event of an exchange, or a heartbeat.',
  types: [peerExchangeEvent, heartbeat],
})
builder.subscriptionFields((t) => ({
  peerExchangeEvents: t.field({
    type: peerExchangeEventOrHeartbeat,
    description:
      'The states of an exchange: those after the cursor (without a cursor, the current one), then live ones, until it ends. Errors: NOT_FOUND.',
    args: {
      peerExchangeId: t.arg.id({ required: true, description: 'The exchange.' }),
      after: t.arg.string({ description: 'The cursor of the last event seen.' }),
    },
    subscribe: async (_, { peerExchangeId, after }, call) =>
      withHeartbeats(await followPeerExchange(call, peerExchangeId, after)),
    resolve: (event) => event as never, // isTypeOf of the union's members tells them apart
  }),
}))
