/** One step of a session under way, and the transaction that ends it: what was done, what is due next, and the claim given back, all or none. */
import { nowMs } from '#src/platform/clock.ts'
import type { ReasoningBlock, Usage } from '#src/drivers/models/model.ts'
import { change, findAll, sql, transaction, type Tx } from '#src/platform/postgres.ts'
import type { Services } from '#src/platform/services.ts'
import { messageTypes } from '#src/resources/agents/sessions/event-types.ts'
import { changeOutcome } from '#src/resources/agents/outcomes/evaluations.ts'
import { openOutcome, type OutcomeChange } from '#src/resources/agents/outcomes/rows.ts'
import { holdSession, type Claim } from '#src/resources/agents/sessions/claims.ts'
import { stepJob } from '#src/resources/agents/sessions/jobs.ts'
import { appendEvents, takeEvents, type NewEvent } from '#src/resources/agents/sessions/log.ts'
import { errorEvent, type ModelFault } from '#src/resources/agents/turns/step-events.ts'
import { eventColumns, type Session, type SessionEvent, type StopReason } from '#src/resources/agents/sessions/rows.ts'
import { maskedEvents, stepMasker } from '#src/resources/agents/sessions/secrets.ts'
import { moveSession } from '#src/resources/agents/sessions/states.ts'
import { addUsage, isBudgetReached, usageEvent, type UsageAdded } from '#src/resources/agents/sessions/usage.ts'
import type { Model } from '#src/resources/llm/models/rows.ts'
import { failuresInARow, nextStep, turnLimits, type NextStep, type TurnFacts } from '#src/resources/agents/turns.ts'

/** What a worker has in hand. `over` fires when the client interrupts, the claim is lost, or the worker stops; its reason says which. */
export type StepRun = {
  services: Services
  claim: Claim
  session: Session
  toolsRunAtClient: boolean
  over: AbortSignal
  /** The part of the log that decides, as far as this worker knows it: see turn-logs.ts. */
  log: SessionEvent[]
  /** A request to the model, the agent's or a grader's, that was cut, and what it used until then. */
  cut?: { spanId: string; model: Model; usage: Usage }
}

/** The client asked to stop. */
export class Interrupted extends Error {}

/** How a step ended. `rest` ends the turn whatever is due, and `alsoTake` counts what is queued as processed; `againSeconds` tries once more later. */
export type StepEnd = {
  events: readonly NewEvent[]
  take?: readonly SessionEvent[]
  alsoTake?: 'all' | 'all but messages'
  usage?: UsageAdded | undefined
  reasoning?: { spanId: string; blocks: readonly ReasoningBlock[] } | undefined
  outcome?: OutcomeChange | undefined
  rest?: StopReason
  againSeconds?: number
}

/** What decides beside the log. */
export function factsOf(session: Session, toolsRunAtClient: boolean): TurnFacts {
  return {
    toolsRunAtClient,
    isBudgetReached: isBudgetReached(session),
    openOutcome: openOutcome(session)?.outcome_id ?? null,
    nowMs: nowMs(),
  }
}

/** Writes something down in the middle of a step. @throws ClaimLost */
export async function noteInStep(run: StepRun, said: readonly NewEvent[], usage?: UsageAdded): Promise<void> {
  const events = await maskedEvents(await stepMasker(run.services, run.session), said)
  const stored = await transaction(run.services.db, async (tx) => {
    await holdSession(tx, run.claim, { release: false })
    if (usage) await addUsage(tx, run.session.id, usage)
    return appendEvents(tx, run.session.id, events)
  })
  run.log = merged(run.log, stored)
}

/** Ends the step: the next one is enqueued, or the session comes to rest. @throws ClaimLost */
export async function finishStep(
  run: StepRun,
  { events: said, take = [], alsoTake, usage, reasoning, outcome: judged, rest, againSeconds }: StepEnd,
): Promise<void> {
  const {
    services: { db, jobs },
    claim,
    toolsRunAtClient,
  } = run
  const masker = await stepMasker(run.services, run.session)
  const events = await maskedEvents(masker, said)
  const explanation = judged?.change.explanation
  const outcome =
    judged && typeof explanation === 'string'
      ? { ...judged, change: { ...judged.change, explanation: masker.text(explanation) } }
      : judged
  const { sessionId } = claim
  await transaction(db, async (tx) => {
    let session = await holdSession(tx, claim, { release: true })
    if (usage) session = (await addUsage(tx, sessionId, usage)) ?? session
    if (reasoning && reasoning.blocks.length > 0)
      await change(
        tx,
        sql`insert into session_reasoning (span_id, session_id, blocks) values (${reasoning.spanId}, ${sessionId}, ${JSON.stringify(reasoning.blocks)}::jsonb)`,
      )
    if (outcome) session = (await changeOutcome(tx, sessionId, outcome)) ?? session
    const queued = await findAll<SessionEvent>(
      tx,
      sql`select ${eventColumns} from session_events where session_id = ${sessionId} and processed_at is null order by position`,
    )
    const others =
      alsoTake === undefined ? [] : queued.filter(({ type }) => alsoTake === 'all' || !messageTypes.includes(type))
    const taken = await takeEvents(
      tx,
      sessionId,
      [...take, ...others].map(({ id }) => id),
    )
    const stored = await appendEvents(tx, sessionId, events)
    if (againSeconds !== undefined) {
      await moveSession(tx, sessionId, { to: 'rescheduling' })
      return jobs.enqueue(tx, stepJob, { sessionId }, { startAfterSeconds: againSeconds })
    }
    let log = merged(run.log, [...queued, ...taken, ...stored])
    const next: NextStep<SessionEvent> = rest
      ? { do: 'rest', take: [], stopReason: rest, limit: null }
      : nextStep(log, factsOf(session, toolsRunAtClient))
    if (next.do !== 'rest') return jobs.enqueue(tx, stepJob, { sessionId })
    log = merged(log, await comeToRest(tx, session, next))
    if (!rest || nextStep(log, factsOf(session, toolsRunAtClient)).do === 'rest') return
    // What came behind the interrupt is a turn of its own.
    await moveSession(tx, sessionId, { to: 'running' })
    await jobs.enqueue(tx, stepJob, { sessionId })
  })
}

/** What a fault of a model's answer comes to: told, and the request tried again later; or the end of the turn. */
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

/** The log with these events in it, as they are now. */
export function merged(log: readonly SessionEvent[], events: readonly SessionEvent[]): SessionEvent[] {
  if (events.length === 0) return [...log]
  const byPosition = new Map(log.map((event) => [event.position, event]))
  for (const event of events) byPosition.set(event.position, event)
  return [...byPosition.values()].sort((one, other) => one.position - other.position)
}
