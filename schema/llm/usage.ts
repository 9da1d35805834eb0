/** The usage and cost of requests to models, in GraphQL. */
import { findInTurn } from '../large-reads.ts'
import { daysArguments, organizationArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { heartbeat, withHeartbeats } from '../heartbeats.ts'
import { linkTo, nodeOf } from '../nodes.ts'
import { organizationOf } from '../nouns.ts'
import { connectionOf, newestFirst, pageArguments, type OrderGiven } from '../pages.ts'
import { BerthError } from '#src/platform/errors.ts'
import { encodeId } from '#src/platform/ids.ts'
import { sumLimits } from '#src/platform/shapes/sums.ts'
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
  type UsageQuestion,
} from '#src/resources/llm/usage.ts'
import { sessionType } from '../agents/sessions.ts'
import { apiKeyType } from '../identity/api-keys.ts'
import { listOfOrganizations, organizationType } from '../identity/organizations.ts'
import { userType } from '../identity/users.ts'
import { modelType } from './models.ts'

const requestStatus = enumOf('InferenceRequestStatus', 'The status of a request to a model.', {
  open: 'It is running; its usage is updated every second.',
  completed: 'The answer is complete.',
  cut_by_client: 'The caller disconnected before the end.',
  cut_by_upstream: 'The provider broke off the answer.',
  failed: 'No provider answered.',
  lost: 'Its process died. Its usage is as of at most a second before that.',
} satisfies Record<RequestStatus, string>)

const requestRoute = enumOf('InferenceRequestRoute', 'The endpoint at which a request to a model arrived.', {
  'chat.completions': '`POST /llm/v1/chat/completions`.',
  chat: '`POST /llm/v1/chat`.',
  messages: '`POST /llm/v1/messages`.',
  responses: '`POST /llm/v1/responses`.',
  embeddings: '`POST /llm/v1/embeddings`.',
  graphql: 'GraphQL.',
  agent: 'An agent’s session.',
  memories: 'Vectors of memories and of searches in them.',
} satisfies Record<RequestRoute, string>)

const groupBy = enumOf('InferenceUsageGroupBy', 'What sums are grouped by.', {
  key: 'By API key, and by person for requests without one.',
  model: 'By model.',
  day: 'By the day on which requests started, UTC.',
} satisfies Record<UsageGroupBy, string>)

const requestType = nodeOf('InferenceRequest', findRequests)

builder.objectType(requestType, {
  description: 'One request to a model. Its messages and its answer are not stored.',
  fields: (t) => ({
    ...organizationOf(t, 'The organization that pays for it.'),
    keyId: t.exposeID('keyId', { nullable: true, description: 'The API key that sent it.' }),
    key: t.field({
      type: apiKeyType,
      nullable: true,
      description: 'The API key, as an object.',
      resolve: ({ keyId }) => keyId,
    }),
    ...linkTo(t, 'user', {
      type: userType,
      nullable: true,
      description: 'The person who sent it.',
      id: ({ userId }) => userId,
    }),
    session: t.field({
      type: sessionType,
      nullable: true,
      description:
        'The session of an agent that sent it; null for every other request, and for a session of somebody else.',
      resolve: ({ sessionId }) => sessionId,
    }),
    modelId: t.exposeID('model', { description: 'The requested model.' }),
    model: t.field({
      type: modelType,
      nullable: true,
      description: 'The model, as an object; null when this installation no longer serves it.',
      resolve: (request) => request.model,
    }),
    upstream: t.exposeString('upstream', {
      nullable: true,
      description: 'The provider that answered; null when none did.',
    }),
    route: t.expose('route', { type: requestRoute, description: 'The endpoint at which it arrived.' }),
    status: t.expose('status', { type: requestStatus, description: 'Its status.' }),
    inputTokens: t.expose('inputTokens', { type: 'BigInt', description: 'Input tokens, including cached ones.' }),
    outputTokens: t.expose('outputTokens', { type: 'BigInt', description: 'Output tokens, including reasoning.' }),
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
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'When it started.' }),
    endedAt: t.expose('endedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it ended; null while it is running.',
    }),
  }),
})

