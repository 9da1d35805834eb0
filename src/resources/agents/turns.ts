/**
 * What a session does next: a pure function of its log, so that whoever takes it up after a crash does what the one
 * before would have done.
 */
import { promptTypes, resultTypes } from './sessions/event-types.ts'
import { feedbackOf } from './outcomes/feedback.ts'
import { pendingOf, type OpenToolUse } from './sessions/pending-work.ts'
import type { SessionEvent, StopReason } from './sessions/rows.ts'

/** The limits of a turn. */
export const turnLimits = {
  modelSteps: 200, // of one turn: since the user last said something
  turnSeconds: 6 * 3600, // of one run, without the time that it waits for the client
  toolCallsPerStep: 32,
  /** Of one model request: further tries after a fault that may pass, and how long to wait before each, seconds. */
  retries: 6,
  retryDelaySeconds: [1, 2, 4, 8, 16, 60],
} as const

/** The part of an event that decides. */
export type TurnEvent = Pick<
  SessionEvent,
  'id' | 'type' | 'data' | 'answers' | 'processedAt' | 'position' | 'takenPosition'
>

/** What decides beside the log. `openOutcome`: the public id of the outcome to be reached. */
export type TurnFacts = {
  toolsRunAtClient: boolean
  isBudgetReached: boolean
  openOutcome: string | null
  nowMs: number
}

/**
 * The next thing to do. `take`: what clients sent that counts as processed with it.
 * - `interrupt`: stop everything; answer `open`, which nobody runs any more.
 * - `call`: run `run`, refuse `refuse`.
 * - `ask`: one request to the model.
 * - `evaluate`: grade the open outcome.
 * - `rest`: nothing, until a client sends something.
 */
export type NextStep<Event extends TurnEvent> =
  | { do: 'interrupt'; take: Event[]; open: OpenToolUse<Event>[] }
  | { do: 'call'; take: Event[]; run: OpenToolUse<Event>[]; refuse: OpenToolUse<Event>[] }
  | { do: 'ask'; take: Event[] }
  | { do: 'evaluate'; take: Event[] }
  | { do: 'rest'; take: Event[]; stopReason: StopReason; limit: string | null }

/** What to do next. @param log the session's events in the order of the log: all, or what turn-logs.ts reads of them. */
export function nextStep<Event extends TurnEvent>(log: readonly Event[], facts: TurnFacts): NextStep<Event> {
  const { interrupts, messages, answers, toolUses, waitingFor } = pendingOf(log, facts)
  if (interrupts.length > 0) return { do: 'interrupt', take: [...interrupts, ...answers], open: toolUses }
  const run = toolUses.filter(({ needs }) => needs === 'run')
  const refuse = toolUses.filter(({ needs }) => needs === 'refuse')
  if (run.length > 0 || refuse.length > 0) return { do: 'call', take: answers, run, refuse }
  if (waitingFor.length > 0)
    return { do: 'rest', take: answers, stopReason: { type: 'requires_action', event_ids: waitingFor }, limit: null }
  if (facts.openOutcome !== null && openEvaluation(log)?.data['outcome_id'] === facts.openOutcome)
    return { do: 'evaluate', take: answers } // what has begun is ended, whatever came since
  const isTurnDone = !messages.some(({ type }) => promptTypes.includes(type)) && !isModelDue(log)
  if (isTurnDone && !isUngraded(log, facts.openOutcome))
    return { do: 'rest', take: answers, stopReason: { type: 'end_turn' }, limit: null }
  if (facts.isBudgetReached) return { do: 'rest', take: answers, stopReason: { type: 'budget_reached' }, limit: null }
  const limit = limitReached(log, facts.nowMs)
  if (limit) return { do: 'rest', take: answers, stopReason: { type: 'retries_exhausted' }, limit }
  return isTurnDone ? { do: 'evaluate', take: answers } : { do: 'ask', take: [...answers, ...messages] }
}

/**
 * What an interrupt stops before anybody took it: the messages that began this run and came before the interrupt:
 * they count as said and get no answer, as if they had just been taken; what was queued behind a run that goes on
 * already is the next turn, which the interrupt brings forward.
 */
export function stoppedMessages<Event extends TurnEvent>(log: readonly Event[]): Event[] {
  const began = beginOfRun(log)?.position ?? 0
  const { interrupts, messages } = pendingOf(log)
  const before = Math.min(began, interrupts.at(-1)?.position ?? Infinity)
  return messages.filter(({ position }) => position < before)
}

/** The request to the model that has no end: its worker was lost. */
export function openSpan<Event extends TurnEvent>(log: readonly Event[]): Event | undefined {
  const start = log.findLast(({ type }) => type === 'span.model_request_start')
  const end = log.findLast(({ type }) => type === 'span.model_request_end')
  return start && (!end || end.position < start.position) ? start : undefined
}

/** The evaluation that has begun and not ended: its grader is at it, is tried again, or was lost. */
export function openEvaluation<Event extends TurnEvent>(log: readonly Event[]): Event | undefined {
  const start = log.findLast(({ type }) => type === 'span.outcome_evaluation_start')
  return start && start.position > lastEvaluationAt(log) ? start : undefined
}

/** How often the request that is due has failed since it was due. */
export function failuresInARow(log: readonly TurnEvent[]): number {
  const since = Math.max(settledAt(log), lastAnswerAt(log), lastEvaluationAt(log))
  return log.filter(({ type, data, position }) => type === 'session.error' && position > since && isModelError(data))
    .length
}

/** Which turn it is: that of the last thing that was said to the model. */
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

/** Whether the model has not answered something that was said to it, or that a tool or a grader answered, since the session last came to rest. */
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

/** Whether the model has answered since the session last came to rest, and its answer was not graded for this outcome. */
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
  const late = began && nowMs - Date.parse(began) > turnLimits.turnSeconds * 1000
  return late
    ? `The turn took ${turnLimits.turnSeconds / 3600} hours, which is the limit. Send a message to continue.`
    : null
}

/** Where the session last went to work. */
function beginOfRun<Event extends TurnEvent>(log: readonly Event[]): Event | undefined {
  const rested = log.findLast(({ type }) => type === 'session.status_idle')?.position ?? 0
  return log.find(({ type, position }) => type === 'session.status_running' && position > rested)
}

/** Where the session last came to rest with nothing left open; a rest for the client's answers is in the middle of a turn. */
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
  return (data['stop_reason'] as { type?: unknown } | undefined)?.type // as session-states.ts writes it
}

/** Where an event counts: what clients send counts from where it was taken. */
export function placeOf({ position, takenPosition }: TurnEvent): number {
  return takenPosition ?? position
}
