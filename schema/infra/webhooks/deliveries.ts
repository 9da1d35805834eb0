/** The log of webhooks in GraphQL: events, deliveries, attempts; replays and tests. */
import DataLoader from 'dataloader'
import { idArguments } from '#schema/arguments.ts'
import { builder, type Context } from '#schema/builder.ts'
import { enumOf } from '#schema/enums.ts'
import { heartbeat, withHeartbeats } from '#schema/heartbeats.ts'
import { listOfOrganizations, organizationType } from '#schema/identity/organizations.ts'
import { actionOn } from '#schema/mutations.ts'
import { linkTo, nodeOf } from '#schema/nodes.ts'
import { organizationOf } from '#schema/nouns.ts'
import { pagesOfEach } from '#schema/pages-of-each.ts'
import { connectionOf, newestFirst, pageArguments, type OrderGiven } from '#schema/pages.ts'
import { endpointType, webhookEventType } from '#schema/infra/webhooks.ts'
import { encodeId } from '#src/platform/ids.ts'
import type { PageWindow } from '#src/platform/pages.ts'
import {
  attemptsOf,
  findWebhookDeliveries,
  findWebhookEvents,
  followAttempts,
  getWebhookDelivery,
  getWebhookEvent,
  pageDeliveriesOfEach,
  pageWebhookEvents,
  replayWebhookDelivery,
  sendTestWebhookEvent,
  type DeliveryFilter,
} from '#src/resources/infra/webhooks/deliveries.ts'
import { webhookLimits } from '#src/resources/infra/webhooks/limits.ts'
import { bodyOf, type DeliveryStatus, type WebhookAttempt } from '#src/resources/infra/webhooks/rows.ts'

const deliveryStatus = enumOf('WebhookDeliveryStatus', 'How far a webhook delivery is.', {
  pending: 'It is being delivered, or waits for its next attempt.',
  succeeded: 'The endpoint answered 2xx.',
  failed: 'No further attempt is made. It can be replayed.',
} satisfies Record<DeliveryStatus, string>)

const eventType = nodeOf(
  'WebhookEvent',
  findWebhookEvents,
  '`event_` and 26 characters: the `webhook-id` of its requests.',
)
const deliveryType = nodeOf('WebhookDelivery', findWebhookDeliveries)

