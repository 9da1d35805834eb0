/** Webhook endpoints in GraphQL; schema/infra/webhooks/ has the log of what they were told, and its events. */
import type { InputFieldBuilder } from '@pothos/core'
import { webhookLimits } from '#src/resources/infra/webhooks/limits.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { userType } from '../identity/users.ts'
import { deletionOf, idField, mutationOf } from '../mutations.ts'
import { linkTo, times, timesIfAny } from '../nodes.ts'
import { nounOf, organizationOf } from '../nouns.ts'
import { momentAt, now } from '#src/platform/clock.ts'
import { webhookEventTypes } from '#src/resources/infra/webhooks/event-types.ts'
import type { DisabledReason } from '#src/resources/infra/webhooks/rows.ts'
import {
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  rotateWebhookSecret,
  updateWebhookEndpoint,
  webhookEndpointReads,
  type EndpointWithSecret,
} from '#src/resources/infra/webhooks.ts'

type Types = (typeof builder)['$inferSchemaTypes']

/** What endpoints can be told of. */
export const webhookEventType = enumOf('WebhookEventType', 'What a webhook endpoint can be told of.', webhookEventTypes)

const disabledReason = enumOf('WebhookDisabledReason', 'Why a webhook endpoint is disabled.', {
  manual: 'Somebody disabled it.',
  gone: 'It answered 410.',
  failures: `${webhookLimits.failuresMax} attempts in a row failed.`,
} satisfies Record<DisabledReason, string>)

/** A webhook endpoint. */
export const endpointType = nounOf('WebhookEndpoint', webhookEndpointReads, {
  description: 'An address of your own that is told of what happens in the organization, by signed requests.',
  one: 'One webhook endpoint. Requires the admin role. Errors: NOT_FOUND.',
  list: {
    description: 'The organization’s webhook endpoints, newest first. Requires the admin role.',
    inOrganization: 'Its webhook endpoints, newest first; for admins.',
  },
  fields: (t) => ({
    ...organizationOf(t),
    ...linkTo(t, 'createdBy', {
      type: userType,
      nullable: true,
      description: 'Who made it.',
      id: (endpoint) => endpoint.userId,
    }),
    url: t.exposeString('url', { description: 'Where the requests go.' }),
    description: t.exposeString('description', { nullable: true, description: 'Your own words for it.' }),
    eventTypes: t.field({
      type: [webhookEventType],
      nullable: true,
      description: 'What it wants to be told of; null for everything, also what comes with later versions of Berth.',
      resolve: (endpoint) => endpoint.eventTypes,
    }),
    isEnabled: t.exposeBoolean('enabled', { description: 'Whether it is told of anything.' }),
    disabledReason: t.field({
      type: disabledReason,
      nullable: true,
      description: 'Why it is disabled; null while it is enabled.',
      resolve: (endpoint) => endpoint.disabledReason,
    }),
    ...timesIfAny(t, { disabledAt: 'When it was disabled.' }),
    failuresInARow: t.int({
      description: `How many attempts have failed since the last that succeeded; ${webhookLimits.failuresMax} disable it.`,
      resolve: (endpoint) => endpoint.failures,
    }),
    lastProblem: t.exposeString('lastProblem', {
      nullable: true,
      description: 'Why the latest failed attempt failed, as a sentence.',
    }),
    ...timesIfAny(t, {
      heldUntil: 'Until when it is left alone, because the latest attempt failed; null when that succeeded.',
    }),
    previousSecretUntil: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'Until when the secret before the current one signs too; null when it does not.',
      resolve: ({ previousSecretUntil: until }) => (until && momentAt(until) > now() ? until : null),
    }),
    eventCursor: t.string({
      description: 'Pass it as `after` to `webhookDeliveryEvents` to follow what happens from here on.',
      resolve: (endpoint) => String(endpoint.eventPosition),
    }),
    ...times(t, 'createdAt', 'updatedAt'),
  }),
})

const urlRule =
  'An https:// address of at most 2048 characters that leads to public hosts; http:// and private hosts only where the operator allows them.'
const inputFields = (t: InputFieldBuilder<Types, 'InputObject'>) => ({
  description: t.string({ description: 'Your own words for it, at most 2048 characters.' }),
  eventTypes: t.field({
    type: [webhookEventType],
    description: 'What it wants to be told of, at least one; null for everything, which is the default.',
  }),
  enabled: t.boolean({ description: 'Whether it is told of anything; true by default.' }),
})
const shownOnce = 'Its secret, `whsec_` and base64, with which its requests are signed. It is shown only this once.'

/** A mutation that answers an endpoint with its new secret. */
const payload = (t: PothosSchemaTypes.ObjectFieldBuilder<Types, EndpointWithSecret>) => ({
  webhookEndpoint: t.field({
    type: endpointType,
    description: 'The object after the change.',
    resolve: ({ endpoint }) => endpoint,
  }),
  secret: t.exposeString('secret', { description: shownOnce }),
})

builder.relayMutationField(
  'createWebhookEndpoint',
  {
    description: 'What `createWebhookEndpoint` takes.',
    inputFields: (t) => ({ url: t.string({ required: true, description: urlRule }), ...inputFields(t) }),
  },
  {
    description:
      'Adds a webhook endpoint, and shows its secret. Requires the admin role. Errors: INVALID_REQUEST, RATE_LIMITED.',
    resolve: (_, { input }, call) => createWebhookEndpoint(call, input),
  },
  { description: 'What `createWebhookEndpoint` answers.', outputFields: payload },
)
builder.relayMutationField(
  'rotateWebhookEndpointSecret',
  {
    description: 'What `rotateWebhookEndpointSecret` takes.',
    inputFields: (t) => ({
      ...idField(t),
      previousSecretHours: t.int({
        description: `For how many hours the secret before signs too, 0 to ${webhookLimits.previousSecretHoursMax}; ${webhookLimits.previousSecretHours} by default. 0 for one that others know.`,
      }),
    }),
  },
  {
    description:
      'Gives a webhook endpoint a new secret, and shows it. Requires the admin role. Errors: NOT_FOUND, INVALID_REQUEST.',
    resolve: (_, { input }, call) => rotateWebhookSecret(call, input.id, input.previousSecretHours),
  },
  { description: 'What `rotateWebhookEndpointSecret` answers.', outputFields: payload },
)
mutationOf(
  'updateWebhookEndpoint',
  { field: 'webhookEndpoint', type: endpointType },
  'Changes a webhook endpoint; fields that are left out stay. Disabling it ends what waits for it, as failed; enabling it again forgives its failures. Requires the admin role. Errors: NOT_FOUND, INVALID_REQUEST.',
  (t) => ({ ...idField(t), url: t.string({ description: urlRule }), ...inputFields(t) }),
  (call, { id, ...changes }) => updateWebhookEndpoint(call, id, changes),
)
deletionOf(
  'deleteWebhookEndpoint',
  'Deletes a webhook endpoint with the log of its deliveries. Requires the admin role. Errors: NOT_FOUND.',
  deleteWebhookEndpoint,
)
