/** What requests to models used and cost, in GraphQL. */
import { organizationArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { heartbeat, withHeartbeats } from '../heartbeats.ts'
import { nodeOf } from '../nodes.ts'
import { connectionOf, orderOf, pageArguments } from '../pages.ts'
import { encodeId } from '#src/platform/ids.ts'
import type { RequestRoute, RequestStatus } from '#src/resources/llm/billing.ts'
import {
  findRequests,
  followRequests,
  pageRequests,
  sumUsage,
  type InferenceUsage,
  type SettledRequest,
  type Totals,
  type UsageGroup,
  type UsageGroupBy,
} from '#src/resources/llm/usage.ts'
import { apiKeyType } from '../identity/api-keys.ts'
import { organizationType } from '../identity/organizations.ts'
import { userType } from '../identity/users.ts'
import { modelType } from './models.ts'

const requestStatus = enumOf('InferenceRequestStatus', 'How a request to a model stands.', {
  open: 'It runs; what it used is brought up to date every second.',
  completed: 'The model said everything.',
  cut_by_client: 'The caller left before the end.',
  cut_by_upstream: 'The provider broke off.',
  failed: 'No provider answered.',
  lost: 'Its process died. It is counted by what was written of it last, a second before at most.',
} satisfies Record<RequestStatus, string>)

const requestRoute = enumOf('InferenceRequestRoute', 'Where a request to a model came in.', {
  'chat.completions': '`POST /llm/v1/chat/completions`.',
  chat: '`POST /llm/v1/chat`.',
  graphql: 'GraphQL.',
  agent: 'A session of an agent.',
} satisfies Record<RequestRoute, string>)

const groupBy = enumOf('InferenceUsageGroupBy', 'What sums are by.', {
  key: 'By organization key, and by person for requests without one.',
  model: 'By model.',
  day: 'By day of the start, UTC.',
} satisfies Record<UsageGroupBy, string>)

const requestType = nodeOf('InferenceRequest', '`infreq_` and 26 characters.', findRequests)

builder.objectType(requestType, {
  description: 'One request to a model. What was asked and answered is not kept.',
  fields: (t) => ({
    organizationId: t.id({
      description: 'Who pays for it.',
      resolve: ({ organizationId }) => encodeId('organization', organizationId),
    }),
    organization: t.field({
      type: organizationType,
      nullable: true,
      description: 'The same, whole.',
      resolve: ({ organizationId }) => organizationId,
    }),
    keyId: t.exposeID('keyId', { nullable: true, description: 'The organization key that asked.' }),
    key: t.field({
      type: apiKeyType,
      nullable: true,
      description: 'The same, whole.',
      resolve: ({ keyId }) => keyId,
    }),
    userId: t.id({
      nullable: true,
      description: 'The person who asked.',
      resolve: ({ userId }) => userId && encodeId('user', userId),
    }),
    user: t.field({
      type: userType,
      nullable: true,
      description: 'The same, whole.',
      resolve: ({ userId }) => userId,
    }),
    modelId: t.exposeID('model', { description: 'The model that was asked.' }),
    model: t.field({
      type: modelType,
      nullable: true,
      description: 'The same as it is now; null for one that is no longer served.',
      resolve: (request) => request.model,
    }),
    upstream: t.exposeString('upstream', { nullable: true, description: 'Who answered; null when nobody did.' }),
    route: t.expose('route', { type: requestRoute, description: 'Where it came in.' }),
    status: t.expose('status', { type: requestStatus, description: 'How it stands.' }),
    inputTokens: t.expose('inputTokens', { type: 'BigInt', description: 'Tokens in, those of the cache included.' }),
    outputTokens: t.expose('outputTokens', { type: 'BigInt', description: 'Tokens out, reasoning included.' }),
    cacheReadTokens: t.expose('cacheReadTokens', {
      type: 'BigInt',
      description: 'Tokens read from the provider’s cache.',
    }),
    cacheWriteTokens: t.expose('cacheWriteTokens', {
      type: 'BigInt',
      description: 'Tokens written to the provider’s cache.',
    }),
    reasoningTokens: t.expose('reasoningTokens', { type: 'BigInt', description: 'Tokens of reasoning.' }),
    costUsd: t.expose('costUsd', { type: 'Decimal', description: 'US dollars, nine decimals.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'When it began.' }),
    endedAt: t.expose('endedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it ended; null while it runs.',
    }),
  }),
})

const totals = builder.objectRef<Totals>('InferenceTotals').implement({
  description: 'Sums of requests to models.',
  fields: (t) => ({
    requests: t.expose('requests', { type: 'BigInt', description: 'How many.' }),
    inputTokens: t.expose('inputTokens', { type: 'BigInt', description: 'Tokens in, those of the cache included.' }),
    outputTokens: t.expose('outputTokens', { type: 'BigInt', description: 'Tokens out, reasoning included.' }),
    cacheReadTokens: t.expose('cacheReadTokens', {
      type: 'BigInt',
      description: 'Tokens read from providers’ caches.',
    }),
    cacheWriteTokens: t.expose('cacheWriteTokens', {
      type: 'BigInt',
      description: 'Tokens written to providers’ caches.',
    }),
    reasoningTokens: t.expose('reasoningTokens', { type: 'BigInt', description: 'Tokens of reasoning.' }),
    costUsd: t.expose('costUsd', { type: 'Decimal', description: 'US dollars, nine decimals.' }),
  }),
})
const usageGroup = builder.objectRef<UsageGroup>('InferenceUsageGroup').implement({
  description: 'Sums of one key, person, model or day; what they are not by is null.',
  fields: (t) => ({
    keyId: t.exposeID('keyId', { nullable: true, description: 'The organization key.' }),
    key: t.field({ type: apiKeyType, nullable: true, description: 'The same, whole.', resolve: ({ keyId }) => keyId }),
    userId: t.id({
      nullable: true,
      description: 'The person.',
      resolve: ({ userId }) => userId && encodeId('user', userId),
    }),
    user: t.field({
      type: userType,
      nullable: true,
      description: 'The same, whole.',
      resolve: ({ userId }) => userId,
    }),
    modelId: t.exposeID('model', { nullable: true, description: 'The model.' }),
    model: t.field({
      type: modelType,
      nullable: true,
      description: 'The same as it is now; null for one that is no longer served.',
      resolve: ({ model }) => model,
    }),
    day: t.exposeString('day', { nullable: true, description: 'The day: `2026-11-21`.' }),
    totals: t.field({ type: totals, description: 'The sums.', resolve: (group) => group }),
  }),
})
const usage = builder.objectRef<InferenceUsage>('InferenceUsage').implement({
  description: 'What requests to models used and cost in some days, by the day on which they began.',
  fields: (t) => ({
    from: t.exposeString('from', { description: 'The first day, UTC.' }),
    to: t.exposeString('to', { description: 'The last day, UTC.' }),
    totals: t.field({ type: totals, description: 'Everything together.', resolve: (all) => all.totals }),
    groups: t.field({
      type: [usageGroup],
      description: 'The dearest first, days in order; 1,000 at most. Empty without `groupBy`.',
      resolve: (all) => all.groups,
    }),
  }),
})

const requestEvent = builder.objectRef<{ settled: SettledRequest }>('InferenceRequestEvent').implement({
  description: 'A request that was settled.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'settled' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume behind this event.',
      resolve: ({ settled }) => String(settled.position),
    }),
    request: t.field({ type: requestType, description: 'The request.', resolve: ({ settled }) => settled }),
  }),
})
const eventOrHeartbeat = builder.unionType('InferenceRequestEventOrHeartbeat', {
  description: 'A request that was settled, or a sign of life.',
  types: [requestEvent, heartbeat],
})
const requestConnection = connectionOf('InferenceRequest', requestType)
const requestFilter = builder.inputType('InferenceRequestFilter', {
  description: 'Which requests to models a list shows.',
  fields: (t) => ({
    keyId: t.id({ description: 'Only those of this organization key.' }),
    modelId: t.id({ description: 'Only those to this model.' }),
    status: t.field({ type: requestStatus, description: 'Only those that stand so.' }),
  }),
})
const usageArguments = builder.args((t) => ({
  from: t.string({ description: 'The first day, UTC: `2026-11-01`; the first of the month of `to` without it.' }),
  to: t.string({ description: 'The last day, UTC; today without it. 366 days at most.' }),
  groupBy: t.field({ type: groupBy, description: 'What to sum by, besides everything together.' }),
}))
const requestArguments = {
  ...pageArguments,
  ...builder.args((t) => ({
    filter: t.field({ type: requestFilter, description: 'Which ones.' }),
    orderBy: t.field({ type: orderOf('InferenceRequest'), description: 'Newest first without it.' }),
  })),
}

