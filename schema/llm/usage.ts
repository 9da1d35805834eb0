/** What requests to models used and cost, in GraphQL. */
import { organizationArguments } from '../arguments.ts'
import { builder } from '../builder.ts'
import { heartbeat, withHeartbeats } from '../heartbeats.ts'
import { connectionOf, pageArguments } from '../pages.ts'
import { encodeId } from '#src/platform/ids.ts'
import type { RequestStatus } from '#src/resources/llm/billing.ts'
import {
  followRequests,
  listRequests,
  sumUsage,
  type InferenceUsage,
  type SettledRequest,
  type ShownRequest,
  type Totals,
  type UsageGroup,
  type UsageGroupBy,
} from '#src/resources/llm/usage.ts'

const requestStatus = builder.enumType('InferenceRequestStatus', {
  description: 'How a request to a model stands.',
  values: {
    open: { description: 'It runs; what it used is brought up to date every second.' },
    completed: { description: 'The model said everything.' },
    cut_by_client: { description: 'The caller left before the end.' },
    cut_by_upstream: { description: 'The provider broke off.' },
    failed: { description: 'No provider answered.' },
    lost: { description: 'Its process died. It is counted by what was written of it last, a second before at most.' },
  } satisfies Record<RequestStatus, { description: string }>,
})

const groupBy = builder.enumType('InferenceUsageGroupBy', {
  description: 'What sums are by.',
  values: {
    KEY: { description: 'By organization key, and by person for requests without one.' },
    MODEL: { description: 'By model.' },
    DAY: { description: 'By day of the start, UTC.' },
  } satisfies Record<UsageGroupBy, { description: string }>,
})

const requestType = builder.objectRef<ShownRequest>('InferenceRequest').implement({
  description: 'One request to a model. What was asked and answered is not kept.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'costUsd' in value,
  fields: (t) => ({
    id: t.id({ description: 'Its id.', resolve: (request) => encodeId('inferenceRequest', request.id) }),
    keyId: t.exposeString('keyId', { nullable: true, description: 'The organization key that asked.' }),
    userId: t.id({
      nullable: true,
      description: 'The person who asked.',
      resolve: ({ userId }) => userId && encodeId('user', userId),
    }),
    model: t.exposeString('model', { description: 'The model.' }),
    upstream: t.exposeString('upstream', { nullable: true, description: 'Who answered; null when nobody did.' }),
    route: t.exposeString('route', {
      description: 'Where it came in: `chat.completions`, `chat`, `graphql` or `agent`.',
    }),
    status: t.field({ type: requestStatus, description: 'How it stands.', resolve: (request) => request.status }),
    inputTokens: t.exposeFloat('inputTokens', { description: 'Tokens in, those of the cache included.' }),
    outputTokens: t.exposeFloat('outputTokens', { description: 'Tokens out, reasoning included.' }),
    cacheReadTokens: t.exposeFloat('cacheReadTokens', { description: 'Tokens read from the provider’s cache.' }),
    cacheWriteTokens: t.exposeFloat('cacheWriteTokens', { description: 'Tokens written to the provider’s cache.' }),
    reasoningTokens: t.exposeFloat('reasoningTokens', { description: 'Tokens of reasoning.' }),
    costUsd: t.exposeFloat('costUsd', { description: 'US dollars, nine decimals.' }),
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
    requests: t.exposeFloat('requests', { description: 'How many.' }),
    inputTokens: t.exposeFloat('inputTokens', { description: 'Tokens in, those of the cache included.' }),
    outputTokens: t.exposeFloat('outputTokens', { description: 'Tokens out, reasoning included.' }),
    cacheReadTokens: t.exposeFloat('cacheReadTokens', { description: 'Tokens read from providers’ caches.' }),
    cacheWriteTokens: t.exposeFloat('cacheWriteTokens', { description: 'Tokens written to providers’ caches.' }),
    reasoningTokens: t.exposeFloat('reasoningTokens', { description: 'Tokens of reasoning.' }),
    costUsd: t.exposeFloat('costUsd', { description: 'US dollars, nine decimals.' }),
  }),
})
const usageGroup = builder.objectRef<UsageGroup>('InferenceUsageGroup').implement({
  description: 'Sums of one key, person, model or day; what they are not by is null.',
  fields: (t) => ({
    keyId: t.exposeString('keyId', { nullable: true, description: 'The organization key.' }),
    userId: t.id({
      nullable: true,
      description: 'The person.',
      resolve: ({ userId }) => userId && encodeId('user', userId),
    }),
    model: t.exposeString('model', { nullable: true, description: 'The model.' }),
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

builder.queryFields((t) => ({
  inferenceUsage: t.field({
    type: usage,
    description: 'What the organization’s requests to models used and cost. Errors: FORBIDDEN, INVALID_REQUEST.',
    args: {
      ...organizationArguments,
      from: t.arg.string({
        description: 'The first day, UTC: `2026-11-01`; the first of the month of `to` without it.',
      }),
      to: t.arg.string({ description: 'The last day, UTC; today without it. 366 days at most.' }),
      groupBy: t.arg({ type: groupBy, description: 'What to sum by, besides everything together.' }),
    },
    resolve: (_, input, call) => sumUsage(call, input),
  }),
  inferenceRequests: t.field({
    type: requestConnection,
    description: 'The organization’s requests to models, newest first. Errors: FORBIDDEN, INVALID_REQUEST.',
    args: {
      ...organizationArguments,
      keyId: t.arg.string({ description: 'Only those of this organization key.' }),
      model: t.arg.string({ description: 'Only those to this model.' }),
      ...pageArguments,
    },
    resolve: (_, input, call) => listRequests(call, input) as never, // see pages.ts
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
