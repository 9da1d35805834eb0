/**
 * What a session does next: a pure function of its log, so that a worker that claims it after a crash does the same as
 * the one before.
 */
import { promptTypes, resultTypes } from './sessions/event-types.ts'
import { feedbackOf } from './turns/outcomes/feedback.ts'
import { pendingOf, type OpenToolUse } from './sessions/pending-work.ts'
import type { SessionEvent, StopReason } from './sessions/rows.ts'

/** The limits of a turn. */
export const turnLimits = {
  modelSteps: 200, // in one turn: since the user's last message
  turnSeconds: 6 * 3600, // in one run, without the time spent waiting for the client or for other agents
  toolCallsPerStep: 32,
  /** For one model request: retries after a temporary failure, and the delay before each in seconds. */
  retries: 6,
  retryDelaySeconds: [1, 2, 4, 8, 16, 60],
} as const

/** The part of an event that decides the next step. */
export type TurnEvent = Pick<
  SessionEvent,
  'id' | 'type' | 'data' | 'answers' | 'processedAt' | 'position' | 'takenPosition'
>

/**
 * The facts besides the log that decide. `openOutcome`: the public id of the outcome to work on. `awaited`: the tool uses
 * whose results come from elsewhere, by their stored ids: other agents were asked, and have not answered yet.
 * `fullRoom`: why nothing more may be stored of the session; null while there is room.
 */
export type TurnFacts = {
  toolsRunAtClient: boolean
  awaited: ReadonlySet<string>
  isBudgetReached: boolean
  openOutcome: string | null
  fullRoom: string | null
  nowMs: number
}

/**
 * The next step. `take`: the clients' events that it processes.
 * - `interrupt`: stop everything; answer `open`, which nobody runs any more.
 * - `call`: run `run`, refuse `refuse`.
 * - `ask`: one request to the model.
 * - `evaluate`: grade the open outcome.
 * - `wait`: nothing, until another agent has answered. The session stays running, without a worker.
 * - `rest`: nothing, until a client sends something.
 */
export type NextStep<Event extends TurnEvent> =
  | { do: 'interrupt'; take: Event[]; open: OpenToolUse<Event>[] }
  | { do: 'call'; take: Event[]; run: OpenToolUse<Event>[]; refuse: OpenToolUse<Event>[] }
  | { do: 'ask'; take: Event[] }
  | { do: 'evaluate'; take: Event[] }
  | { do: 'wait'; take: Event[] }
  | { do: 'rest'; take: Event[]; stopReason: StopReason; limit: string | null }

/** What to do next. @param log the session's events in the order of the log: all, or what turn-logs.ts reads of them. */
export function nextStep<Event extends TurnEvent>(log: readonly Event[], facts: TurnFacts): NextStep<Event> {
  const { interrupts, messages, answers, toolUses, waitingFor } = pendingOf(log, facts)
  if (interrupts.length > 0) return { do: 'interrupt', take: [...interrupts, ...answers], open: toolUses }
  const run = toolUses.filter(({ needs, event }) => needs === 'run' && !facts.awaited.has(event.id))
  const refuse = toolUses.filter(({ needs }) => needs === 'refuse')
  if (run.length > 0 || refuse.length > 0) return { do: 'call', take: answers, run, refuse }
  if (waitingFor.length > 0)
    return { do: 'rest', take: answers, stopReason: { type: 'requires_action', event_ids: waitingFor }, limit: null }
  if (toolUses.length > 0) return { do: 'wait', take: answers }
  if (facts.openOutcome !== null && openEvaluation(log)?.data['outcome_id'] === facts.openOutcome)
    return { do: 'evaluate', take: answers } // an evaluation that has started is completed, whatever came since
  const isTurnDone = !messages.some(({ type }) => promptTypes.includes(type)) && !isModelDue(log)
  if (isTurnDone && !isUngraded(log, facts.openOutcome))
    return { do: 'rest', take: answers, stopReason: { type: 'end_turn' }, limit: null }
  if (facts.isBudgetReached) return { do: 'rest', take: answers, stopReason: { type: 'budget_reached' }, limit: null }
  const limit = facts.fullRoom ?? limitReached(log, facts.nowMs)
  if (limit) return { do: 'rest', take: answers, stopReason: { type: 'retries_exhausted' }, limit }
  return isTurnDone ? { do: 'evaluate', take: answers } : { do: 'ask', take: [...answers, ...messages] }
}

/**
 * The messages that an interrupt stops before they were taken: those that started this run and came before the
 * interrupt. They count as processed and get no answer, as if they had just been taken. Messages that were queued
 * during a running turn are the next turn, which the interrupt brings forward.
 */
export function stoppedMessages<Event extends TurnEvent>(log: readonly Event[]): Event[] {
  const began = beginOfRun(log)?.position ?? 0
  const { interrupts, messages } = pendingOf(log)
  const before = Math.min(began, interrupts.at(-1)?.position ?? Infinity)
  return messages.filter(({ position }) => position < before)
}

/** The request to the model that has no end event, because its worker was lost. */
export function openSpan<Event extends TurnEvent>(log: readonly Event[]): Event | undefined {
  const start = log.findLast(({ type }) => type === 'span.model_request_start')
  const end = log.findLast(({ type }) => type === 'span.model_request_end')
  return start && (!end || end.position < start.position) ? start : undefined
}

