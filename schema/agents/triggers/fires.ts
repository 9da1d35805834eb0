/** Fires of triggers in GraphQL. */
import { idArguments } from '#schema/arguments.ts'
import { builder } from '#schema/builder.ts'
import { enumOf } from '#schema/enums.ts'
import { heartbeat, withHeartbeats } from '#schema/heartbeats.ts'
import { listOfOrganizations, organizationType } from '#schema/identity/organizations.ts'
import { linkTo, nodeOf } from '#schema/nodes.ts'
import { connectionOf, pageArguments } from '#schema/pages.ts'
import { pagesOfEach } from '#schema/pages-of-each.ts'
import { readInTurn } from '#schema/large-reads.ts'
import { always } from '#schema/words.ts'
import {
  findFires,
  findPayload,
  followFires,
  getFire,
  pageFires,
  pageFiresOfEach,
  type DecidedFire,
  type FireFilter,
} from '#src/resources/agents/triggers/fires.ts'
import { readStored } from '#src/platform/json/stored.ts'
import type { FireError, FireStatus, SkipReason } from '#src/resources/agents/triggers/rows.ts'
import type { Sender } from '#src/resources/agents/triggers/payloads.ts'
import { sessionType } from '../sessions.ts'
import { triggerType } from '../triggers.ts'

const fireStatus = enumOf('TriggerFireStatus', 'What becomes of a fire.', {
  pending: 'It is not decided yet.',
  started: 'It started a session.',
  skipped: 'It started nothing, for the reason in `skipReason`.',
  failed: 'It started nothing, for the reason in `error`.',
} satisfies Record<FireStatus, string>)
/** Why an event started nothing. */
export const skipReason = enumOf(
  'TriggerSkipReason',
  'Why an event started nothing, in the order in which they are looked at.',
  {
    trigger_disabled: 'The trigger is disabled.',
    deployment_paused: 'Its deployment is paused or archived.',
    ref_deleted: 'The push deleted its branch or tag.',
    filter_mismatch: 'A filter did not match.',
    fork_pull_request: 'The code is of a fork.',
    untrusted_author: 'The author is not among those whose texts count.',
    bot_sender: 'A bot caused it.',
    self_caused: 'Berth’s own app caused it.',
    rate_limited: 'Too many came within a minute.',
  } satisfies Record<SkipReason, string>,
)

const sender = builder.objectRef<Sender>('TriggerSender').implement({
  description: 'Who caused an event.',
  fields: (t) => ({
    login: t.exposeString('login', { description: 'Their name at the code host.' }),
    type: t.exposeString('type', { description: '`User`, `Bot` or `Organization`, as the code host says.' }),
  }),
})
const fireError = builder.objectRef<FireError>('TriggerFireError').implement({
  description: 'Why a fire failed.',
  fields: (t) => ({
    type: t.exposeString('type', { description: 'Its type, such as `agent_archived_error`.' }),
    message: t.exposeString('message', { description: 'What happened, and what to do.' }),
  }),
})

/** A fire. */
const fireType = nodeOf('TriggerFire', findFires)

builder.objectType(fireType, {
  description: 'An event that came for a trigger, and what became of it.',
  fields: (t) => ({
    type: t.string(always('trigger_fire')),
    ...linkTo(t, 'trigger', { type: triggerType, description: 'The trigger.', id: ({ triggerId }) => triggerId }),
    deliveryId: t.exposeString('delivery', { description: 'The code host’s own id of the delivery.' }),
    event: t.exposeString('event', { description: 'The event, such as `pull_request`.' }),
    action: t.exposeString('action', { nullable: true, description: 'Its action, such as `opened`.' }),
    repo: t.exposeString('repo', { description: 'The repository: `owner/name`.' }),
    ref: t.exposeString('ref', {
      nullable: true,
      description: 'The ref that was pushed, the branch or the tag; null while the fire is pending, too.',
    }),
    sha: t.exposeString('sha', { nullable: true, description: 'The commit; null while the fire is pending, too.' }),
    number: t.exposeInt('number', {
      nullable: true,
      description: 'The number of the issue or pull request; null while the fire is pending, too.',
    }),
    sender: t.field({
      type: sender,
      nullable: true,
      description: 'Who caused it; null while the fire is pending, and when its owner may not see the repository.',
      resolve: (fire) => fire.sender,
    }),
    status: t.field({ type: fireStatus, description: 'What became of it.', resolve: ({ status }) => status }),
    skipReason: t.field({
      type: skipReason,
      nullable: true,
      description: 'Why it was skipped.',
      resolve: (fire) => fire.skipReason,
    }),
    ...linkTo(t, 'session', {
      type: sessionType,
      nullable: true,
      description: 'The session that it started; null again once that is deleted.',
      id: ({ sessionId }) => sessionId,
    }),
    error: t.field({ type: fireError, nullable: true, description: 'Why it failed.', resolve: ({ error }) => error }),
    redeliveryCount: t.exposeInt('redeliveryCount', { description: 'How often it was delivered again.' }),
    payload: t.field({
      type: 'JSON',
      nullable: true,
      description: 'The event as it was delivered, for 7 days; null for a large one, and as long as `sender` is.',
      resolve: async ({ id }, _, call, info) => {
        const payload = await readInTurn(call, info, (bytesMax) => findPayload(call, id, bytesMax))
        return payload && readStored(payload)
      },
    }),
    receivedAt: t.expose('receivedAt', { type: 'DateTime', description: 'When it was first delivered.' }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true, description: 'When it was decided.' }),
  }),
})

