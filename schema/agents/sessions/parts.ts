/** The parts of a session besides its log: status, usage, budget, outcomes, activity. */
import { builder } from '../../builder.ts'
import { always, constant, oneOfWords } from '../../words.ts'
import { enumOf } from '../../enums.ts'
import type { Outcome, OutcomeEnd } from '#src/resources/agents/sessions/outcomes/rows.ts'
import type { Activity } from '#src/resources/agents/sessions/reading.ts'
import type { Session, SessionSource, SessionStatus, StopReason } from '#src/resources/agents/sessions/rows.ts'
import type { ShownBudget, ShownStats, ShownUsage } from '#src/resources/agents/sessions/usage.ts'

/** The status of a session. */
export const sessionStatus = enumOf('SessionStatus', 'The status of a session.', {
  idle: 'It is waiting for the client; `stopReason` says for what.',
  running: 'It works.',
  rescheduling: 'A temporary failure; it retries soon.',
  terminated: 'It has ended permanently.',
} satisfies Record<SessionStatus, string>)

/** What a session has to work with. */
export const sessionKind = enumOf('SessionKind', 'What a session has to work with.', {
  chat: 'Words alone.',
  computer: 'An environment.',
} satisfies Record<Session['kind'], string>)

/** What kind of thing started a session. */
export const sessionSourceKind = enumOf('SessionSourceKind', 'What kind of thing started a session.', {
  user: 'A caller.',
  schedule: 'A schedule.',
  trigger: 'A trigger.',
  deployment: 'A deployment.',
  run: 'A run.',
  peer: 'Another session.',
} satisfies Record<SessionSource, string>)