const attempt = builder.objectRef<WebhookAttempt>('WebhookAttempt').implement({
  description: 'One attempt to deliver an event to an endpoint.',
  fields: (t) => ({
    number: t.exposeInt('number', { description: 'Which attempt of its delivery it was, from 1.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'When it began.' }),
    durationMs: t.exposeInt('durationMs', { description: 'How long it took, in milliseconds.' }),
    responseStatus: t.exposeInt('responseStatus', {
      nullable: true,
      description: 'The HTTP status of the answer; null when there was none.',
    }),
    problem: t.exposeString('problem', {
      nullable: true,
      description: 'Why it failed, as a sentence; null when it succeeded.',
    }),
    answer: t.exposeString('answer', {
      nullable: true,
      description: `The beginning of what the endpoint said when it refused, at most ${webhookLimits.answerBytes} bytes, without its secrets.`,
    }),
  }),
})

builder.objectType(eventType, {
  description: `Something that happened, of which an endpoint was told. It is remembered for ${webhookLimits.keptDays} days.`,
  fields: (t) => ({
    ...organizationOf(t, 'Where it happened.'),
    type: t.field({ type: webhookEventType, description: 'What happened.', resolve: ({ type }) => type }),
    subjectId: t.id({
      description: 'What it happened to.',
      resolve: ({ subjectId }) => subjectId,
    }),
    subject: t.node({
      description: 'The same as it is now; null once it is deleted, and where it is not the caller’s.',
      id: ({ subjectId }) => subjectId,
    }),
    body: t.string({ description: 'The body of its requests: JSON.', resolve: bodyOf }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it happened.' }),
  }),
})

type Attempts = DataLoader<string, WebhookAttempt[]>
const loaders = new WeakMap<Context, Attempts>()
/** The attempts of the deliveries of a list are read together. */
function attemptsLoader(call: Context): Attempts {
  const known = loaders.get(call)
  if (known) return known
  const made: Attempts = new DataLoader(
    async (ids) => {
      const found = await attemptsOf(call, ids)
      return ids.map((id) => found.get(id) ?? [])
    },
    { cache: false },
  )
  loaders.set(call, made)
  return made
}

builder.objectType(deliveryType, {
  description: 'The delivery of an event to an endpoint.',
  fields: (t) => ({
    ...linkTo(t, 'endpoint', { type: endpointType, description: 'Where it goes.', id: ({ endpointId }) => endpointId }),
    ...linkTo(t, 'event', { type: eventType, description: 'What happened.', id: ({ eventId }) => eventId }),
    status: t.field({ type: deliveryStatus, description: 'How far it is.', resolve: ({ status }) => status }),
    attemptCount: t.int({
      description: 'How many attempts were made, those before a replay too.',
      resolve: (delivery) => delivery.attempts,
    }),
    attempts: t.field({
      type: [attempt],
      description: `Its attempts, oldest first: the latest ${webhookLimits.attemptsKept}.`,
      resolve: ({ id }, _, call) => attemptsLoader(call).load(id),
    }),
    nextAttemptAt: t.expose('nextAttemptAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the next attempt may be made; null when there will be none.',
    }),
    responseStatus: t.exposeInt('responseStatus', {
      nullable: true,
      description: 'The HTTP status of the latest answer; null when there was none.',
    }),
    problem: t.exposeString('problem', {
      nullable: true,
      description: 'Why it did not succeed so far, as a sentence.',
    }),
    finishedAt: t.expose('finishedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it succeeded or failed; null while it is pending.',
    }),
    replayedAt: t.expose('replayedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was last replayed.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
  }),
})

const deliveryConnection = connectionOf('WebhookDelivery', deliveryType)
const eventConnection = connectionOf('WebhookEvent', eventType)
const deliveryFilter = builder.inputType('WebhookDeliveryFilter', {
  description: 'Narrows a list of webhook deliveries.',
  fields: (t) => ({
    statuses: t.field({ type: [deliveryStatus], description: 'Only those with one of these statuses.' }),
  }),
})
const deliveryArguments = {
  ...pageArguments,
  ...builder.args((t) => ({
    filter: t.field({ type: deliveryFilter, description: 'Narrows the list.' }),
    order: t.field(newestFirst),
  })),
}
const eventArguments = {
  ...pageArguments,
  ...builder.args((t) => ({
    order: t.field(newestFirst),
  })),
}

type DeliveriesGiven = PageWindow & OrderGiven & { filter?: DeliveryFilter | null }
const deliveriesOf = (parent: Parameters<typeof pageDeliveriesOfEach>[1]) =>
  pagesOfEach((call, ids, { filter, order, ...window }: DeliveriesGiven) =>
    pageDeliveriesOfEach(call, parent, ids, window, { ...filter, direction: order }),
  )
const ofEndpoints = deliveriesOf('endpoint')
const ofEvents = deliveriesOf('event')

builder.objectField(endpointType, 'deliveries', (t) =>
  t.field({
    type: deliveryConnection,
    nullable: true,
    description: 'What it was told, newest first.',
    args: deliveryArguments,
    resolve: ({ id }, given, call) => ofEndpoints(call, id, given),
  }),
)
builder.objectField(eventType, 'deliveries', (t) =>
  t.field({
    type: deliveryConnection,
    nullable: true,
    description: 'Its deliveries, one for each endpoint that wanted it.',
    args: deliveryArguments,
    resolve: ({ id }, given, call) => ofEvents(call, id, given),
  }),
)

type EventsGiven = PageWindow & OrderGiven
const eventsOf = listOfOrganizations((call, { order, ...window }: EventsGiven) =>
  pageWebhookEvents(call, window, order),
)
builder.objectField(organizationType, 'webhookEvents', (t) =>
  t.field({
    type: eventConnection,
    nullable: true,
    description: 'What happened in it of which an endpoint was told, newest first; for admins.',
    args: eventArguments,
    resolve: ({ id }, given, call) => eventsOf(call, id, given),
  }),
)

builder.queryFields((t) => ({
  webhookEvent: t.field({
    type: eventType,
    description: 'One event. Requires the admin role. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: (_, { id }, call) => getWebhookEvent(call, id),
  }),
  webhookEvents: t.field({
    type: eventConnection,
    description: 'The organization’s events of which an endpoint was told, newest first. Requires the admin role.',
    args: eventArguments,
    resolve: (_, { order, ...window }, call) => pageWebhookEvents(call, window, order),
  }),
  webhookDelivery: t.field({
    type: deliveryType,
    description: 'One delivery. Requires the admin role. Errors: NOT_FOUND.',
    args: idArguments,
    resolve: (_, { id }, call) => getWebhookDelivery(call, id),
  }),
}))

const delivery = { field: 'webhookDelivery', type: deliveryType }
actionOn(
  'replayWebhookDelivery',
  delivery,
  `Delivers an event again that has failed or succeeded, with the id and the body that it had, and all attempts anew; for ${webhookLimits.keptDays} days. Requires the admin role. Errors: NOT_FOUND, INVALID_TRANSITION, RATE_LIMITED.`,
  replayWebhookDelivery,
)
actionOn(
  'sendTestWebhookEvent',
  { ...delivery, description: 'The delivery of the test.' },
  'Sends a webhook endpoint an event of the type `webhook_endpoint.test`, whatever it wants. Takes the endpoint’s id. Requires the admin role. Errors: NOT_FOUND, INVALID_TRANSITION, RATE_LIMITED.',
  sendTestWebhookEvent,
)

const deliveryEvent = builder.objectRef<WebhookAttempt>('WebhookDeliveryEvent').implement({
  description: 'An attempt to deliver an event, and what became of the delivery by it.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'position' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume after this event.',
      resolve: ({ position }) => String(position),
    }),
    deliveryId: t.id({
      description: 'Which delivery.',
      resolve: ({ deliveryId }) => encodeId('webhookDelivery', deliveryId),
    }),
    delivery: t.field({
      type: deliveryType,
      nullable: true,
      description: 'The delivery as it is now; null once it is forgotten.',
      resolve: ({ deliveryId }) => deliveryId,
    }),
    status: t.field({
      type: deliveryStatus,
      description: 'The status of the delivery after this attempt.',
      resolve: ({ status }) => status,
    }),
    attempt: t.field({ type: attempt, description: 'The attempt.', resolve: (made) => made }),
  }),
})

const deliveryEventOrHeartbeat = builder.unionType('WebhookDeliveryEventOrHeartbeat', {
  description: 'An attempt to deliver an event, or a heartbeat.',
  types: [deliveryEvent, heartbeat],
})

builder.subscriptionFields((t) => ({
  webhookDeliveryEvents: t.field({
    type: deliveryEventOrHeartbeat,
    description:
      'The attempts to deliver to an endpoint: those after the cursor (without a cursor, those from now on), then live ones, until it is deleted. Requires the admin role. Errors: NOT_FOUND, INVALID_REQUEST.',
    args: {
      endpointId: t.arg.id({ required: true, description: 'The endpoint’s id.' }),
      after: t.arg.string({ description: 'The cursor of the last event seen.' }),
    },
    subscribe: async (_, { endpointId, after }, call) => withHeartbeats(await followAttempts(call, endpointId, after)),
    resolve: (event) => event as never, // isTypeOf of the union's members tells them apart
  }),
}))