const totals = builder.objectRef<Totals>('InferenceTotals').implement({
  description: 'Sums of requests to models.',
  fields: (t) => ({
    requests: t.expose('requests', { type: 'BigInt', description: 'How many.' }),
    inputTokens: t.expose('inputTokens', { type: 'BigInt', description: 'Input tokens, including cached ones.' }),
    outputTokens: t.expose('outputTokens', { type: 'BigInt', description: 'Output tokens, including reasoning.' }),
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
  description: 'The sums of one key or person, model or day, or of two of these; the others are null.',
  fields: (t) => ({
    keyId: t.exposeID('keyId', { nullable: true, description: 'The API key.' }),
    key: t.field({
      type: apiKeyType,
      nullable: true,
      description: 'The API key, as an object.',
      resolve: ({ keyId }) => keyId,
    }),
    ...linkTo(t, 'user', {
      type: userType,
      nullable: true,
      description: 'The person.',
      id: ({ userId }) => userId,
    }),
    modelId: t.exposeID('model', { nullable: true, description: 'The model.' }),
    model: t.field({
      type: modelType,
      nullable: true,
      description: 'The model, as an object; null when this installation no longer serves it.',
      resolve: ({ model }) => model,
    }),
    day: t.exposeString('day', { nullable: true, description: 'The day: `2026-11-21`.' }),
    totals: t.field({ type: totals, description: 'The sums.', resolve: (group) => group }),
  }),
})
const usage = builder.objectRef<InferenceUsage>('InferenceUsage').implement({
  description: 'The usage and cost of requests to models that started in a range of days.',
  fields: (t) => ({
    from: t.exposeString('from', { description: 'The first day, UTC.' }),
    to: t.exposeString('to', { description: 'The last day, UTC.' }),
    totals: t.field({ type: totals, description: 'Everything together.', resolve: (all) => all.totals }),
    groups: t.field({
      type: [usageGroup],
      description: `Days in order, of a day those with the highest cost first; ${sumLimits.groupsMax} at most. Empty without \`dimensions\`.`,
      extensions: { most: sumLimits.groupsMax },
      resolve: (all) => all.groups,
    }),
    hasMoreGroups: t.exposeBoolean('hasMoreGroups', { description: 'Whether there are more groups than are shown.' }),
  }),
})

const requestEvent = builder.objectRef<{ settled: SettledRequest }>('InferenceRequestEvent').implement({
  description: 'A request that has ended and is accounted for.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'settled' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume after this event.',
      resolve: ({ settled }) => String(settled.position),
    }),
    request: t.field({ type: requestType, description: 'The request.', resolve: ({ settled }) => settled }),
  }),
})
const eventOrHeartbeat = builder.unionType('InferenceRequestEventOrHeartbeat', {
  description: 'A request that has ended and is accounted for, or a heartbeat.',
  types: [requestEvent, heartbeat],
})
const requestConnection = connectionOf('InferenceRequest', requestType)
const requestFilter = builder.inputType('InferenceRequestFilter', {
  description: 'Narrows a list of requests to models.',
  fields: (t) => ({
    keyId: t.id({ description: 'Only those of this API key.' }),
    modelId: t.id({ description: 'Only those to this model.' }),
    status: t.field({ type: requestStatus, description: 'Only those with this status.' }),
  }),
})
const usageFilter = builder.inputType('InferenceUsageFilter', {
  description: 'Which requests to models are summed.',
  fields: (t) => ({
    keyId: t.id({ description: 'Only those with this API key.' }),
    modelId: t.id({ description: 'Only those to this model.' }),
  }),
})
const usageArguments = {
  ...daysArguments,
  ...builder.args((t) => ({
    dimensions: t.field({ type: [groupBy], description: 'What to group by, in addition to the total: one or two.' }),
    groupBy: t.field({
      type: groupBy,
      description: 'What to group by.',
      deprecationReason: 'Use `dimensions`. Goes with 0.2.',
    }),
    filter: t.field({ type: usageFilter, description: 'Narrows what is summed.' }),
  })),
}
type UsageGiven = Omit<UsageQuestion, 'organizationId'> & { groupBy?: UsageGroupBy | null }
function questionOf({ groupBy: one, dimensions, ...rest }: UsageGiven): UsageQuestion {
  if (one && dimensions)
    throw new BerthError('invalid_request', 'Give dimensions and not groupBy.', { field: 'groupBy' })
  return { ...rest, dimensions: dimensions ?? (one ? [one] : null) }
}
const requestArguments = {
  ...pageArguments,
  ...builder.args((t) => ({
    filter: t.field({ type: requestFilter, description: 'Narrows the list.' }),
    order: t.field(newestFirst),
  })),
}

