/**
 * One running step of a session, and the transaction that ends it: logs the results, enqueues what is next, and
 * releases the claim, all or none.
 */
import { nowMs } from '#src/platform/clock.ts'
import type { Usage } from '#src/drivers/models/model.ts'
import type { Config } from '#src/platform/config.ts'
import { findFullRoom } from '#src/platform/metrics/rooms.ts'
import { transaction, type Tx } from '#src/platform/postgres.ts'
import type { Services } from '#src/platform/services.ts'
import { messageTypes } from '#src/resources/agents/sessions/event-types.ts'
import { openOutcome, type OutcomeChange } from '#src/resources/agents/sessions/outcomes/rows.ts'
import { holdSession, type Claim } from '#src/resources/agents/sessions/claims.ts'
import { stepJob } from '#src/resources/agents/sessions/jobs.ts'
import { appendEvents, queuedEvents, takeEvents, type NewEvent } from '#src/resources/agents/sessions/log.ts'
import { changeOutcome } from '#src/resources/agents/sessions/outcomes.ts'
import { findAwaited } from '#src/resources/agents/peers/rows.ts'
import { addReasoning, type Replayed } from '#src/resources/agents/sessions/reasoning.ts'
import { errorEvent, type ModelFault } from '#src/resources/agents/turns/step-events.ts'
import type { Session, SessionEvent, StopReason } from '#src/resources/agents/sessions/rows.ts'
import { maskedEvents, stepMasker } from '#src/resources/agents/sessions/secrets.ts'
import { moveSession } from '#src/resources/agents/sessions/states.ts'
import { addUsage, isBudgetReached, usageEvent, type UsageAdded } from '#src/resources/agents/sessions/usage.ts'
import type { Model } from '#src/resources/llm/models/rows.ts'
import {
  failuresInARow,
  nextStep,
  openQuestions,
  turnLimits,
  type NextStep,
  type TurnFacts,
} from '#src/resources/agents/turns.ts'

/**
 * A running step. `over` fires when the client interrupts, the claim is lost, or the worker stops; its reason says
 * which.
 */
export type StepRun = {
  services: Services
  claim: Claim
  session: Session
  toolsRunAtClient: boolean
  /** The run whose stream tells what the model says; null without one. */
  taskId: string | null
  over: AbortSignal
  /** The part of the log that decides what is next, as this worker knows it: see turns/logs.ts. */
  log: SessionEvent[]
  /** A request to the model, the agent's or a grader's, that was cut off, and its usage until then. */
  cut?: { spanId: string; model: Model; usage: Usage }
}

/** The client interrupted the session. */
export class Interrupted extends Error {}

/**
 * How a step ended. `rest` ends the turn whatever is pending, and `alsoTake` counts queued events as processed;
 * `againSeconds` retries later.
 */
export type StepEnd = {
  events: readonly NewEvent[]
  take?: readonly SessionEvent[]
  alsoTake?: 'all' | 'all but messages'
  usage?: UsageAdded | undefined
  reasoning?: { spanId: string; blocks: readonly Replayed[] } | undefined
  outcome?: OutcomeChange | undefined
  rest?: StopReason
  againSeconds?: number
}

/** The facts besides the log that decide. */
export async function factsOf(
  tx: Tx,
  config: Config,
  { session, log, toolsRunAtClient }: Pick<StepRun, 'session' | 'log' | 'toolsRunAtClient'>,
): Promise<TurnFacts> {
  return {
    toolsRunAtClient,
    awaited: await findAwaited(tx, openQuestions(log)),
    isBudgetReached: await isBudgetReached(tx, session),
    openOutcome: openOutcome(session)?.outcome_id ?? null,
    fullRoom: await findFullRoom({ config, db: tx }, session.organizationId, 'transcripts'),
    nowMs: nowMs(),
  }
}

/** Logs events in the middle of a step. @throws ClaimLost */
export async function noteInStep(run: StepRun, added: readonly NewEvent[], usage?: UsageAdded): Promise<void> {
  const events = await maskedEvents(await stepMasker(run.services, run.session), added)
  const stored = await transaction(run.services.db, async (tx) => {
    await holdSession(tx, run.claim, { release: false })
    if (usage) await addUsage(tx, run.session.id, usage)
    return appendEvents(tx, run.session.id, events)
  })
  run.log = merged(run.log, stored)
}

/** Ends the step: enqueues the next one, or the session becomes idle. @throws ClaimLost */
export async function finishStep(run: StepRun, unmasked: StepEnd): Promise<void> {
  const end = await masked(run, unmasked)
  await transaction(run.services.db, async (tx) => {
    const written = await writeDown(tx, run, end)
    await decideNext(tx, run, end, written)
  })
}

