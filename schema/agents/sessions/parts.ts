/** What a session consists of beside its log: where it stands, what it used, what it may spend, what it is to reach. */
import { builder } from '../../builder.ts'
import { enumOf } from '../../enums.ts'
import type { Outcome, OutcomeEnd } from '#src/resources/agents/outcomes/rows.ts'
import type { Activity } from '#src/resources/agents/sessions/reading.ts'
import type { Session, SessionSource, SessionStatus, StopReason } from '#src/resources/agents/sessions/rows.ts'
import type { ShownBudget, ShownStats, ShownUsage } from '#src/resources/agents/sessions/usage.ts'

/** Where a session is. */
export const sessionStatus = enumOf('SessionStatus', 'Where a session is.', {
  idle: 'It waits for the client; `stopReason` says for what.',
  running: 'It works.',
  rescheduling: 'Something failed that may pass; it is tried again soon.',
  terminated: 'It has ended for ever.',
} satisfies Record<SessionStatus, string>)

/** What a session works with. */
export const sessionKind = enumOf('SessionKind', 'What a session works with.', {
  chat: 'Words alone.',
  computer: 'An environment.',
} satisfies Record<Session['kind'], string>)

/** Who began a session. */
export const sessionSource = enumOf('SessionSource', 'Who began a session.', {
  user: 'A caller.',
  schedule: 'A schedule.',
  trigger: 'A trigger.',
  deployment: 'A deployment.',
  run: 'A run.',
  peer: 'Another session.',
} satisfies Record<SessionSource, string>)

const stopReasonType = enumOf('StopReasonType', 'Why a session is idle.', {
  end_turn: 'The agent said what it had to say.',
  requires_action: 'It waits for answers to tool uses.',
  retries_exhausted: 'Something failed too often.',
  budget_reached: 'It has spent what it may.',
} satisfies Record<StopReason['type'], string>)

const stopReasonNames: Readonly<Record<StopReason['type'], string>> = {
  end_turn: 'EndTurn',
  requires_action: 'RequiresAction',
  retries_exhausted: 'RetriesExhausted',
  budget_reached: 'BudgetReached',
}

/** Why a session is idle. */
export const stopReason = builder.interfaceRef<StopReason>('StopReason').implement({
  description: 'Why a session is idle.',
  resolveType: ({ type }) => stopReasonNames[type],
  fields: (t) => ({
    type: t.field({ type: stopReasonType, description: 'Which reason.', resolve: ({ type }) => type }),
  }),
})
builder.objectRef<StopReason>('EndTurn').implement({
  description: 'The agent said what it had to say.',
  interfaces: [stopReason],
})
builder.objectRef<StopReason>('RetriesExhausted').implement({
  description: 'Something failed too often.',
  interfaces: [stopReason],
})
builder.objectRef<StopReason>('BudgetReached').implement({
  description: 'The session has spent what it may.',
  interfaces: [stopReason],
})

/** The one stop reason that says more; the events themselves are added where events are. */
export const requiresAction = builder
  .objectRef<Extract<StopReason, { type: 'requires_action' }>>('RequiresAction')
  .implement({
    description: 'The session waits for answers to tool uses.',
    interfaces: [stopReason],
    fields: (t) => ({
      eventIds: t.idList({ description: 'The tool uses.', resolve: ({ event_ids: eventIds }) => eventIds }),
    }),
  })

/** An amount. */
const money = builder.objectRef<ShownUsage['list_cost']>('Money').implement({
  description: 'An amount of money.',
  fields: (t) => ({
    amount: t.expose('amount', { type: 'Decimal', description: 'Such as `"2.50"`.' }),
    currency: t.exposeString('currency', { description: 'Always `USD`.' }),
  }),
})

const budgetType = enumOf('BudgetType', 'What a budget is.', { limit: 'An amount at which a session stops.' })

/** What a session may spend. */
export const budget = builder.objectRef<ShownBudget>('Budget').implement({
  description: 'What a session may spend.',
  fields: (t) => ({
    type: t.field({ type: budgetType, description: 'What it is.', resolve: ({ type }) => type }),
    maxListCost: t.field({
      type: money,
      description: 'The amount, at list prices.',
      resolve: ({ max_list_cost: most }) => most,
    }),
  }),
})

const cacheCreation = builder.objectRef<ShownUsage['cache_creation']>('CacheCreationUsage').implement({
  description: 'Tokens that went into a model’s cache, by how long they stay.',
  fields: (t) => ({
    ephemeral5mInputTokens: t.expose('ephemeral_5m_input_tokens', { type: 'BigInt', description: 'For 5 minutes.' }),
    ephemeral1hInputTokens: t.expose('ephemeral_1h_input_tokens', { type: 'BigInt', description: 'For an hour.' }),
  }),
})
const serverToolUse = builder.objectRef<ShownUsage['server_tool_use']>('ServerToolUsage').implement({
  description: 'Requests to the web that tools of Berth made.',
  fields: (t) => ({
    webSearchRequests: t.expose('web_search_requests', { type: 'BigInt', description: 'Searches.' }),
    webFetchRequests: t.expose('web_fetch_requests', { type: 'BigInt', description: 'Pages that were fetched.' }),
  }),
})