builder.queryFields((t) => ({
  inferenceUsage: t.field({
    type: usage,
    description: 'The usage and cost of the organization’s requests to models. Errors: FORBIDDEN, INVALID_REQUEST.',
    args: { ...organizationArguments, ...usageArguments },
    resolve: (_, { organizationId, ...given }, call, info) =>
      findInTurn(call, info, () => sumUsage(call, { ...questionOf(given), organizationId })),
  }),
  inferenceRequests: t.field({
    type: requestConnection,
    description: 'The organization’s requests to models, newest first. Errors: FORBIDDEN, INVALID_REQUEST.',
    args: { ...organizationArguments, ...requestArguments },
    resolve: (_, { organizationId, filter, order, ...window }, call) =>
      pageRequests(call, organizationId, window, filter, order),
  }),
}))

type RequestsGiven = Parameters<typeof pageRequests>[2] & OrderGiven & { filter?: Parameters<typeof pageRequests>[3] }
const requestsOf = listOfOrganizations((call, { filter, order, ...window }: RequestsGiven, organizationId) =>
  pageRequests(call, encodeId('organization', organizationId), window, filter, order),
)

builder.objectFields(organizationType, (t) => ({
  inferenceUsage: t.field({
    type: usage,
    nullable: true,
    description: 'The usage and cost of its requests to models. Errors: FORBIDDEN, INVALID_REQUEST.',
    args: usageArguments,
    resolve: ({ id }, given, call, info) =>
      findInTurn(call, info, () =>
        sumUsage(call, { ...questionOf(given), organizationId: encodeId('organization', id) }),
      ),
  }),
  inferenceRequests: t.field({
    type: requestConnection,
    nullable: true,
    description: 'Its requests to models, newest first. Errors: FORBIDDEN, INVALID_REQUEST.',
    args: requestArguments,
    resolve: ({ id }, given, call) => requestsOf(call, id, given),
  }),
}))

builder.subscriptionFields((t) => ({
  inferenceRequestEvents: t.field({
    type: eventOrHeartbeat,
    description:
      'The organization’s requests to models, each when it has ended and is accounted for: those after the cursor, then live ones; without a cursor, only new ones. Errors: FORBIDDEN, INVALID_REQUEST.',
    args: {
      ...organizationArguments,
      after: t.arg.string({ description: 'The cursor of the last event seen; `0` for the beginning.' }),
    },
    subscribe: async (_, { organizationId, after }, call) =>
      withHeartbeats(eventsOf(await followRequests(call, organizationId, after))),
    resolve: (event) => event as never, // isTypeOf of the union's members tells them apart
  }),
}))

async function* eventsOf(
  requests: AsyncIterableIterator<SettledRequest>,
): AsyncIterableIterator<{ settled: SettledRequest }> {
  for await (const settled of requests) yield { settled }
}
