/**
 * The grading of outcomes: whenever the agent finishes a turn, the open outcome is graded by its rubric. The agent gets
 * the grader's feedback and revises its work, until the rubric is met or the iterations are used up.
 */
import { nowMs, timestamp } from '#src/platform/clock.ts'
import type { Usage } from '#src/drivers/models/model.ts'
import { encodeId } from '#src/platform/ids.ts'
import { startOf, storableText } from '#src/platform/texts.ts'
import type { NewEvent } from '#src/resources/agents/sessions/log.ts'
import type { Outcome, OutcomeChange } from '../../sessions/outcomes/rows.ts'
import { modelUsage } from '#src/resources/agents/turns/step-events.ts'

/** A grader's verdict. */
export type Verdict = { result: 'satisfied' | 'needs_revision' | 'failed'; explanation: string }

const explanationLength = 10_000 // characters

/** The event with which a grading begins. */
export function evaluationStart(id: string, { outcome_id, iteration }: Outcome): NewEvent {
  return { type: 'span.outcome_evaluation_start', id, data: { outcome_id, iteration } }
}

/** The end of a grading, with or without a verdict: its event, and its change of the outcome. */
export function evaluationEnd(
  startId: string,
  { outcome_id, iteration, max_iterations }: Outcome,
  verdict: Verdict | { result: 'interrupted'; explanation: string },
  usage: Usage | null,
): { event: NewEvent; outcome: OutcomeChange } {
  const wasLast = verdict.result === 'needs_revision' && iteration + 1 >= max_iterations
  const result = wasLast ? 'max_iterations_reached' : verdict.result
  const explanation = storableText(startOf(verdict.explanation, explanationLength))
  return {
    event: {
      type: 'span.outcome_evaluation_end',
      data: {
        outcome_evaluation_start_id: encodeId('sessionEvent', startId),
        outcome_id,
        iteration,
        result,
        explanation,
        usage: modelUsage(usage),
      },
    },
    outcome: {
      id: outcome_id,
      change:
        result === 'needs_revision'
          ? { result: 'running', iteration: iteration + 1, explanation }
          : { result, explanation, completed_at: timestamp(nowMs()) },
    },
  }
}