/** What a session used so far. */
export const sessionUsage = builder.objectRef<ShownUsage>('SessionUsage').implement({
  description: 'What a session used so far.',
  fields: (t) => ({
    inputTokens: t.expose('input_tokens', { type: 'BigInt', description: 'Tokens read, without those of a cache.' }),
    outputTokens: t.expose('output_tokens', { type: 'BigInt', description: 'Tokens written.' }),
    cacheReadInputTokens: t.expose('cache_read_input_tokens', {
      type: 'BigInt',
      description: 'Tokens that came from a cache.',
    }),
    cacheCreation: t.field({
      type: cacheCreation,
      description: 'Tokens that went into a cache.',
      resolve: (usage) => usage.cache_creation,
    }),
    serverToolUse: t.field({
      type: serverToolUse,
      description: 'Requests to the web.',
      resolve: (usage) => usage.server_tool_use,
    }),
    activeSeconds: t.exposeFloat('active_seconds', { description: 'How long it was at work.' }),
    listCost: t.field({
      type: money,
      description: 'What that costs at list prices.',
      resolve: (usage) => usage.list_cost,
    }),
  }),
})

/** A session's times. */
export const sessionStats = builder.objectRef<ShownStats>('SessionStats').implement({
  description: 'How long a session has been there.',
  fields: (t) => ({
    activeSeconds: t.exposeFloat('active_seconds', { description: 'At work.' }),
    durationSeconds: t.exposeFloat('duration_seconds', { description: 'Since it began, or until it ended.' }),
  }),
})

const outcomeResult = enumOf('OutcomeResult', 'How far an outcome is.', {
  pending: 'It is not begun.',
  running: 'The agent works on it.',
  evaluating: 'The work is being graded.',
  satisfied: 'The whole rubric holds.',
  max_iterations_reached: 'It was graded as often as it may be, and the rubric does not hold.',
  failed: 'The rubric cannot be applied to the work.',
  interrupted: 'The client stopped it, or archived the session.',
} satisfies Record<Outcome['result'], string>)

/** How a grading ended. */
export const outcomeVerdict = enumOf('OutcomeVerdict', 'What a grading of an outcome came to.', {
  satisfied: 'The whole rubric holds.',
  needs_revision: 'Some of it does not hold; the agent works on.',
  max_iterations_reached: 'Some of it does not hold, and this was the last grading.',
  failed: 'The rubric cannot be applied to the work.',
  interrupted: 'The client stopped it.',
} satisfies Record<OutcomeEnd | 'needs_revision', string>)

/** What a session is to reach. */
export const outcomeEvaluation = builder.objectRef<Outcome>('OutcomeEvaluation').implement({
  description: 'Something that a session was given to reach, and how far it is.',
  fields: (t) => ({
    type: t.string({ description: 'Always `outcome_evaluation`.', resolve: () => 'outcome_evaluation' }),
    outcomeId: t.exposeID('outcome_id', { description: '`outc_` and 26 characters.' }),
    description: t.exposeString('description', { description: 'What is wanted.' }),
    result: t.field({ type: outcomeResult, description: 'How far it is.', resolve: ({ result }) => result }),
    iteration: t.exposeInt('iteration', { description: 'In which cycle of work and grading it is, from 0.' }),
    explanation: t.exposeString('explanation', { nullable: true, description: 'What the last grading said.' }),
    completedAt: t.expose('completed_at', { type: 'DateTime', nullable: true, description: 'When it ended.' }),
  }),
})

/** What happened lately; the events themselves are added where events are. */
export const sessionActivity = builder.objectRef<Activity>('SessionActivity').implement({
  description: 'What happened in a session lately.',
  fields: (t) => ({
    lastEventId: t.exposeID('lastEventId', { nullable: true, description: 'Its newest event.' }),
    lastEventAt: t.expose('lastEventAt', { type: 'DateTime', nullable: true, description: 'When that happened.' }),
    lastReadEventId: t.exposeID('lastReadEventId', { nullable: true, description: 'How far the owner has read.' }),
    unreadCount: t.exposeInt('unreadCount', {
      description: 'How many events came after that, without those that the owner sent; 100 at most.',
    }),
    requiresAction: t.exposeBoolean('requiresAction', { description: 'Whether it waits for an answer.' }),
  }),
})