const stopReasonType = enumOf('StopReasonType', 'Why a session is idle.', {
  end_turn: 'The agent finished its turn.',
  requires_action: 'It is waiting for answers to tool uses.',
  retries_exhausted: 'Retries were exhausted.',
  budget_reached: 'It reached its spending limit.',
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
/** The type of the reasons that are of one kind, which tells them apart for OpenAPI. */
const reasonOf = <Type extends StopReason['type']>(type: Type) => ({
  type: stopReasonType,
  ...oneOfWords([type], 'Which reason.'),
  resolve: () => type,
})
builder.objectRef<StopReason>('EndTurn').implement({
  description: 'The agent finished its turn.',
  interfaces: [stopReason],
  fields: (t) => ({ type: t.field(reasonOf('end_turn')) }),
})
builder.objectRef<StopReason>('RetriesExhausted').implement({
  description: 'Retries were exhausted.',
  interfaces: [stopReason],
  fields: (t) => ({ type: t.field(reasonOf('retries_exhausted')) }),
})
builder.objectRef<StopReason>('BudgetReached').implement({
  description: 'The session reached its spending limit.',
  interfaces: [stopReason],
  fields: (t) => ({ type: t.field(reasonOf('budget_reached')) }),
})

/** The one stop reason with fields of its own. Its events are added in events.ts. */
export const requiresAction = builder
  .objectRef<Extract<StopReason, { type: 'requires_action' }>>('RequiresAction')
  .implement({
    description: 'The session is waiting for answers to tool uses.',
    interfaces: [stopReason],
    fields: (t) => ({
      type: t.field(reasonOf('requires_action')),
      eventIds: t.idList({ description: 'The tool uses.', resolve: ({ event_ids: eventIds }) => eventIds }),
    }),
  })

/** An amount. */
const money = builder.objectRef<ShownUsage['list_cost']>('Money').implement({
  description: 'An amount of money.',
  fields: (t) => ({
    amount: t.expose('amount', { type: 'Decimal', description: 'Such as `"2.50"`.' }),
    currency: t.string(constant('USD')),
  }),
})

const budgetType = enumOf('BudgetType', 'The kind of a budget.', {
  limit: 'An amount of money at which the session stops.',
})

/** What a session may spend. */
export const budget = builder.objectRef<ShownBudget>('Budget').implement({
  description: 'How much a session may spend.',
  fields: (t) => ({
    type: t.field({ type: budgetType, description: 'The kind of budget.', resolve: ({ type }) => type }),
    maxListCost: t.field({
      type: money,
      description: 'The amount, at list prices.',
      resolve: ({ max_list_cost: most }) => most,
    }),
  }),
})

const cacheCreation = builder.objectRef<ShownUsage['cache_creation']>('CacheCreationUsage').implement({
  description: 'Tokens written to a model’s cache, by how long they stay there.',
  fields: (t) => ({
    ephemeral5mInputTokens: t.expose('ephemeral_5m_input_tokens', { type: 'BigInt', description: 'For 5 minutes.' }),
    ephemeral1hInputTokens: t.expose('ephemeral_1h_input_tokens', { type: 'BigInt', description: 'For an hour.' }),
  }),
})
const serverToolUse = builder.objectRef<ShownUsage['server_tool_use']>('ServerToolUsage').implement({
  description: 'Web requests made by Berth’s built-in tools.',
  fields: (t) => ({
    webSearchRequests: t.expose('web_search_requests', { type: 'BigInt', description: 'Searches.' }),
    webFetchRequests: t.expose('web_fetch_requests', { type: 'BigInt', description: 'Fetched pages.' }),
  }),
})

/** What a session used so far. */
export const sessionUsage = builder.objectRef<ShownUsage>('SessionUsage').implement({
  description: 'What a session has used so far.',
  fields: (t) => ({
    inputTokens: t.expose('input_tokens', {
      type: 'BigInt',
      description: 'Input tokens, without those read from a cache.',
    }),
    outputTokens: t.expose('output_tokens', { type: 'BigInt', description: 'Tokens written.' }),
    cacheReadInputTokens: t.expose('cache_read_input_tokens', {
      type: 'BigInt',
      description: 'Input tokens read from a cache.',
    }),
    cacheCreation: t.field({
      type: cacheCreation,
      description: 'Tokens written to a cache.',
      resolve: (usage) => usage.cache_creation,
    }),
    serverToolUse: t.field({
      type: serverToolUse,
      description: 'Web requests.',
      resolve: (usage) => usage.server_tool_use,
    }),
    activeSeconds: t.exposeFloat('active_seconds', { description: 'How long it was running.' }),
    listCost: t.field({
      type: money,
      description: 'What that costs at list prices.',
      resolve: (usage) => usage.list_cost,
    }),
  }),
})

/** A session's times. */
export const sessionStats = builder.objectRef<ShownStats>('SessionStats').implement({
  description: 'How long a session has existed and worked.',
  fields: (t) => ({
    activeSeconds: t.exposeFloat('active_seconds', { description: 'At work.' }),
    durationSeconds: t.exposeFloat('duration_seconds', { description: 'From its start to now, or to its end.' }),
  }),
})

const outcomeResult = enumOf('OutcomeResult', 'The state of an outcome.', {
  pending: 'Not started.',
  running: 'The agent is working on it.',
  evaluating: 'The work is being graded.',
  satisfied: 'The work meets the whole rubric.',
  max_iterations_reached: 'It reached the maximum number of gradings without meeting the rubric.',
  failed: 'The rubric cannot be applied to the work.',
  interrupted: 'The client interrupted it, or archived the session.',
} satisfies Record<Outcome['result'], string>)

/** How a grading ended. */
export const outcomeVerdict = enumOf('OutcomeVerdict', 'The result of grading an outcome.', {
  satisfied: 'The work meets the whole rubric.',
  needs_revision: 'The work does not meet all of the rubric; the agent revises it.',
  max_iterations_reached: 'The work does not meet all of the rubric, and this was the last grading.',
  failed: 'The rubric cannot be applied to the work.',
  interrupted: 'The client interrupted it.',
} satisfies Record<OutcomeEnd | 'needs_revision', string>)

/** An outcome that a session should reach. */
export const outcomeEvaluation = builder.objectRef<Outcome>('OutcomeEvaluation').implement({
  description: 'An outcome that a session should reach, and its state.',
  fields: (t) => ({
    type: t.string(always('outcome_evaluation')),
    outcomeId: t.exposeID('outcome_id', { description: '`outc_` and 26 characters.' }),
    description: t.exposeString('description', { description: 'The desired outcome.' }),
    result: t.field({ type: outcomeResult, description: 'Its state.', resolve: ({ result }) => result }),
    iteration: t.exposeInt('iteration', { description: 'The current iteration of work and grading, counted from 0.' }),
    explanation: t.exposeString('explanation', { nullable: true, description: 'The grader’s last explanation.' }),
    completedAt: t.expose('completed_at', { type: 'DateTime', nullable: true, description: 'When it ended.' }),
  }),
})

/** A summary of recent activity. Its events are added in events.ts. */
export const sessionActivity = builder.objectRef<Activity>('SessionActivity').implement({
  description: 'A summary of recent activity in a session.',
  fields: (t) => ({
    lastEventId: t.exposeID('lastEventId', { nullable: true, description: 'Its newest event.' }),
    lastEventAt: t.expose('lastEventAt', { type: 'DateTime', nullable: true, description: 'When that happened.' }),
    lastReadEventId: t.exposeID('lastReadEventId', {
      nullable: true,
      description: 'The id of the last event that the owner has read.',
    }),
    unreadCount: t.exposeInt('unreadCount', {
      description: 'How many events followed it, not counting the owner’s own; 100 at most.',
    }),
    isActionRequired: t.exposeBoolean('requiresAction', {
      description: 'Whether it is waiting for an answer from the owner.',
    }),
  }),
})