const fireFilter = builder.inputType('TriggerFireFilter', {
  description: 'Narrows a list of fires.',
  fields: (t) => ({
    statuses: t.field({ type: [fireStatus], description: 'Only those with one of these statuses.' }),
  }),
})
const listArguments = {
  ...pageArguments,
  ...builder.args((t) => ({ filter: t.field({ type: fireFilter, description: 'Narrows the list.' }) })),
}

const fireConnection = connectionOf('TriggerFire', fireType)
builder.queryFields((t) => ({
  triggerFire: t.field({
    type: fireType,
    description: 'One fire of a trigger. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: (_, { id }, call) => getFire(call, id),
  }),
  triggerFires: t.field({
    type: fireConnection,
    description:
      'The fires of a trigger, or of all that the caller has, newest first. Errors: NOT_FOUND, INVALID_REQUEST.',
    args: {
      triggerId: t.arg.id({ description: 'The trigger; all of the caller’s by default.' }),
      ...listArguments,
    },
    resolve: (_, { triggerId, filter, ...window }, call) => pageFires(call, triggerId, window, filter),
  }),
}))

const firesOf = pagesOfEach((call, triggerIds, window: Parameters<typeof pageFiresOfEach>[2]) =>
  pageFiresOfEach(call, triggerIds, window),
)
builder.objectField(triggerType, 'fires', (t) =>
  t.field({
    type: fireConnection,
    description: 'Its fires, newest first.',
    args: pageArguments,
    resolve: ({ id }, window, call) => firesOf(call, id, window),
  }),
)

const firesOfOrganization = listOfOrganizations(
  (call, { filter, ...window }: Parameters<typeof pageFires>[2] & { filter?: FireFilter | null }) =>
    pageFires(call, null, window, filter),
)
builder.objectField(organizationType, 'triggerFires', (t) =>
  t.field({
    type: fireConnection,
    nullable: true,
    description: 'The fires of the caller’s triggers in it, newest first. Not available to API keys.',
    args: listArguments,
    resolve: ({ id }, given, call) => firesOfOrganization(call, id, given),
  }),
)

const fireEvent = builder.objectRef<DecidedFire>('TriggerFireEvent').implement({
  description: 'A fire that was decided.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'redeliveryCount' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume after this fire.',
      resolve: ({ position }) => String(position),
    }),
    fire: t.field({ type: fireType, description: 'The fire.', resolve: (fire) => fire }),
  }),
})
const fireEventOrHeartbeat = builder.unionType('TriggerFireEventOrHeartbeat', {
  description: 'A fire that was decided, or a heartbeat.',
  types: [fireEvent, heartbeat],
})
builder.subscriptionFields((t) => ({
  triggerFireEvents: t.field({
    type: fireEventOrHeartbeat,
    description:
      'The fires of a trigger as they are decided: those after the cursor (without a cursor, the latest), then live ones, until the trigger is deleted. Errors: NOT_FOUND.',
    args: {
      triggerId: t.arg.id({ required: true, description: 'The trigger.' }),
      after: t.arg.string({ description: 'The cursor of the last fire seen.' }),
    },
    subscribe: async (_, { triggerId, after }, call) => withHeartbeats(await followFires(call, triggerId, after)),
    resolve: (event) => event as never, // isTypeOf of the union's members tells them apart
  }),
}))
