/**
 * The grading of an outcome: after the agent's turn, a separate model request decides whether the work meets the
 * rubric.
 */
import type { Usage } from '#src/drivers/models/model.ts'
import { newUuid } from '#src/platform/ids.ts'
import { log as processLog } from '#src/platform/log.ts'
import { transaction } from '#src/platform/postgres.ts'
import { gradingMessages, readVerdict } from '#src/resources/agents/turns/outcomes/grading.ts'
import { askModel } from '#src/resources/agents/turns/model-turns.ts'
import { evaluationEnd, evaluationStart, type Verdict } from '#src/resources/agents/turns/outcomes/evaluations.ts'
import { openOutcome, type Outcome } from '#src/resources/agents/sessions/outcomes/rows.ts'
import { holdSession } from '#src/resources/agents/sessions/claims.ts'
import { appendEvents } from '#src/resources/agents/sessions/log.ts'
import { changeOutcome } from '#src/resources/agents/sessions/outcomes.ts'
import { readModelFault, usageAdded } from '#src/resources/agents/turns/step-events.ts'
import { readConversation } from '#src/resources/agents/turns/logs.ts'
import { openEvaluation, type TurnEvent } from '#src/resources/agents/turns.ts'
import { addUsage, noUsage } from '#src/resources/llm/billing.ts'
import type { Model } from '#src/resources/llm/models/rows.ts'
import { findModel } from '#src/resources/llm/models.ts'
import { requestOf } from './model-steps.ts'
import { endOfFault, finishStep, merged, type StepEnd, type StepRun } from './step-runs.ts'

/** How often a grader is asked when its answers are not verdicts. */
const asksMax = 2

/** A running grading. `usage` grows with each request to the grader. */
type Grading = { startId: string; outcome: Outcome; conversation: readonly TurnEvent[]; usage: Usage }

/** Grades the open outcome, and logs the verdict. */
export async function stepOutcome(run: StepRun): Promise<void> {
  const { session, services } = run
  const grading = await begin(run)
  if (!grading) return finishStep(run, { events: [] })
  const model = findModel(services.config, session.agentDefinition.model.id)
  if (!model)
    return finishStep(
      run,
      failed(grading, `The model ${session.agentDefinition.model.id} is no longer available here.`),
    )
  try {
    const verdict = await grade(run, grading, model)
    const { event, outcome } = evaluationEnd(grading.startId, grading.outcome, verdict, grading.usage)
    await finishStep(run, { events: [event], outcome, usage: usageAdded(model, grading.usage) })
  } catch (error) {
    run.over.throwIfAborted()
    const fault = readModelFault(error)
    if (fault.type === 'unknown_error') processLog.error({ err: error }, 'a grader’s request failed on our side')
    const { event, ...next } = endOfFault(run, fault)
    const end = next.rest ? failed(grading, fault.message, event) : { events: [event] }
    await finishStep(run, { ...end, ...next, usage: usageAdded(model, grading.usage) })
  }
}

/** Logs the start of the grading, unless an earlier worker did. @throws ClaimLost */
async function begin(run: StepRun): Promise<Grading | null> {
  return transaction(run.services.db, async (tx) => {
    const outcome = openOutcome(await holdSession(tx, run.claim, { release: false }))
    if (!outcome) return null
    const left = openEvaluation(run.log)
    const startId = left?.id ?? newUuid()
    if (!left) {
      await changeOutcome(tx, run.session.id, { id: outcome.outcome_id, change: { result: 'evaluating' } })
      run.log = merged(run.log, await appendEvents(tx, run.session.id, [evaluationStart(startId, outcome)]))
    }
    return { startId, outcome, conversation: await readConversation(tx, run.session.id), usage: noUsage }
  })
}

async function grade(run: StepRun, grading: Grading, model: Model): Promise<Verdict> {
  const { startId, outcome, conversation } = grading
  const request = requestOf(gradingMessages(conversation, outcome, model), [], model, null)
  for (let asked = 0; asked < asksMax; asked++) {
    const turn = await askModel(run.services, { session: run.session, model, request, isPrivate: true }, run.over)
    grading.usage = addUsage(grading.usage, turn.usage)
    if (turn.cut === 'signal') {
      run.cut = { spanId: startId, model, usage: grading.usage }
      throw run.over.reason
    }
    const verdict = readVerdict(turn.text)
    if (verdict) return verdict
  }
  return { result: 'failed', explanation: 'The grader did not answer with a verdict.' }
}

function failed(
  { startId, outcome: graded, usage }: Grading,
  why: string,
  ...errors: StepEnd['events']
): Pick<StepEnd, 'events' | 'outcome'> {
  const { event, outcome } = evaluationEnd(
    startId,
    graded,
    { result: 'failed', explanation: `It could not be graded: ${why}` },
    usage,
  )
  return { events: [event, ...errors], outcome }
}