/** The evaluation that has started and not ended: its grader is running, is being retried, or was lost. */
export function openEvaluation<Event extends TurnEvent>(log: readonly Event[]): Event | undefined {
  const start = log.findLast(({ type }) => type === 'span.outcome_evaluation_start')
  return start && start.position > lastEvaluationAt(log) ? start : undefined
}

/** How often the pending request has failed. */
export function failuresInARow(log: readonly TurnEvent[]): number {
  const since = Math.max(settledAt(log), lastAnswerAt(log), lastEvaluationAt(log))
  return log.filter(({ type, data, position }) => type === 'session.error' && position > since && isModelError(data))
    .length
}

/** The id of the turn: that of the last event that the model was sent. */
export function turnIdOf(log: readonly TurnEvent[]): string {
  return log.findLast(({ type }) => promptTypes.includes(type))?.id ?? ''
}

/** How many of a turn's requests the model has answered. */
export function modelStepsOf(log: readonly TurnEvent[]): number {
  const since = Math.max(
    0,
    ...log.filter(({ type, processedAt }) => promptTypes.includes(type) && processedAt !== null).map(placeOf),
  )
  return log.filter((event) => isAnswer(event) && event.position > since).length
}

/**
 * Whether there is a message, a tool result or a verdict that the model has not answered since the session last
 * settled.
 */
function isModelDue(log: readonly TurnEvent[]): boolean {
  const since = Math.max(settledAt(log), lastAnswerAt(log))
  return log.some(
    (event) =>
      placeOf(event) > since &&
      (resultTypes.includes(event.type) ||
        feedbackOf(event) !== null ||
        (promptTypes.includes(event.type) && event.processedAt !== null)),
  )
}

/** Whether the model has answered since the session last settled, and the answer was not graded for this outcome. */
function isUngraded(log: readonly TurnEvent[], outcomeId: string | null): boolean {
  const answered = lastAnswerAt(log)
  return (
    outcomeId !== null &&
    answered > settledAt(log) &&
    !log.some(
      ({ type, data, position }) =>
        type === 'span.outcome_evaluation_end' && position > answered && data['outcome_id'] === outcomeId,
    )
  )
}

function limitReached(log: readonly TurnEvent[], nowMs: number): string | null {
  if (modelStepsOf(log) >= turnLimits.modelSteps)
    return `The turn took ${turnLimits.modelSteps} requests to the model, which is the limit. Send a message to continue.`
  const began = beginOfRun(log)?.processedAt
  const late = began && nowMs - Date.parse(began) - waitedMs(log, Date.parse(began)) > turnLimits.turnSeconds * 1000
  return late
    ? `The turn took ${turnLimits.turnSeconds / 3600} hours, which is the limit. Send a message to continue.`
    : null
}

/** The questions to other agents that have no result yet, by their stored ids. */
export function openQuestions(log: readonly TurnEvent[]): string[] {
  const questions = log.filter(isQuestion)
  if (questions.length === 0) return []
  const answered = new Set(log.filter(({ type }) => resultTypes.includes(type)).map(({ answers }) => answers))
  return questions.map(({ id }) => id).filter((id) => !answered.has(id))
}

function isQuestion({ type, data }: TurnEvent): boolean {
  return type === 'agent.tool_use' && data['name'] === 'ask_peer'
}

/** How long the session has waited for other agents since a moment; what it waited for several at once counts once. */
function waitedMs(log: readonly TurnEvent[], sinceMs: number): number {
  const endsMs = new Map(
    log
      .filter(({ type }) => resultTypes.includes(type))
      .map(({ answers, processedAt }) => [answers, Date.parse(processedAt ?? '')]),
  )
  let waited = 0
  let countedToMs = sinceMs
  for (const { id, processedAt } of log.filter(isQuestion)) {
    const endMs = endsMs.get(id) ?? 0
    if (endMs <= countedToMs) continue
    waited += endMs - Math.max(countedToMs, Date.parse(processedAt ?? ''))
    countedToMs = endMs
  }
  return waited
}

/** Where the session last started running. */
function beginOfRun<Event extends TurnEvent>(log: readonly Event[]): Event | undefined {
  const rested = log.findLast(({ type }) => type === 'session.status_idle')?.position ?? 0
  return log.find(({ type, position }) => type === 'session.status_running' && position > rested)
}

/**
 * Where the session last became idle with nothing left open. When it is idle for the client's answers, it is in the
 * middle of a turn.
 */
function settledAt(log: readonly TurnEvent[]): number {
  return (
    log.findLast(({ type, data }) => type === 'session.status_idle' && stopTypeOf(data) !== 'requires_action')
      ?.position ?? 0
  )
}

function lastAnswerAt(log: readonly TurnEvent[]): number {
  return log.findLast(isAnswer)?.position ?? 0
}

function lastEvaluationAt(log: readonly TurnEvent[]): number {
  return log.findLast(({ type }) => type === 'span.outcome_evaluation_end')?.position ?? 0
}

function isAnswer({ type, data }: TurnEvent): boolean {
  return type === 'span.model_request_end' && data['is_error'] === false
}

function isModelError(data: TurnEvent['data']): boolean {
  const error = data['error'] as { type?: unknown } | undefined // as the loop writes it
  return typeof error?.type === 'string' && !error.type.startsWith('mcp_')
}

function stopTypeOf(data: TurnEvent['data']): unknown {
  return (data['stop_reason'] as { type?: unknown } | undefined)?.type // as states.ts writes it
}

/** The position at which an event counts: for clients' events, the position where they were taken. */
export function placeOf({ position, takenPosition }: TurnEvent): number {
  return takenPosition ?? position
}
