/** A grader's verdict as a message to the agent. */
import type { SessionEvent } from '#src/resources/agents/sessions/rows.ts'

/** The message to the agent about a verdict; null when there is nothing left to do. */
export function feedbackOf({ type, data }: Pick<SessionEvent, 'type' | 'data'>): string | null {
  if (type !== 'span.outcome_evaluation_end') return null
  if (data['result'] === 'needs_revision')
    return `Your work was graded against the rubric, and the outcome is not reached yet:\n${String(data['explanation'])}\n\nRevise it until the whole rubric holds.`
  if (data['result'] === 'max_iterations_reached')
    return `Your work was graded against the rubric for the last time, and the outcome is not reached:\n${String(data['explanation'])}\n\nChange nothing more: say what was done and what is missing.`
  return null
}