/** The results of a step, with secrets masked. */
async function masked({ services, session }: StepRun, end: StepEnd): Promise<StepEnd> {
  const masker = await stepMasker(services, session)
  const events = await maskedEvents(masker, end.events)
  const explanation = end.outcome?.change.explanation
  if (!end.outcome || typeof explanation !== 'string') return { ...end, events }
  return {
    ...end,
    events,
    outcome: { ...end.outcome, change: { ...end.outcome.change, explanation: masker.text(explanation) } },
  }
}

/** The session and its log after the step was written. */
type Written = { session: Session; log: SessionEvent[] }

/** Writes the results of the step, and releases the claim. @throws ClaimLost */
async function writeDown(tx: Tx, { claim, log }: StepRun, end: StepEnd): Promise<Written> {
  const { sessionId } = claim
  const { events, take = [], alsoTake, usage, reasoning, outcome } = end
  let session = await holdSession(tx, claim, { release: true })
  if (usage) session = (await addUsage(tx, sessionId, usage)) ?? session
  if (reasoning) await addReasoning(tx, sessionId, reasoning)
  if (outcome) session = (await changeOutcome(tx, sessionId, outcome)) ?? session
  const queued = await queuedEvents(tx, sessionId)
  const others =
    alsoTake === undefined ? [] : queued.filter(({ type }) => alsoTake === 'all' || !messageTypes.includes(type))
  const taken = await takeEvents(
    tx,
    sessionId,
    [...take, ...others].map(({ id }) => id),
  )
  const stored = await appendEvents(tx, sessionId, events)
  return { session, log: merged(log, [...queued, ...taken, ...stored]) }
}

/** Decides what follows the step: enqueues the next step, or the session becomes idle. */
async function decideNext(
  tx: Tx,
  { services: { config, jobs }, toolsRunAtClient }: StepRun,
  { rest, againSeconds }: StepEnd,
  { session, log }: Written,
): Promise<void> {
  const sessionId = session.id
  if (againSeconds !== undefined) {
    await moveSession(tx, sessionId, { to: 'rescheduling' })
    return jobs.enqueue(tx, stepJob, { sessionId }, { startAfterSeconds: againSeconds })
  }
  const facts = await factsOf(tx, config, { session, log, toolsRunAtClient })
  const next: NextStep<SessionEvent> = rest
    ? { do: 'rest', take: [], stopReason: rest, limit: null }
    : nextStep(log, facts)
  if (next.do === 'wait') return // whoever answers enqueues the next one
  if (next.do !== 'rest') return jobs.enqueue(tx, stepJob, { sessionId })
  const rested = merged(log, await comeToRest(tx, session, next))
  if (!rest || nextStep(rested, facts).do === 'rest') return
  // Events after the interrupt are a turn of their own.
  await moveSession(tx, sessionId, { to: 'running' })
  await jobs.enqueue(tx, stepJob, { sessionId })
}

/**
 * The end of a step after a failed model request: the error is logged, and the request is retried later or the turn
 * ends.
 */
export function endOfFault(
  run: StepRun,
  { type, message, mayPass }: ModelFault,
): { event: NewEvent } & Pick<StepEnd, 'againSeconds' | 'rest'> {
  const failures = failuresInARow(run.log)
  if (mayPass && failures < turnLimits.retries)
    return { event: errorEvent(type, message, 'retrying'), againSeconds: turnLimits.retryDelaySeconds[failures] ?? 60 }
  return { event: errorEvent(type, message, 'exhausted'), rest: { type: 'retries_exhausted' } }
}

async function comeToRest(
  tx: Tx,
  session: Session,
  { take, stopReason, limit }: Extract<NextStep<SessionEvent>, { do: 'rest' }>,
): Promise<SessionEvent[]> {
  const taken = await takeEvents(
    tx,
    session.id,
    take.map(({ id }) => id),
  )
  const before = [...(limit ? [errorEvent('unknown_error', limit, 'exhausted')] : []), usageEvent(session)]
  const moved = await moveSession(tx, session.id, { to: 'idle', stopReason, before })
  return [...taken, ...(moved?.events ?? [])]
}

/** The log, with these events added or replaced. */
export function merged(log: readonly SessionEvent[], events: readonly SessionEvent[]): SessionEvent[] {
  if (events.length === 0) return [...log]
  const byPosition = new Map(log.map((event) => [event.position, event]))
  for (const event of events) byPosition.set(event.position, event)
  return [...byPosition.values()].sort((one, other) => one.position - other.position)
}