builder.queryFields((t) => ({
  inferenceUsage: t.field({
    type: usage,
    description: 'What the organization’s requests to models used and cost. Errors: FORBIDDEN, INVALID_REQUEST.',
    args: { ...organizationArguments, ...usageArguments },
    resolve: (_, input, call) => sumUsage(call, input),
  }),
  inferenceRequests: t.field({
    type: requestConnection,
    description: 'The organization’s requests to models, newest first. Errors: FORBIDDEN, INVALID_REQUEST.',
    args: { ...organizationArguments, ...requestArguments },
    resolve: (_, { organizationId, filter, orderBy, ...window }, call) =>
      pageRequests(call, organizationId, window, filter, orderBy?.direction),
  }),
}))

builder.objectFields(organizationType, (t) => ({
  inferenceUsage: t.field({
    type: usage,
    nullable: true,
    description: 'What its requests to models used and cost. Errors: FORBIDDEN, INVALID_REQUEST.',
    args: usageArguments,
    resolve: ({ id }, input, call) => sumUsage(call, { ...input, organizationId: encodeId('organization', id) }),
  }),
  inferenceRequests: t.field({
    type: requestConnection,
    nullable: true,
    description: 'Its requests to models, newest first. Errors: FORBIDDEN, INVALID_REQUEST.',
    args: requestArguments,
    resolve: ({ id }, { filter, orderBy, ...window }, call) =>
      pageRequests(call, encodeId('organization', id), window, filter, orderBy?.direction),
  }),
}))

builder.subscriptionFields((t) => ({
  inferenceRequestEvents: t.field({
    type: eventOrHeartbeat,
    description:
      'The organization’s requests to models as they are settled: those after the cursor, then live; from now on without one. Errors: FORBIDDEN, INVALID_REQUEST.',
    args: {
      ...organizationArguments,
      after: t.arg.string({ description: 'The cursor of the last event seen; `0` for the beginning.' }),
    },
    subscribe: async (_, { organizationId, after }, call) =>
      withHeartbeats(eventsOf(await followRequests(call, organizationId, after))),
    resolve: (event) => event as never, // the union's own types tell them apart
  }),
}))

async function* eventsOf(
  requests: AsyncIterableIterator<SettledRequest>,
): AsyncIterableIterator<{ settled: SettledRequest }> {
  for await (const settled of requests) yield { settled }
}
